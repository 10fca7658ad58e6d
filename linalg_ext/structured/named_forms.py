"""Upstream's named ops: built where they have the meaning of a definition, and found for one.

A name alone proves nothing: a user may call an op `matmul` that is another op, and upstream changes
its ops. So the named op is built once for each combination of definition, element types and
attributes beside the generic form, and its indexing maps, iterator types and body are compared.

The op library defines each of upstream's ops. Here it is read the other way round: a table from the
canonical form of a definition, at given element types and ranks, to the op that has it. Strides and
dilations are read off the indices, and the ops are compared with those numbers in their place. So
nothing is taken for a named op because it looks like one: whatever is found has the same canonical
form, and `build_named` compares upstream's own maps and body once more.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext import opdsl_defs
from linalg_ext.bindings import func, ir, linalg
from linalg_ext.definition.attributes import CallAttributes, resolve_attributes
from linalg_ext.definition.equivalence import by_appearance
from linalg_ext.definition.model import OpDefinition, OperandKind
from linalg_ext.definition.scalar import Access
from linalg_ext.definition.specialization import at_rank, specialize, specialized
from linalg_ext.definition.types import PREDEFINED_ELEMENTS
from linalg_ext.errors import ArgumentError, ShapeError
from linalg_ext.notations.affine_text import parse_affine_map
from linalg_ext.opdsl import StructuredOp
from linalg_ext.structured.contraction_form import plain_dims
from linalg_ext.structured.operands import BoundOp, bind, copy_regions
from linalg_ext.structured.payload import build_generic
from linalg_ext.structured.recognition import RecognizedOp, body_key
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineSymbol

_verdicts: dict[tuple[object, ...], bool] = {}


def build_named(bound: BoundOp) -> ir.Operation | None:
    """Build upstream's named op at the current insertion point; None if absent.

    Raises:
        DTypeError: the op has no meaning for its element types.
    """
    op_class = _upstream_class(bound.definition)
    if op_class is None or bound.unsigned:
        return None
    rank = bound.rank if bound.definition.is_rank_polymorphic else None  # else maps tell it
    types = tuple(f"{name}={element}" for name, element in bound.types.items())
    kinds = tuple(type(value.type) for value in bound.outputs)
    key = (bound.definition, types, rank, kinds, bound.attributes.key)
    if key not in _verdicts:
        _verdicts[key] = _means_the_same(bound)
    if not _verdicts[key]:
        return None
    op: ir.Operation = op_class(
        bound.result_types, list(bound.inputs), list(bound.outputs)
    ).operation
    for name, value in _attributes(bound).items():
        op.attributes[name] = value
    linalg.fill_builtin_region(op)
    return op


def _means_the_same(bound: BoundOp) -> bool:
    """Return whether upstream's op has the maps and the body of the generic form."""
    if any(len(accesses) > 1 for accesses in bound.definition.accesses.values()):
        return False
    scratch = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(scratch.body):
        types = [value.type for value in bound.values]
        block = func.FuncOp("scratch", (types, [])).add_entry_block()
    values, count = list(block.arguments), len(bound.inputs)
    with ir.InsertionPoint(block):
        generic = build_generic(
            bind(bound.definition, values[:count], values[count:], bound.attributes, bound.unsigned)
        )
    name = f"linalg.{bound.definition.name}"
    parsed = parsed_on_arguments(
        text_on_arguments(name, bound.inputs, bound.outputs, bound.result_types, _attributes(bound))
    )
    if parsed is None:
        return False
    fingerprint = _fingerprint(generic)
    return fingerprint is not None and fingerprint == _fingerprint(scratch_op(parsed))


def text_on_arguments(
    name: str,
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    results: Sequence[ir.Type],
    attributes: Mapping[str, ir.Attribute],
) -> str:
    """The text of a function whose arguments are of the operands' types, with a named op on them.

    Args:
        attributes: its inherent attributes, those that count operands aside.
    """
    values = (*inputs, *outputs)
    names = [f"%{position}" for position in range(len(values))]
    arguments = ", ".join(f"{n}: {v.type}" for n, v in zip(names, values, strict=True))
    ins = _group("ins", names[: len(inputs)], inputs)
    outs = _group("outs", names[len(inputs) :], outputs)
    left = f"%r:{len(results)} = " if results else ""
    arrow = f" -> {', '.join(map(str, results))}" if results else ""
    maps = (
        f"indexing_maps = {attributes['indexing_maps']} " if "indexing_maps" in attributes else ""
    )
    in_braces = ", ".join(
        f"{key} = {value}"
        for key, value in attributes.items()
        if key not in ("indexing_maps", "operandSegmentSizes")
    )
    op = f"{left}{name} {maps}{{{in_braces}}}{ins}{outs}{arrow}"
    return f"func.func @scratch({arguments}) {{ {op}\n return }}"


def parsed_on_arguments(text: str) -> ir.Module | None:
    """Parse the text of `text_on_arguments`; None where MLIR refuses it.

    The op is parsed, not built: for operands or element types that it does not expect, upstream's
    builder of bodies ends the process, and the parser reports an error.
    """
    try:
        return ir.Module.parse(text)
    except ir.MLIRError:
        return None


def scratch_op(module: ir.Module) -> ir.Operation:
    """The op of `parsed_on_arguments`, which lives as long as its module."""
    op: ir.Operation = module.body.operations[0].regions[0].blocks[0].operations[0].operation
    return op


def _group(keyword: str, names: Sequence[str], values: Sequence[ir.Value]) -> str:
    types = ", ".join(str(value.type) for value in values)
    return f" {keyword}({', '.join(names)} : {types})" if names else ""


def _attributes(bound: BoundOp) -> dict[str, ir.Attribute]:
    attributes = {name: _index_vector(values) for name, values in bound.attributes.changed.items()}
    for operand in bound.definition.attributes:
        if operand.kind.is_function_attribute:
            function = bound.attributes.functions[operand.name]
            if function == operand.default:
                continue
            kind = operand.kind.value.removesuffix("_attr")
            attributes[operand.name] = ir.Attribute.parse(f"#linalg.{kind}<{function.name}>")
    return attributes


def _index_vector(values: Sequence[int]) -> ir.Attribute:
    integer = ir.IntegerType.get_signless(64)
    vector = ir.RankedTensorType.get([len(values)], integer)
    return ir.DenseElementsAttr.get([ir.IntegerAttr.get(integer, v) for v in values], vector)


def _fingerprint(op: ir.Operation) -> tuple[object, ...] | None:
    """The indexing maps and the body; which dimensions are reductions follows from the maps."""
    body = body_key(op.regions[0].blocks[0])
    return None if body is None else (str(linalg.get_indexing_maps(op)), body)


_CASTS = ("cast_signed", "cast_unsigned")
_MOST_PERMUTED = 3
"""Inputs that are tried in every order; an op of more is looked up in its own order alone."""


@dataclass(frozen=True)
class NamedForm:
    """One of upstream's named ops with the same results as another op.

    Attributes:
        definition: its definition in the op library.
        attributes: its strides, dilations and cast.
        order: for each of its inputs, which input of the other op it is.
    """

    definition: OpDefinition
    attributes: CallAttributes
    order: tuple[int, ...]

    @property
    def op_name(self) -> str:
        """`linalg.matmul`."""
        return f"linalg.{self.definition.name}"


def named_forms(recognized: RecognizedOp) -> tuple[NamedForm, ...]:
    """The named ops that compute the same, the usual one first.

    There are several where element types make two ops one: on booleans a sum is a maximum. The
    inputs may come in another order: `b - a` is `linalg.sub` of b and a.
    """
    return _named_forms(recognized.definition, tuple(recognized.types.items()))


def build_named_form(recognized: RecognizedOp) -> ir.Operation | None:
    """Build the named op that computes the same, at the current insertion point; None if absent."""
    if not recognized.is_uniform:
        return None
    for form in named_forms(recognized):
        inputs = [recognized.inputs[position] for position in form.order]
        try:
            bound = bind(form.definition, inputs, recognized.outputs, form.attributes)
        except ShapeError:
            continue  # a generic may have sizes that the library's own ops refuse
        built = build_named(bound)
        if built is not None:
            return built
    return None


@functools.lru_cache(maxsize=4096)
def _named_forms(
    definition: OpDefinition, types: tuple[tuple[str, str], ...]
) -> tuple[NamedForm, ...]:
    count = len(definition.inputs)
    orders = [tuple(range(count))]
    if count <= _MOST_PERMUTED:
        orders = list(itertools.permutations(range(count)))
    for order in orders:
        forms = tuple(_in_order(definition, dict(types), order))
        if forms:
            return forms
    return ()


def _in_order(
    definition: OpDefinition, types: Mapping[str, str], order: tuple[int, ...]
) -> Iterator[NamedForm]:
    inputs = tuple(definition.inputs[position] for position in order)
    # Type variables are numbered by the operands: in another order they are others.
    ordered, elements = specialized(
        replace(definition, operands=(*inputs, *definition.outputs)), types
    )
    signature = _Signature(
        _kinds(ordered),
        tuple(elements[str(o.type_var)] for o in ordered.arguments),
        ordered.outputs[0].rank,
        len(ordered.dims),
    )
    canonical = ordered.canonical()
    for candidate, attributes in _table(signature).get(canonical, ()):
        yield NamedForm(candidate, attributes, order)
    for candidate, of_candidate in _with_indices(signature):
        call = _attributes_read_off(candidate, ordered)
        if call is None:
            continue
        if specialize(candidate, of_candidate, call).canonical() == canonical:
            yield NamedForm(candidate, call, order)


_Kinds = tuple[tuple[OperandKind, int], ...]
"""The kind and the rank of each input and output."""


@dataclass(frozen=True)
class _Signature:
    """The key of an op for a first comparison, without its body."""

    kinds: _Kinds
    elements: tuple[str, ...]
    rank: int
    dims: int


def _kinds(definition: OpDefinition) -> _Kinds:
    return tuple((operand.kind, operand.rank) for operand in definition.arguments)


@functools.cache
def _upstream_definitions() -> tuple[OpDefinition, ...]:
    """Return the op library's definitions of the ops that upstream has, the unsigned ones last."""
    op_names = {getattr(op_class, "OPERATION_NAME", None) for op_class in vars(linalg).values()}
    # Families in which upstream has no op need not be loaded.
    ops = (getattr(opdsl_defs, name) for name in dir(opdsl_defs) if f"linalg.{name}" in op_names)
    definitions = [
        op.definition
        for op in ops
        if isinstance(op, StructuredOp) and _upstream_class(op.definition) is not None
    ]
    # On floats an op and its unsigned twin are the same; the usual name is that without.
    return tuple(sorted(definitions, key=lambda definition: "unsigned" in definition.name))


def _upstream_class(definition: OpDefinition) -> Any:
    """The op class of upstream that has the class name and the name of a definition, or None."""
    op_class = getattr(linalg, definition.cpp_class_name, None)
    has_name = getattr(op_class, "OPERATION_NAME", None) == f"linalg.{definition.name}"
    return op_class if has_name else None


def _candidates(signature: _Signature) -> Iterator[tuple[OpDefinition, dict[str, str]]]:
    for definition in _upstream_definitions():
        ranked = at_rank(definition, signature.rank)
        if (len(ranked.dims), _kinds(ranked)) != (signature.dims, signature.kinds):
            continue
        types = dict(PREDEFINED_ELEMENTS)
        if all(
            types.setdefault(str(operand.type_var), element) == element
            for operand, element in zip(ranked.arguments, signature.elements, strict=True)
        ):
            yield definition, types


def _calls(definition: OpDefinition) -> Iterator[CallAttributes]:
    """The calls of an op without index attributes: each way to cast, where it has that choice."""
    casts = [o.name for o in definition.attributes if o.kind is OperandKind.TYPE_FN_ATTR]
    for functions in itertools.product(_CASTS, repeat=len(casts)):
        yield resolve_attributes(definition, dict(zip(casts, functions, strict=True)))


@functools.cache
def _table(
    signature: _Signature,
) -> Mapping[OpDefinition, Sequence[tuple[OpDefinition, CallAttributes]]]:
    table: dict[OpDefinition, list[tuple[OpDefinition, CallAttributes]]] = {}
    for definition, types in _candidates(signature):
        if not _index_attributes(definition):
            ranked = at_rank(definition, signature.rank)
            for attributes in _calls(definition):
                form = specialize(ranked, types, attributes).canonical()
                table.setdefault(form, []).append((definition, attributes))
    return table


@functools.cache
def _with_indices(signature: _Signature) -> Sequence[tuple[OpDefinition, Mapping[str, str]]]:
    """The ops of a signature that have strides or dilations, with their element types."""
    return [candidate for candidate in _candidates(signature) if _index_attributes(candidate[0])]


def _index_attributes(definition: OpDefinition) -> list[str]:
    return [o.name for o in definition.attributes if o.kind is OperandKind.INDEX_ATTR]


def _attributes_read_off(candidate: OpDefinition, op: OpDefinition) -> CallAttributes | None:
    """The strides and dilations with which a candidate may be an op; None where it cannot be."""
    dims = dict(zip(by_appearance(candidate), by_appearance(op), strict=True))
    unit: dict[str, int] = {
        symbol: 1
        for operand in candidate.attributes
        for expr in operand.shape
        for symbol in expr.symbols
    }
    numbers = dict(unit)
    for theirs, ours in zip(candidate.arguments, op.arguments, strict=True):
        if not theirs.kind.is_tensor:
            continue
        indices = zip(candidate.accesses[theirs.name][0], op.accesses[ours.name][0], strict=True)
        for index, other in indices:
            for symbol, dim in itertools.product(index.symbols, index.dims):
                if symbol not in unit:
                    return None
                doubled = _factor(index, dim, {**unit, symbol: 2})
                if doubled != _factor(index, dim, unit):
                    numbers[symbol] = _factor(other, dims[dim], {})
    values = {
        operand.name: [numbers[str(expr)] for expr in operand.shape]
        for operand in candidate.attributes
        if operand.kind is OperandKind.INDEX_ATTR
    }
    try:
        return resolve_attributes(candidate, values)
    except ArgumentError:
        return None  # the index does not move with the dimension


def _factor(index: AffineExpr, dim: str, symbols: Mapping[str, int]) -> int:
    """By how much an index grows with a dimension, at the origin."""
    origin: dict[AffineExpr, int] = {AffineDim(name): 0 for name in index.dims}
    origin.update((AffineSymbol(name), value) for name, value in symbols.items())
    grown = {**origin, AffineDim(dim): 1}
    return int(index.evaluate(grown)) - int(index.evaluate(origin))


def build_rearrangement(recognized: RecognizedOp) -> ir.Operation | None:
    """Build `linalg.transpose` or `linalg.broadcast`, if an op has its meaning; else None."""
    definition = recognized.definition
    values = (*recognized.inputs, *recognized.outputs)
    if len(values) != 2 or len({type(value.type) for value in values}) != 1:
        return None
    (assignment,) = definition.assignments
    read, written = assignment.value, plain_dims(assignment.target.indices)
    if not isinstance(read, Access) or read.operand != definition.inputs[0].name:
        return None
    source = plain_dims(read.indices)
    if source is None or written is None or not {*source} <= {*written}:
        return None
    if assignment.reduction is not None or len(written) != len(definition.dims):
        return None
    dims = [written.index(dim) for dim in source]
    (value,), (init,) = recognized.inputs, recognized.outputs
    results = [init.type] if isinstance(init.type, ir.RankedTensorType) else []
    if len(source) == len(written):
        permutation = [dims.index(axis) for axis in range(len(written))]
        op = linalg.TransposeOp(results, value, init, permutation).operation
    elif dims == sorted(dims):
        added = [axis for axis in range(len(written)) if axis not in dims]
        op = linalg.BroadcastOp(results, value, init, added).operation
    else:
        return None  # both at once are two ops
    linalg.fill_builtin_region(op)
    return op


def filling_value(op: ir.Operation) -> ir.Value | None:
    """The number that a `linalg.generic` without inputs writes everywhere; None if it is another.

    It is a value from outside its body, or a constant of the body: the op that makes it is then
    built again at the current insertion point.
    """
    body = op.regions[0].blocks[0]
    yielded = body.operations[len(body.operations) - 1].operands
    if len(op.operands) != 1 or len(yielded) != 1:
        return None
    (target,) = _index_dims(op)
    if target is None or len(target) != len(_loops(op)) or True in _loops(op):
        return None
    value = yielded[0]
    owner = value.owner
    if isinstance(owner, ir.Block):
        return value if owner != body else None
    if owner.operation.block != body:
        return value
    if owner.operation.name != "arith.constant":
        return None
    return owner.operation.clone().operation.results[0]


def build_reduce(op: ir.Operation) -> ir.Operation | None:
    """Build `linalg.reduce` with the body of a `linalg.generic`, if it folds; else None.

    A fold reads its inputs, all of one shape, at every point, and its outputs at the points
    without the dimensions that it reduces.
    """
    count = len(op.operands) // 2
    dims = _index_dims(op)
    inputs, outputs = {*dims[:count]}, {*dims[count:]}
    if len(op.operands) != 2 * count or len(inputs) != 1 or len(outputs) != 1:
        return None
    if len({type(operand.type) for operand in op.operands}) != 1:
        return None
    (source,), (target,) = inputs, outputs
    if source is None or target is None or len(source) != len(_loops(op)):
        return None
    axes = [source.index(dim) for dim in target]
    reduced = [axis for axis in range(len(source)) if axis not in axes]
    is_reduction = [_loops(op)[int(dim.removeprefix("d"))] for dim in source]
    if not reduced or is_reduction != [axis in reduced for axis in range(len(source))]:
        return None
    body = [inner.operation for inner in op.regions[0].blocks[0]]
    # Other ops may mean something else in a `linalg.reduce`.
    if any(inner.name == "linalg.index" or len(inner.regions) for inner in body):
        return None
    if axes != sorted(axes):
        return None
    values = list(op.operands)
    inits = values[count:]
    results = [init.type for init in inits if isinstance(init.type, ir.RankedTensorType)]
    reduce = linalg.ReduceOp(results, values[:count], inits, reduced).operation
    copy_regions(op, reduce)
    return reduce


def _index_dims(op: ir.Operation) -> list[tuple[str, ...] | None]:
    """By which dimensions each operand is indexed; None where an index is not a dimension."""
    maps = ir.ArrayAttr(op.attributes["indexing_maps"])
    return [plain_dims(parse_affine_map(str(map)).results) for map in maps]


def _loops(op: ir.Operation) -> list[bool]:
    """For each dimension of the iteration space, whether it is said to be a reduction."""
    return ["reduction" in str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]
