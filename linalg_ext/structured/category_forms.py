"""Upstream's category ops and matrix products with maps, and the most specific op of a definition.

Builders and parsers of `linalg.elementwise` and `linalg.contract` end the process where a kind has
no meaning for an element type, and the verifier of a matrix product dies on some maps. So both are
asked first: `_can_be_elementwise`, and the maps that are listed here.

`build_most_specific` tries a named op (`linalg.dot`, `matvec`, `mmt4d`, ...), then a matrix product
with maps, then `linalg.transpose` and `broadcast`, then the category ops, and `linalg.generic`
where none of them says it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.functions import BINARY, UNARY, Function
from linalg_ext.definition.model import OpDefinition, class_name
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr, ScalarOperand
from linalg_ext.structured.constants import is_complex, is_float
from linalg_ext.structured.contraction_form import Contraction, contraction_of
from linalg_ext.structured.maps import is_valid_or_erased, maps_attribute, refusal
from linalg_ext.structured.named_forms import build_named, build_rearrangement, named_forms
from linalg_ext.structured.operands import BoundOp, bind, bind_types, element_of
from linalg_ext.structured.payload import build_generic
from linalg_ext.structured.recognition import RecognizedOp, kept_if_same
from linalg_ext.symbolic.affine import AffineDim, AffineMap

_INTEGERS_ONLY = frozenset(("div_unsigned", "max_unsigned", "min_unsigned"))
_ON_INTEGERS = frozenset(("add", "sub", "mul", "div", "max_signed", "min_signed", *_INTEGERS_ONLY))
_ON_BOOLEANS = frozenset(("add", "mul", "max_signed", "min_signed"))
_ON_COMPLEX = frozenset(("add", "sub", "mul", "div"))


def _can_be_elementwise(
    function: Function, inputs: Sequence[ir.Value], output: ir.Value, maps: Sequence[AffineMap]
) -> bool:
    """Return whether `linalg.elementwise` can say this."""
    if not hasattr(linalg, "ElementwiseOp") or not hasattr(linalg.ElementwiseKind, function.name):
        return False
    # The verifier accepts more operands, but the body does not read them.
    if len(inputs) != function.kind.arity:
        return False
    elements = [element_of(value) for value in (*inputs, output)]
    computed = elements[1:] if function.name == "select" else elements
    is_uniform = len({str(element) for element in computed}) == 1  # the op casts nothing
    has_meaning = is_uniform and _has_meaning(function.name, computed[-1])
    return has_meaning and refusal("linalg.elementwise", maps) is None


def build_elementwise(
    function: Function,
    inputs: Sequence[ir.Value],
    output: ir.Value,
    maps: Sequence[AffineMap],
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.Operation | None:
    """Build `linalg.elementwise` at the current insertion point; None where it cannot say this."""
    if not _can_be_elementwise(function, inputs, output, maps):
        return None
    kind = ir.Attribute.parse(f"#linalg.elementwise_kind<{function.name}>")
    attributes = {**(attributes or {}), "kind": kind}
    op = create_with_maps("linalg.elementwise", inputs, output, maps, attributes)
    return op if is_valid_or_erased(op) else None


def build_contract(
    inputs: Sequence[ir.Value],
    output: ir.Value,
    maps: Sequence[AffineMap],
    *,
    cast: str,
) -> ir.Operation | None:
    """Build `linalg.contract` at the current insertion point; None where it cannot say this."""
    if not hasattr(linalg, "ContractOp") or refusal("linalg.contract", maps) is not None:
        return None
    # Upstream's body builder ends the process for elements of type index.
    multiplied = (ir.FloatType, ir.IntegerType)
    if not all(isinstance(element_of(value), multiplied) for value in (*inputs, output)):
        return None
    attributes: dict[str, ir.Attribute] = {}
    if cast != "cast_signed":
        attributes["cast"] = ir.Attribute.parse(f"#linalg.type_fn<{cast}>")
    op = create_with_maps("linalg.contract", inputs, output, maps, attributes)
    return op if is_valid_or_erased(op) else None


def create_with_maps(
    name: str,
    inputs: Sequence[ir.Value],
    output: ir.Value,
    maps: Sequence[AffineMap],
    attributes: Mapping[str, ir.Attribute],
) -> ir.Operation:
    """Create an op of upstream's that carries its maps, and fill its region; not verified."""
    is_tensor = isinstance(output.type, ir.RankedTensorType)
    op = ir.Operation.create(
        name,
        results=[output.type] if is_tensor else [],
        operands=[*inputs, output],
        attributes={
            **attributes,
            "indexing_maps": maps_attribute(maps),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    linalg.fill_builtin_region(op)
    return op


def _has_meaning(name: str, element: ir.Type) -> bool:
    """Return whether upstream's body builder has an answer; else it would end the process."""
    if name == "select":
        return True
    if is_float(element):
        return name not in _INTEGERS_ONLY
    if is_complex(element):
        return name in _ON_COMPLEX
    if isinstance(element, ir.IntegerType):
        return name in (_ON_BOOLEANS if element.width == 1 else _ON_INTEGERS)
    return False


def build_category(recognized: RecognizedOp) -> ir.Operation | None:
    """Build the category op that computes the same, at the current insertion point.

    Returns:
        `linalg.elementwise` or `linalg.contract`; None where neither says it.
    """
    if not recognized.is_uniform:
        return None
    built = _elementwise(recognized)
    return _contract(recognized) if built is None else built


_ACCEPTED: Mapping[str, tuple[str, str, str, str]] = {
    "linalg.matmul": ("mnk", "mk km k", "kn nk k", "mn"),
    "linalg.batch_matmul": ("bmnk", "bmk bkm mk bk k", "bkn bnk kn bk k", "bmn"),
    "linalg.batch_reduce_matmul": ("bmnk", "bmk bkm mk bk k", "bkn bnk kn bk k", "mn"),
}
"""For each op its iteration space, and the indices of its operands A and B and of its result.

The results that `linalg.matmul` takes besides are left out: a transposed one is a product the other
way about, and one of fewer dimensions contradicts the op's iterator types.
"""


def _elementwise(recognized: RecognizedOp) -> ir.Operation | None:
    """One function of the inputs, which may be transposed, broadcast or scalars; no cast."""
    definition = recognized.definition
    if len(definition.outputs) != 1 or definition.reduction_dims:
        return None
    (assignment,) = definition.assignments
    value = assignment.value
    if assignment.reads_target or not isinstance(value, Apply) or value.attribute is not None:
        return None
    function, args = value.function, value.args
    if function == UNARY["square"] and not is_float(element_of(recognized.outputs[0])):
        # Upstream has no square of integers: it is a product.
        function, args = BINARY["mul"], (*args, *args)
    order = _positions(definition, args)
    if order is None or any(len(accesses) > 1 for accesses in definition.accesses.values()):
        return None
    inputs = [recognized.inputs[position] for position in order]
    if function.name == "select" and str(element_of(inputs[0])) != "i1":
        return None
    names = [definition.inputs[position].name for position in order]
    maps = _maps(definition, [*names, definition.outputs[0].name])
    built = build_elementwise(function, inputs, recognized.outputs[0], maps)
    return None if built is None else kept_if_same(built, recognized, order)


def _contract(recognized: RecognizedOp) -> ir.Operation | None:
    """A sum of products of two operands, each dimension of which two of the three have."""
    contraction = contraction_of(recognized)
    if contraction is None:
        return None
    definition = recognized.definition
    built = build_contract(
        recognized.inputs,
        recognized.outputs[0],
        _maps(definition, [operand.name for operand in definition.arguments]),
        cast="cast_unsigned" if contraction.unsigned else "cast_signed",
    )
    return None if built is None else kept_if_same(built, recognized, (0, 1))


def _positions(definition: OpDefinition, args: Sequence[ScalarExpr]) -> tuple[int, ...] | None:
    """The input that each argument reads, by position; None unless all are read as they are."""
    names = [operand.name for operand in definition.inputs]
    read = [arg.operand for arg in args if isinstance(arg, (Access, ScalarOperand))]
    if len(read) != len(args) or {*read} != {*names}:
        return None
    return tuple(names.index(name) for name in read)


def _maps(definition: OpDefinition, operands: Sequence[str]) -> list[AffineMap]:
    accesses = (definition.accesses.get(operand, ((),))[0] for operand in operands)
    return [AffineMap(definition.dims, (), indices) for indices in accesses]


@dataclass(frozen=True)
class MatmulForm:
    """A matrix product of upstream with the maps that make it a given contraction.

    Attributes:
        op_name: `linalg.matmul`, or one of the batched ones.
        dims: its iteration space, a letter each.
        maps: the letters that A, B and the result are indexed by.
        order: which input of the contraction its A is, and which its B.
        unsigned: whether integers are read as unsigned where they are cast.
    """

    op_name: str
    dims: str
    maps: tuple[str, str, str]
    order: tuple[int, int]
    unsigned: bool

    @property
    def is_plain(self) -> bool:
        """Return whether the op means this without being given maps."""
        return self.maps == tuple(maps.split()[0] for maps in _ACCEPTED[self.op_name][1:])


def matmul_form(contraction: Contraction) -> MatmulForm | None:
    """The matrix product that a contraction is; None where it is not a product of matrices.

    Where the result is transposed, the operands change places: `(A B)^T` is `B^T A^T`.
    """
    for order, candidate in (((0, 1), contraction), ((1, 0), contraction.swapped)):
        form = _forms().get(candidate.canonical_indices())
        if form is not None:
            op_name, maps = form
            dims = _ACCEPTED[op_name][0]
            return MatmulForm(op_name, dims, maps, order, contraction.unsigned)
    return None


@functools.cache
def _forms() -> Mapping[tuple[tuple[int, ...], ...], tuple[str, tuple[str, str, str]]]:
    """Each op with each triple of maps, by the numbers of its dimensions."""
    forms: dict[tuple[tuple[int, ...], ...], tuple[str, tuple[str, str, str]]] = {}
    for op_name, (dims, *accepted) in _ACCEPTED.items():
        for a, b, c in itertools.product(*(maps.split() for maps in accepted)):
            if {*a, *b, *c} == {*dims}:
                contraction = Contraction(tuple(a), tuple(b), tuple(c), tuple(dims), unsigned=False)
                forms.setdefault(contraction.canonical_indices(), (op_name, (a, b, c)))
    return forms


def build_matmul(form: MatmulForm, recognized: RecognizedOp) -> ir.Operation | None:
    """Build a matrix product on another op's operands, at the current insertion point.

    None where the element types are none that upstream multiplies.
    """
    if not _upstream_multiplies(recognized):
        return None
    maps = [
        AffineMap(tuple(form.dims), (), tuple(map(AffineDim, letters))) for letters in form.maps
    ]
    op = getattr(linalg, class_name(form.op_name.removeprefix("linalg.")))(
        [v.type for v in recognized.outputs if isinstance(v.type, ir.RankedTensorType)],
        [recognized.inputs[position] for position in form.order],
        list(recognized.outputs),
        indexing_maps=maps_attribute(maps),
    ).operation
    if form.unsigned:
        op.attributes["cast"] = ir.Attribute.parse("#linalg.type_fn<cast_unsigned>")
    linalg.fill_builtin_region(op)
    return kept_if_same(op, recognized, form.order)


def build_matmul_of(recognized: RecognizedOp) -> ir.Operation | None:
    """Build the matrix product that an op is, with maps where needed; None if it is not one."""
    form = _matmul_form(recognized.definition, tuple(recognized.types.items()))
    return None if form is None else build_matmul(form, recognized)


@lru_cache(maxsize=4096)
def _matmul_form(definition: OpDefinition, types: tuple[tuple[str, str], ...]) -> MatmulForm | None:
    contraction = contraction_of(RecognizedOp(definition, (), (), dict(types)))
    return None if contraction is None else matmul_form(contraction)


def _upstream_multiplies(recognized: RecognizedOp) -> bool:
    """Return whether upstream multiplies operands of these element types; its builder dies else."""
    if not recognized.is_uniform:
        return False
    values = (*recognized.inputs, *recognized.outputs)
    elements = {ir.ShapedType(value.type).element_type for value in values}
    if any(isinstance(element, ir.ComplexType) for element in elements):
        return len(elements) == 1
    return all(isinstance(element, (ir.FloatType, ir.IntegerType)) for element in elements)


def build_most_specific(recognized: RecognizedOp) -> ir.Operation:
    """Build the op at the current insertion point; its name depends on upstream's version.

    Args:
        recognized: a definition at known element types, and operands that fit it.

    Raises:
        DTypeError: a function has no meaning for its element type.
    """
    built = _build_named(recognized) or build_matmul_of(recognized)
    built = built or build_rearrangement(recognized) or build_category(recognized)
    return built or build_plain(recognized)


def build_plain(recognized: RecognizedOp) -> ir.Operation:
    """Build it as `linalg.generic`; a DTypeError where a function has no meaning for a type."""
    definition, inputs, outputs = recognized.definition, recognized.inputs, recognized.outputs
    return build_generic(bind(definition, inputs, outputs, CallAttributes()))


def _build_named(recognized: RecognizedOp) -> ir.Operation | None:
    for form in named_forms(recognized):
        inputs = tuple(recognized.inputs[position] for position in form.order)
        values = (*inputs, *recognized.outputs)
        types = bind_types(form.definition, form.definition.arguments, values)
        # Not `bind`, which checks the shapes once more: it costs as much as all the rest.
        bound = BoundOp(form.definition, inputs, recognized.outputs, form.attributes, types)
        built = build_named(bound)
        if built is not None:
            return built
    return None
