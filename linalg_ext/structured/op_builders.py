"""An op called on MLIR values: checks, outputs made where none are given, the op built.

Operands may be transposed or broadcast by maps. Upstream's op is built where it takes the maps,
else one of ours, on tensors. Its definition is compared with the requested one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.calls import split_inputs
from linalg_ext.definition.equivalence import canonical
from linalg_ext.definition.functions import FunctionKind
from linalg_ext.definition.model import OpDefinition, Operand, OperandKind, why_unmapped
from linalg_ext.definition.operand_maps import with_indices_of
from linalg_ext.definition.scalar import Apply
from linalg_ext.definition.shapes import infer_extents, narrowed_axes
from linalg_ext.definition.specialization import at_rank, specialize, with_own_types
from linalg_ext.errors import ArgumentError, DTypeError, counted
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.notations.operand_keywords import (
    inverses_named,
    take_operand_maps,
    with_operand_maps,
)
from linalg_ext.opdsl.op import StructuredOp
from linalg_ext.structured.category_forms import (
    build_contract,
    build_elementwise,
    create_with_maps,
)
from linalg_ext.structured.compute_type import as_compute_type, set_compute_type
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.contraction_form import find_contraction
from linalg_ext.structured.extension import (
    CAST,
    CONTRACT,
    ELEMENTWISE,
    KIND,
    LETTERS,
    SEGMENTS,
    elementwise_definition,
    scalar_positions,
    segments,
)
from linalg_ext.structured.indexed_forms import build_recurrence, build_scattered
from linalg_ext.structured.maps import (
    INDEXING_MAPS,
    is_valid,
    is_valid_or_erased,
    maps_attribute,
    refusal,
)
from linalg_ext.structured.named_forms import build_named
from linalg_ext.structured.operands import (
    BoundOp,
    bind,
    predefined_types,
    single_value,
    static_sizes,
)
from linalg_ext.structured.outputs import all_or_nothing, make_outputs
from linalg_ext.structured.payload import build_generic
from linalg_ext.structured.recognition import recognize
from linalg_ext.structured.steps import bound_step, operand_values
from linalg_ext.symbolic.affine import AffineBinary, AffineMap


def build_mapped(bound: BoundOp) -> ir.Operation | None:
    """Build an op that carries its maps at the current insertion point; None where none can."""
    if len(bound.outputs) != 1 or bound.unsigned:
        return None
    maps = [map for _, _, _, map in bound.slots()]
    if len(maps) != len(bound.inputs) + 1:
        return None
    return (
        _build_named(bound, maps) or _build_elementwise(bound, maps) or _build_contract(bound, maps)
    )


def _build_named(bound: BoundOp, maps: Sequence[AffineMap]) -> ir.Operation | None:
    """Upstream's op of the same name, with maps: `linalg.matmul indexing_maps = [...]`."""
    name = f"linalg.{bound.definition.name}"
    if refusal(name, maps) is not None:
        return None
    op = create_with_maps(name, bound.inputs, bound.outputs[0], maps, _cast(bound))
    key = (name, bound.definition, tuple(maps), *_key(bound))
    if is_valid(op) and _remembered(
        key, lambda: canonical(recognize(op).definition) == canonical(_specialized(bound))
    ):
        return op
    op.erase()
    return None


def _build_elementwise(bound: BoundOp, maps: Sequence[AffineMap]) -> ir.Operation | None:
    (assignment,) = bound.definition.assignments
    value = assignment.value
    if not isinstance(value, Apply) or value.function.kind is FunctionKind.TYPE:
        return None
    function = value.function
    try:
        scalars = scalar_positions(bound.inputs)
        candidate = elementwise_definition(maps, function, scalars=scalars)
    except ArgumentError:
        return None
    key = (ELEMENTWISE, function, bound.definition, tuple(maps), *_key(bound))
    if not _remembered(key, lambda: _is_same(candidate, bound)):
        return None
    output = bound.outputs[0]
    kind = ir.Attribute.parse(f"#linalg.elementwise_kind<{function.name}>")
    return build_elementwise(function, bound.inputs, output, maps) or _build_own(
        ELEMENTWISE, bound, maps, {KIND: kind}
    )


def _build_contract(bound: BoundOp, maps: Sequence[AffineMap]) -> ir.Operation | None:
    definition = _specialized(bound)
    form = find_contraction(definition, _types_of(definition, bound))
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
    return _build_own(CONTRACT, bound, maps, attributes)


def _build_own(
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
    return op if is_valid_or_erased(op) else None


_verdicts: dict[tuple[object, ...], bool] = {}


def _remembered(key: tuple[object, ...], decide: Callable[[], bool]) -> bool:
    if key not in _verdicts:
        _verdicts[key] = decide()
    return _verdicts[key]


def _key(bound: BoundOp) -> tuple[object, ...]:
    types = tuple(f"{name}={element}" for name, element in bound.types.items())
    kinds = tuple(isinstance(value.type, ir.ShapedType) for value in bound.inputs)
    return types, kinds, bound.attributes.key


def _is_same(candidate: OpDefinition, bound: BoundOp) -> bool:
    specialized = specialize(candidate, _types_of(candidate, bound))
    return canonical(specialized) == canonical(_specialized(bound))


def _types_of(definition: OpDefinition, bound: BoundOp) -> dict[str, str]:
    """The element types of a definition whose operands are those of a bound op, in order."""
    pairs = zip(definition.arguments, bound.slots(), strict=True)
    return {str(o.type_var): str(bound.types[str(own.type_var)]) for o, (own, *_) in pairs}


def _specialized(bound: BoundOp) -> OpDefinition:
    types = {name: str(element) for name, element in bound.types.items()}
    definition = bound.definition
    if definition.is_rank_polymorphic:
        indices = {o.name: map.results for o, _, access, map in bound.slots() if access is not None}
        definition = with_indices_of(at_rank(definition, bound.rank), indices)
    return specialize(definition, types, bound.attributes)


def _cast(bound: BoundOp) -> dict[str, ir.Attribute]:
    functions = bound.attributes.functions
    return {
        name: ir.Attribute.parse(f"#linalg.type_fn<{function.name}>")
        for name, function in functions.items()
        if function.kind is FunctionKind.TYPE
    }


Built = ir.Value | ir.OpResultList | list[ir.Value] | ir.Operation
"""The outcome of building an op: a result, several of them, or an op that writes memrefs."""


def call_on_values(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Built:
    """Build an op at the current insertion point.

    Args:
        operands: its inputs: values, or ops with one result; Python numbers for scalars.
        keywords: `outs`, its outputs, which tensors may go without; `emit_generic`, whether to
            build `linalg.generic` even where upstream has a named op; `compute_type`, the compute
            type where it is not the type of the result; `permutation_x`, `broadcast_x` and `map_x`,
            how operand x is given; inputs and attributes by name.

    Returns:
        Its result, the results where there are several, the op itself where it writes memrefs. A
        definition whose statements depend on one another is several ops, of which the last stands
        for all on memrefs.

    Raises:
        ArgumentError: an operand or a keyword does not fit the definition.
    """
    definition = op.definition
    require_insertion_point(definition)
    keywords = {name: value for name, value in keywords.items() if value is not None}
    outs = keywords.pop("outs", None)
    emit_generic = keywords.pop("emit_generic", False)
    if not isinstance(emit_generic, bool):
        raise ArgumentError(f"{definition.name}: emit_generic={emit_generic!r}", expected="a bool")
    compute_type = keywords.pop("compute_type", None)
    if compute_type is not None:
        compute_type = as_compute_type(compute_type, definition.name)
    operand_maps = take_operand_maps(definition, keywords)
    arguments = split_inputs(definition, operands, keywords)
    attributes = resolve_attributes(
        definition, keywords, also=("outs", "emit_generic", "compute_type")
    )
    outputs = None if outs is None else _outputs(definition, outs)
    is_mixed = compute_type is not None and is_mixed_type(definition, arguments, outputs)
    if is_mixed:
        definition = with_own_types(definition)
    with all_or_nothing():
        inputs = _inputs(definition, arguments, outputs or [])
        pairs = zip(definition.arguments, (*inputs, *(outputs or ())), strict=False)
        shapes = {
            operand.name: static_sizes(value)
            for operand, value in pairs
            if operand.kind.is_tensor
            if isinstance(value.type, (ir.RankedTensorType, ir.MemRefType))
        }
        with inverses_named(definition, operand_maps, shapes, attributes.symbols):
            ranks = {name: len(shape) for name, shape in shapes.items()}
            mapped = with_operand_maps(definition, operand_maps, ranks)
            if outputs is None:
                outputs = make_outputs(mapped, inputs, attributes)
            bound = bind(mapped, inputs, outputs, attributes)
        return build(
            bound,
            emit_generic=emit_generic,
            mapped=bool(operand_maps) or is_mixed,
            compute_type=compute_type,
        )


def build(
    bound: BoundOp,
    *,
    emit_generic: bool = False,
    mapped: bool = False,
    compute_type: ir.Type | None = None,
) -> Built:
    """Build a bound op; see `call_on_values` for its answers.

    Args:
        emit_generic: build `linalg.generic` even where there is a named op.
        mapped: whether its operands have other maps than its definition had: it becomes one of
            the ops that carry their maps, where one of these can say it.
        compute_type: the type to compute in, where it is not that of the result.
    """
    steps = bound.definition.steps
    if steps != (bound.definition,):
        values = operand_values(bound)
        for step in steps:
            built: Built = build(
                bound_step(bound, step, values),
                emit_generic=emit_generic,
                mapped=mapped,
                compute_type=compute_type,
            )
            if not isinstance(built, (ir.Operation, ir.OpView)):
                names = [output.name for output in step.outputs]
                values.update(zip(names, results_of(built), strict=True))
        on_memrefs = isinstance(bound.outputs[0].type, ir.MemRefType)
        if on_memrefs:
            return built
        written = [values[o.name] for o in bound.definition.outputs]
        return written[0] if len(written) == 1 else written
    if _has_no_points(bound):
        return bound.outputs[0] if len(bound.outputs) == 1 else list(bound.outputs)
    if compute_type is not None and (reason := why_unmapped(bound.definition)) is not None:
        raise ArgumentError(
            f"{bound.definition.name} has no compute type: {reason}",
            hint="cast the elements in its body: TypeFn.cast_signed(F32, ...)",
        )
    if bound.definition.recurrence_dims:
        if emit_generic:
            raise ArgumentError(
                f"{bound.definition.name} is a recurrence, which no linalg.generic is",
                hint="leave emit_generic away: it becomes linalg_ext.scan",
            )
        return build_recurrence(bound)
    if not emit_generic and compute_type is None:
        scattered = build_scattered(bound)
        if scattered is not None:
            return scattered
    emit_generic = emit_generic or bool(narrowed_axes(bound.definition))
    operation = None if emit_generic else build_named(bound)
    if operation is None and mapped and not emit_generic:
        operation = build_mapped(bound)
    if operation is None:
        operation = build_generic(bound)
    if compute_type is not None:
        set_compute_type(operation, compute_type)
    results = operation.results
    if len(results) == 0:
        return operation
    return results[0] if len(results) == 1 else results


def _has_no_points(bound: BoundOp) -> bool:
    """Return whether nothing is computed, and MLIR would ask for elements that nothing reads.

    It wants an element 2 for an index `t + 2`, also where t runs over nothing.
    """
    definition = bound.definition
    is_shifted = any(
        isinstance(index, AffineBinary)
        for accesses in definition.accesses.values()
        for indices in accesses
        for index in indices
    )
    if not is_shifted or any(isinstance(value.type, ir.MemRefType) for value in bound.outputs):
        return False
    shapes = {o.name: static_sizes(value) for o, value in bound.pairs if o.kind.is_tensor}
    return 0 in infer_extents(definition, shapes, bound.attributes.symbols).values()


def results_of(built: Built) -> list[ir.Value]:
    """Return the outcome of `build` as a list of results."""
    if isinstance(built, ir.Value):
        return [built]
    return list(built.results if isinstance(built, ir.Operation) else built)


def require_insertion_point(definition: OpDefinition) -> None:
    """Raise an ArgumentError where there is no place to build an op."""
    try:
        ir.InsertionPoint.current  # noqa: B018  # raises if absent
    except ValueError:
        raise ArgumentError(
            f"{definition.name} is called on MLIR values outside an insertion point",
            hint="build it inside `with ir.InsertionPoint(block):`",
        ) from None


def is_mixed_type(
    definition: OpDefinition, arguments: Sequence[Any], outputs: Sequence[ir.Value] | None
) -> bool:
    """Return whether operands of one type variable are of several element types."""
    values = [*zip(definition.inputs, arguments, strict=False)]
    values += [*zip(definition.outputs, outputs or (), strict=False)]
    elements: dict[str, set[str]] = {}
    for operand, value in values:
        kind = getattr(value, "type", None)
        if isinstance(kind, ir.ShapedType):
            elements.setdefault(str(operand.type_var), set()).add(str(kind.element_type))
    return any(len(types) > 1 for types in elements.values())


def _outputs(definition: OpDefinition, outs: Any) -> list[ir.Value]:
    if isinstance(outs, (ir.Value, ir.OpView, ir.Operation)):
        outs = [outs]
    if not isinstance(outs, (Sequence, ir.OpResultList)):
        raise ArgumentError(
            f"{definition.name}: outs={outs!r}",
            expected=f"a list of {counted(len(definition.outputs), 'value')}",
        )
    return [
        as_value(definition, f"output {position}", value) for position, value in enumerate(outs)
    ]


def _inputs(
    definition: OpDefinition, arguments: Sequence[Any], outputs: Sequence[ir.Value]
) -> list[ir.Value]:
    values: list[ir.Value] = []
    for operand, value in zip(definition.inputs, arguments, strict=True):
        if operand.kind is OperandKind.SCALAR and _is_number(value):
            element = _scalar_type(definition, operand, arguments, outputs)
            number = value.item() if isinstance(value, np.generic) else value
            values.append(number_constant(number, element))
        else:
            values.append(as_value(definition, operand.name, value))
    return values


def _is_number(value: object) -> bool:
    number = value.item() if isinstance(value, np.generic) else value
    return isinstance(number, (int, float, complex))


def _scalar_type(
    definition: OpDefinition, scalar: Operand, arguments: Sequence[Any], outputs: Sequence[ir.Value]
) -> ir.Type:
    """The element type of a Python number: that of another operand of its type variable."""
    name = str(scalar.type_var)
    if predefined := predefined_types([name]):
        return predefined[name]
    for operand, value in zip(definition.arguments, (*arguments, *outputs), strict=False):
        if str(operand.type_var) == name and isinstance(value, (ir.Value, ir.OpView, ir.Operation)):
            kind = as_value(definition, operand.name, value).type
            return ir.ShapedType(kind).element_type if operand.kind.is_tensor else kind
    raise DTypeError(
        f"{definition.name}: the type of the number for {scalar.name} is not known",
        hint="give it as an MLIR value, for example of arith.constant",
    )


def as_value(definition: OpDefinition, name: str, value: Any) -> ir.Value:
    """A value, or the one result of an op; `name` is the operand that it is given for."""
    return single_value(f"{definition.name}: {name}", value)
