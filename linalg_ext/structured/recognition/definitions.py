"""A structured op of live IR as a definition: the way back from `linalg.generic`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.affine import AffineConst, AffineDim, AffineExpr, AffineSymbol
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.checks import check
from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    Operand,
    OperandKind,
    Reduction,
    accumulation,
    run_together,
)
from linalg_ext.definition.scalar import Access, ScalarExpr, ScalarOperand
from linalg_ext.definition.specialization import specialize
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import ArgumentError, DefinitionError
from linalg_ext.notations.affine_text import parse_affine_map
from linalg_ext.structured.extension.attributes import NAMES as EXTENSION_OPS
from linalg_ext.structured.extension.attributes import OVERWRITE, extension_definition
from linalg_ext.structured.recognition.body import BodyReader, refusal
from linalg_ext.structured.recognition.fingerprint import fingerprint
from linalg_ext.structured.utils.maps import has_payload
from linalg_ext.structured.utils.operands import bind


@dataclass(frozen=True)
class RecognizedOp:
    """A definition, and what its operands are in the IR that it was read from.

    Attributes:
        definition: what the op computes, at the types that it has.
        inputs: the value of each input: those of the op, then scalars that its body uses from
            outside.
        outputs: the value of each output: the op's destinations.
        types: the element type of each type variable, as MLIR spells it.
    """

    definition: OpDefinition
    inputs: tuple[ir.Value, ...]
    outputs: tuple[ir.Value, ...]
    types: Mapping[str, str]

    @property
    def is_uniform(self) -> bool:
        """Return whether the operands are tensors alone, or memrefs alone, but for scalars."""
        types = [value.type for value in (*self.inputs, *self.outputs)]
        return len({type(each) for each in types if isinstance(each, ir.ShapedType)}) == 1


def definition_of(
    op: ir.Operation | ir.OpView,
    *,
    name: str | None = None,
    merge_inputs: bool = False,
    look_ups: bool = False,
) -> OpDefinition:
    """The definition of a structured op; see `recognize`, which tells its operands too."""
    return recognize(op, name=name, merge_inputs=merge_inputs, look_ups=look_ups).definition


def recognize(
    op: ir.Operation | ir.OpView,
    *,
    name: str | None = None,
    merge_inputs: bool = False,
    look_ups: bool = False,
) -> RecognizedOp:
    """Read a structured op (`linalg.generic`, or a named one) back into a definition.

    Its dimensions are d0, d1, ...; its operands are A, B, ... and the outputs O (or O0, O1, ...);
    there is one type variable for each element type. Constants are part of it wherever they are
    made; any other scalar from outside the body becomes a scalar operand. `fastmath` and overflow
    flags are left out.

    Args:
        op: the op, on tensors or on memrefs; it is not changed.
        name: the definition's name; that of a named op, or `anonymous`, if not given.
        merge_inputs: whether inputs that are one value become one operand, read in several ways;
            else `matmul(x, x)` is a matmul of two operands.
        look_ups: whether a tensor from outside, of which the body takes elements at computed
            indices, becomes an operand; else such a body is refused.

    Raises:
        ArgumentError: this is no structured op.
        RecognitionError: no definition says what the op does; names the op of the body that is in
            the way.
    """
    operation = op.operation if isinstance(op, ir.OpView) else op
    if isinstance(operation, ir.Operation) and operation.name in EXTENSION_OPS:
        with operation.context:
            return _recognize_extension(operation, name)
    if not isinstance(operation, ir.Operation) or not has_payload(operation):
        named = operation.name if isinstance(operation, ir.Operation) else repr(op)
        raise ArgumentError(
            f"{named} is no structured op",
            expected="linalg.generic, a named op of linalg with a body, such as linalg.matmul, or "
            "an op of linalg_ext",
        )
    with operation.context:
        return _recognize(operation, name, merge_inputs, look_ups)


_known: dict[tuple[object, ...], tuple[OpDefinition, Mapping[str, str]]] = {}
"""The memo of definitions and types by the fingerprint of an op: a module repeats its ops."""
_MOST_KNOWN = 4096


def _recognize(
    op: ir.Operation, name: str | None, merge_inputs: bool, look_ups: bool
) -> RecognizedOp:
    said = None if merge_inputs else fingerprint(op)
    if said is None:
        return _Reader(op, merge_inputs, look_ups).recognized(name)
    key = (name, *said)
    known = _known.get(key)  # once: another thread may clear it
    if known is None:
        read = _Reader(op, merge_inputs, look_ups).recognized(name)
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = (read.definition, read.types)
        return read
    definition, types = known
    values = tuple(op.operands)
    count = len(definition.inputs)
    return RecognizedOp(definition, values[:count], values[count:], types)


def _recognize_extension(op: ir.Operation, name: str | None) -> RecognizedOp:
    """An op of our own dialect, which has no body: its kind and its maps say what it does."""
    try:
        definition = extension_definition(op)
        *inputs, output = op.operands
        bound = bind(definition, inputs, [output], CallAttributes())
    except ArgumentError as error:
        raise refusal(op, error.what, "the attributes define no op", error.hint) from None
    if OVERWRITE in op.attributes and definition.reduction_dims:
        raise refusal(
            op,
            f"{op.name} overwrites what a definition with a reduction adds to",
            "the op overwrites its destination",
            "run linalg-ext-lower-contract first",
        )
    types = {str(t): str(bound.types[str(t)]) for t in definition.type_vars}
    usual = specialize(replace(definition, name=name or definition.name), types)
    named = {
        new.type_var.name: types[old.type_var.name]
        for old, new in zip(definition.operands, usual.operands, strict=True)
        if old.type_var is not None and new.type_var is not None
    }
    return RecognizedOp(usual, tuple(inputs), (output,), named)


class _Reader:
    """Reads one op."""

    def __init__(self, op: ir.Operation, merge_inputs: bool, look_ups: bool) -> None:
        self._op = op
        self._look_ups = look_ups
        self._merge_inputs = merge_inputs
        maps = [parse_affine_map(str(map)) for map in linalg.get_indexing_maps(op) or ()]
        rank = len(maps[0].dims)
        self._dims = tuple(f"d{i}" for i in range(rank))
        self._indices = [_renamed(map.dims, map.results) for map in maps]
        values = list(op.operands)
        inputs = len(values) - len(_yielded(op))
        self._inputs, self._outputs = tuple(values[:inputs]), tuple(values[inputs:])
        self._type_vars = type_vars_of(values)

    def recognized(self, name: str | None) -> RecognizedOp:
        names = self._names()
        values = (*self._inputs, *self._outputs)
        leaves = [self._leaf(*found) for found in zip(names, values, self._indices, strict=True)]
        captured: dict[ir.Value, Operand] = {}
        body = BodyReader(self._op, leaves, self._type_vars, self._dims, captured, self._look_ups)
        assigned = body.outputs()
        assignments = run_together(
            [
                self._assignment(target, value)
                for target, value in zip(leaves[len(self._inputs) :], assigned, strict=True)
            ]
        )
        if assignments is None:
            raise refusal(
                self._op,
                f"the body of {self._op.name} reads what another output has reduced so far",
                "an output reads a running reduction of another",
            )
        read = {e.operand for a in assignments for e in a.value.walk() if isinstance(e, Access)}
        operands = [
            self._operand(leaf, value, indices, position, leaf.operand in read)
            for position, (leaf, value, indices) in enumerate(
                zip(leaves, values, self._indices, strict=True)
            )
        ]
        first = {operand.name: i for i, operand in reversed(list(enumerate(operands)))}
        inputs = [i for i in sorted(first.values()) if i < len(self._inputs)]
        operands = [
            *(operands[i] for i in inputs),
            *captured.values(),
            *operands[len(self._inputs) :],
        ]
        title = name or self._default_name()
        definition = OpDefinition(
            name=title,
            cpp_class_name=f"{''.join(part.title() for part in title.split('_'))}Op",
            doc="",
            operands=tuple(operands),
            dims=self._dims,
            assignments=assignments,
        )
        self._check(definition)
        types = {type_var.name: element for element, type_var in self._type_vars.items()}
        usual = specialize(definition, types)
        named = {
            new.type_var.name: types[old.type_var.name]
            for old, new in zip(definition.operands, usual.operands, strict=True)
            if old.type_var is not None and new.type_var is not None
        }
        given = (*(self._inputs[i] for i in inputs), *captured)
        return RecognizedOp(usual, given, self._outputs, named)

    def _names(self) -> list[str]:
        """A name for each operand; on request one name for all inputs that are one value."""
        if not self._merge_inputs:
            return operand_names(len(self._inputs), len(self._outputs))
        values = list(dict.fromkeys(self._inputs))
        names = operand_names(len(values), len(self._outputs))
        merged = dict(zip(values, names, strict=False))
        return [*(merged[value] for value in self._inputs), *names[len(values) :]]

    def _leaf(
        self, name: str, value: ir.Value, indices: tuple[AffineExpr, ...]
    ) -> Access | ScalarOperand:
        type_var = self._type_vars[element_of(value)]
        if isinstance(value.type, ir.ShapedType):
            return Access(name, indices, type_var)
        return ScalarOperand(name, type_var)

    def _operand(
        self,
        leaf: Access | ScalarOperand,
        value: ir.Value,
        indices: tuple[AffineExpr, ...],
        position: int,
        is_read: bool,
    ) -> Operand:
        if isinstance(leaf, ScalarOperand):
            return Operand(leaf.operand, OperandKind.SCALAR, leaf.type_var)
        sizes: dict[AffineExpr, AffineExpr | int] = {
            AffineDim(dim): AffineSymbol(dim.upper()) for dim in self._dims
        }
        shape = tuple(
            _size(index, axis, value).substitute(sizes) for axis, index in enumerate(indices)
        )
        if position >= len(self._inputs):
            return Operand(leaf.operand, OperandKind.OUTPUT_TENSOR, leaf.type_var, shape)
        index_dims = None if is_read else indices
        return Operand(leaf.operand, OperandKind.INPUT_TENSOR, leaf.type_var, shape, index_dims)

    def _assignment(self, target: ScalarExpr, value: ScalarExpr) -> Assignment:
        if not isinstance(target, Access):
            raise refusal(self._op, "an output is no tensor", "an output is no tensor")
        written = {dim for index in target.indices for dim in index.dims}
        missing = tuple(dim for dim in self._dims if dim not in written)
        reduction = accumulation(target, value, missing)
        if missing and reduction is None:
            reduction = Reduction(None, missing)  # a fold, from what the output held before
        return Assignment(target, value, reduction)

    def _check(self, definition: OpDefinition) -> None:
        try:
            check(definition)
        except DefinitionError as error:
            raise refusal(
                self._op, error.what, "an index of an output is no plain dimension"
            ) from None
        if "iterator_types" not in self._op.attributes:
            return
        said = [str(kind) for kind in ir.ArrayAttr(self._op.attributes["iterator_types"])]
        for dim, found, kind in zip(definition.dims, definition.iterator_types, said, strict=True):
            if f"<{found.value}>" not in kind:
                raise refusal(
                    self._op,
                    f"dimension {dim} is said to be {kind}, but its outputs make it {found.value}",
                    "a reduction dimension indexes an output",
                )

    def _default_name(self) -> str:
        name = str(self._op.name).removeprefix("linalg.")
        return "anonymous" if name == "generic" else name


def _yielded(op: ir.Operation) -> list[ir.Value]:
    body = op.regions[0].blocks[0].operations
    return list(body[len(body) - 1].operands)


def _renamed(dims: tuple[str, ...], results: tuple[AffineExpr, ...]) -> tuple[AffineExpr, ...]:
    names: dict[AffineExpr, AffineExpr | int] = {
        AffineDim(name): AffineDim(f"d{i}") for i, name in enumerate(dims)
    }
    return tuple(result.substitute(names) for result in results)


def _size(index: AffineExpr, axis: int, value: ir.Value) -> AffineExpr:
    """The size of an axis, over dimensions that stand for their own sizes."""
    shape = ir.ShapedType(value.type)
    if index == AffineConst(0) and not shape.is_dynamic_dim(axis) and shape.get_dim_size(axis) == 1:
        return AffineConst(1)
    return index


def element_of(value: ir.Value) -> str:
    """The element type of a shaped value, or the type of a scalar, as MLIR spells it."""
    kind = value.type
    return str(ir.ShapedType(kind).element_type if isinstance(kind, ir.ShapedType) else kind)


def type_vars_of(values: list[ir.Value]) -> dict[str, TypeVar]:
    """A type variable for each element type of the operands."""
    elements = dict.fromkeys(map(element_of, values))
    return {element: TypeVar(f"T{i + 1}") for i, element in enumerate(elements)}


_LETTERS = "ABCDEFGHIJKLMNPQRSTUVWXYZ"


def operand_names(inputs: int, outputs: int) -> list[str]:
    """Names of inputs, A, B, ..., and of outputs, O or O0, O1, ..."""
    letters = list(_LETTERS) if inputs <= len(_LETTERS) else [f"A{i}" for i in range(inputs)]
    results = ["O"] if outputs == 1 else [f"O{i}" for i in range(outputs)]
    return [*letters[:inputs], *results]
