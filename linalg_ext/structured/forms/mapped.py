"""An op whose operands are transposed or broadcast by its maps, as an op that carries its maps.

Upstream's, where one of its ops takes the maps; else one of ours, on tensors. The op that is built
says by its definition what was asked for: it is compared, not believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.affine import AffineMap
from linalg_ext.definition.equivalence import canonical
from linalg_ext.definition.functions import Function, FunctionKind
from linalg_ext.definition.model import OpDefinition, OperandKind
from linalg_ext.definition.operand_maps import with_indices_of
from linalg_ext.definition.scalar import Apply
from linalg_ext.definition.specialization import at_rank, specialize
from linalg_ext.errors import ArgumentError
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.structured.extension.attributes import (
    CAST,
    CONTRACT,
    ELEMENTWISE,
    KIND,
    SEGMENTS,
    segments,
)
from linalg_ext.structured.extension.definitions import LETTERS, elementwise_definition
from linalg_ext.structured.forms.categories import build_contract, build_elementwise
from linalg_ext.structured.recognition import recognize
from linalg_ext.structured.recognition.contraction_form import find_contraction
from linalg_ext.structured.utils.maps import INDEXING_MAPS, is_valid, maps_attribute, refusal
from linalg_ext.structured.utils.operands import BoundOp


def build_mapped(bound: BoundOp) -> ir.Operation | None:
    """Build an op that carries its maps at the current insertion point; None where none can."""
    if len(bound.outputs) != 1 or bound.unsigned:
        return None
    maps = [map for _, _, _, map in bound.slots()]
    if len(maps) != len(bound.inputs) + 1:
        return None
    return _named(bound, maps) or _elementwise(bound, maps) or _contract(bound, maps)


def _named(bound: BoundOp, maps: Sequence[AffineMap]) -> ir.Operation | None:
    """Upstream's op of the same name, with maps: `linalg.matmul indexing_maps = [...]`."""
    name = f"linalg.{bound.definition.name}"
    if refusal(name, maps) is not None:
        return None
    op = ir.Operation.create(
        name,
        results=bound.result_types,
        operands=[*bound.inputs, *bound.outputs],
        attributes={INDEXING_MAPS: maps_attribute(maps), **_cast(bound), **_segments(bound)},
        regions=1,
    )
    linalg.fill_builtin_region(op)
    key = (name, bound.definition, tuple(maps), *_key(bound))
    if is_valid(op) and _remembered(key, lambda: _is_said_by(op, bound)):
        return op
    op.erase()
    return None


def _elementwise(bound: BoundOp, maps: Sequence[AffineMap]) -> ir.Operation | None:
    function = _function(bound.definition)
    if function is None:
        return None
    try:
        candidate = elementwise_definition(maps, function, scalars=_scalars(bound))
    except ArgumentError:
        return None
    key = (ELEMENTWISE, function, bound.definition, tuple(maps), *_key(bound))
    if not _remembered(key, lambda: _same(candidate, bound)):
        return None
    output = bound.outputs[0]
    kind = ir.Attribute.parse(f"#linalg.elementwise_kind<{function.name}>")
    return build_elementwise(function, bound.inputs, output, maps) or _ours(
        ELEMENTWISE, bound, maps, {KIND: kind}
    )


def _contract(bound: BoundOp, maps: Sequence[AffineMap]) -> ir.Operation | None:
    definition = _usual(bound)
    operands = zip(
        (*definition.inputs, *definition.outputs), (o for o, _, _, _ in bound.slots()), strict=True
    )
    types = {str(o.type_var): str(bound.types[str(own.type_var)]) for o, own in operands}
    form = find_contraction(definition, types)
    if isinstance(form, str) or not form.accumulates:
        return None
    if [factor.operand for factor in form.factors] != [o.name for o in definition.inputs]:
        return None
    if any(factor.difference is not None for factor in form.factors):
        return None
    cast = form.cast.name
    if form.kind.name == "+*" and len(bound.inputs) == 2:
        built = build_contract(bound.inputs, bound.outputs[0], maps, cast=cast)
        if built is not None:
            return built
    attributes: dict[str, ir.Attribute] = {KIND: ir.StringAttr.get(form.kind.name)}
    if cast != "cast_signed":
        attributes[CAST] = ir.Attribute.parse(f"#linalg.type_fn<{cast}>")
    return _ours(CONTRACT, bound, maps, attributes)


def _ours(
    name: str, bound: BoundOp, maps: Sequence[AffineMap], attributes: Mapping[str, ir.Attribute]
) -> ir.Operation | None:
    if not isinstance(bound.outputs[0].type, ir.RankedTensorType):
        return None
    if len(bound.inputs) > len(LETTERS):
        return None
    ensure_dialects(bound.outputs[0].context)
    op = ir.Operation.create(
        name,
        results=bound.result_types,
        operands=[*bound.inputs, *bound.outputs],
        attributes={
            **attributes,
            INDEXING_MAPS: maps_attribute(maps),
            SEGMENTS: segments(len(bound.inputs)),
        },
    )
    if is_valid(op):
        return op
    op.erase()
    return None


_verdicts: dict[tuple[object, ...], bool] = {}


def _remembered(key: tuple[object, ...], decide: Callable[[], bool]) -> bool:
    """A comparison of definitions, made once for each pair of them."""
    if key not in _verdicts:
        _verdicts[key] = decide()
    return _verdicts[key]


def _key(bound: BoundOp) -> tuple[object, ...]:
    types = tuple(f"{name}={element}" for name, element in bound.types.items())
    kinds = tuple(isinstance(value.type, ir.ShapedType) for value in bound.inputs)
    return types, kinds, bound.attributes.key


def _is_said_by(op: ir.Operation, bound: BoundOp) -> bool:
    return canonical(recognize(op).definition) == canonical(_usual(bound))


def _same(candidate: OpDefinition, bound: BoundOp) -> bool:
    operands = zip((*candidate.inputs, *candidate.outputs), bound.slots(), strict=True)
    types = {
        str(ours.type_var): str(bound.types[str(theirs.type_var)])
        for ours, (theirs, _, _, _) in operands
    }
    return canonical(specialize(candidate, types)) == canonical(_usual(bound))


def _usual(bound: BoundOp) -> OpDefinition:
    types = {name: str(element) for name, element in bound.types.items()}
    definition = bound.definition
    if definition.is_rank_polymorphic:
        given = {o.name: map.results for o, _, access, map in bound.slots() if access is not None}
        definition = with_indices_of(at_rank(definition, bound.rank), given)
    return specialize(definition, types, bound.attributes)


def _function(definition: OpDefinition) -> Function | None:
    (assignment,) = definition.assignments
    value = assignment.value
    if not isinstance(value, Apply) or value.function.kind is FunctionKind.TYPE:
        return None
    return value.function


def _scalars(bound: BoundOp) -> list[int]:
    return [i for i, o in enumerate(bound.definition.inputs) if o.kind is OperandKind.SCALAR]


def _cast(bound: BoundOp) -> dict[str, ir.Attribute]:
    functions = bound.attributes.functions
    return {
        name: ir.Attribute.parse(f"#linalg.type_fn<{function.name}>")
        for name, function in functions.items()
        if function.kind is FunctionKind.TYPE
    }


def _segments(bound: BoundOp) -> dict[str, ir.Attribute]:
    sizes = [len(bound.inputs), len(bound.outputs)]
    return {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes)}
