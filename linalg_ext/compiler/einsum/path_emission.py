"""`einsum` on MLIR values: each step of its path is an op of its own, made by `definition_of`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext import opdsl_defs as ops
from linalg_ext.bindings import ir
from linalg_ext.compiler.einsum.request import Request
from linalg_ext.compiler.op_dtypes import unsigned_type_vars
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import ArgumentError, ArityError, DTypeError
from linalg_ext.notations.einsum import BROADCAST, Semiring, definition_of
from linalg_ext.notations.einsum.path import find_path
from linalg_ext.notations.einsum.plan import Labels, Step, contract_along, steps_along
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.structured.op_builders import as_value, build, require_insertion_point
from linalg_ext.structured.operands import bind
from linalg_ext.structured.outputs import all_or_nothing, make_outputs


def on_values(request: Request, operands: Sequence[Any], outs: Any) -> Any:
    """Build an einsum of tensors, or of memrefs as one op; `outs` is accumulated into.

    Raises:
        ArgumentError: a memref without `outs`.
        DTypeError: the operands differ in element type, and nothing says what the result is of.
    """
    kind = request.kind
    numbered = [tuple(f"d{n}_{axis}" for axis in range(9)) for n in range(len(operands))]
    blank = definition_of([labels[:1] for labels in numbered] or [()], (), kind=kind)
    require_insertion_point(blank)
    values = [as_value(blank, f"operand {n}", value) for n, value in enumerate(operands)]
    target = None if outs is None else _single(blank, outs)
    for number, value in enumerate([*values, *([] if target is None else [target])]):
        if not isinstance(value.type, ir.RankedTensorType | ir.MemRefType):
            raise DTypeError(
                f"einsum: operand {number} is of type {value.type}",
                expected="a ranked tensor or memref",
            )
    shapes = [_static_shape(value) for value in values]
    contraction = request.subscripts.bind(
        [tuple(1 if size is None else size for size in shape) for shape in shapes]
    )
    path = find_path(contraction, request.optimize)
    labels = with_broadcasts(contraction.inputs, shapes)
    element, wanted = _elements(request, values, target)
    asked = request.compute_type or request.dtype
    unsigned = frozenset[str]() if asked is None else unsigned_type_vars({"U": asked})
    on_memrefs = any(isinstance(value.type, ir.MemRefType) for value in values)
    if on_memrefs:
        if target is None:
            raise ArgumentError(
                "einsum on memrefs without outs=", hint="give the memref that it accumulates into"
            )
        steps: Sequence[Step] = (Step.of_all(labels, contraction.output),)
    else:
        distributes = not kind.needs_non_negative
        steps = steps_along(
            path,
            tuple(labels),
            contraction.output,
            distributes=distributes,
            reads_diagonals=True,
        )

    def apply(group: list[ir.Value], step: Step) -> Any:
        definition = definition_for(step.inputs, step.output, kind)
        attributes = resolve_attributes(definition, {})
        if step is steps[-1] and target is not None:
            outputs = [target]
        else:
            outputs = make_outputs(definition, group, attributes, {"U": element})
        return build(bind(definition, group, outputs, attributes, unsigned))

    with all_or_nothing():
        result: Any = contract_along(steps, values, apply)
        if wanted != element:
            copy = ops.copy.definition
            attributes = resolve_attributes(copy, {})
            outputs = make_outputs(copy, [result], attributes, {"U": wanted})
            result = build(bind(copy, [result], outputs, attributes))
    return result


def definition_for(inputs: Sequence[Labels], output: Labels, kind: Semiring) -> OpDefinition:
    """The op for labels that need not be names: those of an ellipsis are numbered."""
    names = {label: label.replace(".", "e") for own in (*inputs, output) for label in own}
    renamed = [[names[label] for label in labels] for labels in inputs]
    return definition_of(renamed, [names[label] for label in output], kind=kind)


def _single(definition: OpDefinition, outs: Any) -> ir.Value:
    given = list(outs) if isinstance(outs, list | tuple | ir.OpResultList) else [outs]
    if len(given) != 1:
        raise ArityError(f"einsum: outs= has {len(given)} values", expected="1")
    return as_value(definition, "outs", given[0])


def _static_shape(value: ir.Value) -> tuple[int | None, ...]:
    shape = ir.ShapedType(value.type)
    return tuple(
        None if shape.is_dynamic_dim(axis) else shape.get_dim_size(axis)
        for axis in range(shape.rank)
    )


def with_broadcasts(
    inputs: Sequence[Labels], shapes: Sequence[tuple[int | None, ...]]
) -> list[Labels]:
    """The labels, with BROADCAST for a size 1 where another operand has more, or may have."""
    stretched = {
        label
        for labels, shape in zip(inputs, shapes, strict=True)
        for label, size in zip(labels, shape, strict=True)
        if size != 1
    }
    return [
        tuple(
            BROADCAST if size == 1 and label in stretched else label
            for label, size in zip(labels, shape, strict=True)
        )
        for labels, shape in zip(inputs, shapes, strict=True)
    ]


def _elements(
    request: Request, values: Sequence[ir.Value], target: ir.Value | None
) -> tuple[ir.Type, ir.Type]:
    """The element types of the computation and of the result."""
    asked = request.compute_type or request.dtype
    if target is not None:
        element = ir.ShapedType(target.type).element_type
        if asked is not None and _element_type(asked) != element:
            raise DTypeError(
                f"einsum: outs= is of {element}, but it is to be computed in {asked}",
                hint="leave outs= away, or compute in its type",
            )
        return element, element
    if request.dtype is not None:
        result = _element_type(request.dtype)
    elif request.kind.is_boolean:
        result = ir.IntegerType.get_signless(1)
    else:
        found = {str(ir.ShapedType(value.type).element_type) for value in values}
        if len(found) > 1:
            raise DTypeError(
                f"einsum: operands of {' and '.join(sorted(found))}",
                hint="give dtype=, or outs= of the type of the result",
            )
        result = ir.ShapedType(values[0].type).element_type
    if request.kind.is_boolean:
        return ir.IntegerType.get_signless(1), result
    return (result if asked is None else _element_type(asked)), result


def _element_type(dtype: DType) -> ir.Type:
    """The element type of MLIR for a dtype."""
    return ir.Type.parse(by_dtype(dtype).mlir)
