"""Output tensors for an op that was called on values without any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.initial import initial_number
from linalg_ext.definition.model import OpDefinition, OperandKind, reads_before
from linalg_ext.definition.operand_maps import add_readings
from linalg_ext.definition.shapes import check_shapes, infer_extents, output_shape
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import ArgumentError, DTypeError, ShapeError
from linalg_ext.runtime.dtypes import DType, by_mlir
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.operands import bind_types, shapes_differ, static_sizes
from linalg_ext.structured.sizes import mixed_sizes, sizes_of
from linalg_ext.symbolic.integers import Number


def empty_tensor(sizes: Sequence[Number], element: ir.Type) -> ir.Value:
    """Build a tensor of these sizes that is to be written."""
    empty: ir.Value = tensor.EmptyOp(mixed_sizes(sizes), element).result
    return empty


def make_outputs(
    definition: OpDefinition,
    inputs: Sequence[ir.Value],
    attributes: CallAttributes,
    dtypes: Mapping[str, ir.Type] | None = None,
) -> list[ir.Value]:
    """A tensor for each output: its neutral element where the op accumulates, empty elsewhere.

    Args:
        dtypes: element types of type variables that the inputs do not bind.

    Raises:
        ShapeError: the inputs do not determine the shape.
        DTypeError: the inputs do not determine the element type.
        ArgumentError: the op reads an output's old elements, and it is not a reduction.
    """
    tensors = {
        operand.name: value
        for operand, value in zip(definition.inputs, inputs, strict=True)
        if operand.kind is OperandKind.INPUT_TENSOR
    }
    for name, value in tensors.items():
        if not isinstance(value.type, ir.RankedTensorType):
            raise ArgumentError(
                f"{definition.name}: {name} is of type {value.type}, and no outs= are given",
                hint="an op on memrefs writes to memrefs: give them as outs=[...]",
            )
    types = {**(dtypes or {}), **bind_types(definition, definition.inputs, inputs)}
    shapes = _output_shapes(definition, tensors, attributes)
    return [
        initial_tensor(
            definition,
            output.name,
            shape,
            _element(definition, output, types),
            attributes,
        )
        for output, shape in zip(definition.outputs, shapes, strict=True)
    ]


def _output_shapes(
    definition: OpDefinition, tensors: Mapping[str, ir.Value], attributes: CallAttributes
) -> list[tuple[Number, ...]]:
    shapes = {name: sizes_of(value) for name, value in tensors.items()}
    if definition.is_rank_polymorphic:
        ranked = [shape for shape in shapes.values() if shape] or list(shapes.values())
        if not ranked:
            raise ShapeError(
                f"{definition.name}: no input has a shape",
                hint="give the output as outs=[...]",
            )
        _check_one_shape(definition, tensors)
        return [tuple(ranked[0])] * len(definition.outputs)
    extents = infer_extents(definition, shapes, attributes.symbols)
    outputs = [output_shape(definition, o.name, extents) for o in definition.outputs]
    check_shapes(definition, shapes, attributes.symbols, extents)
    return outputs


def _check_one_shape(definition: OpDefinition, tensors: Mapping[str, ir.Value]) -> None:
    """Raise where the known sizes of an element-wise op's inputs differ."""
    shapes = {name: static_sizes(value) for name, value in tensors.items()}
    ranked = [(name, shape) for name, shape in shapes.items() if shape]
    if not ranked:
        return  # all of them are of rank 0
    (first, shape), *rest = ranked
    for name, other in rest:
        if shapes_differ(other, shape):
            error = ShapeError(
                f"{definition.name}: {name} is of type {tensors[name].type}, but {first} is of "
                f"type {tensors[first].type}",
                expected="operands of one shape, or inputs of rank 0",
            )
            raise add_readings(error, definition, shapes, {})


def _element(definition: OpDefinition, output: object, types: Mapping[str, ir.Type]) -> ir.Type:
    name = str(getattr(output, "type_var", ""))
    if name in types:
        return types[name]
    inputs = {
        str(o.type_var): types[str(o.type_var)]
        for o in definition.inputs
        if o.kind.is_tensor and str(o.type_var) not in PREDEFINED
    }
    if len({str(element) for element in inputs.values()}) == 1:
        return next(iter(inputs.values()))
    raise DTypeError(
        f"{definition.name}: type variable {name} of the output is not an input's, and the inputs "
        f"differ: {', '.join(f'{k} is {v}' for k, v in inputs.items()) or 'the op has none'}",
        hint="give the output as outs=[...] with the element type to compute in",
    )


def initial_tensor(
    definition: OpDefinition,
    output: str,
    shape: Sequence[Number],
    element: ir.Type,
    attributes: CallAttributes,
    dtype: DType | None = None,
) -> ir.Value:
    """A tensor for an output: the neutral element where it accumulates, empty elsewhere.

    Args:
        attributes: the attributes of the call; one of them may choose the reduction.
        dtype: the dtype of the array that it stands for, which says whether integers are unsigned.

    Raises:
        ArgumentError: the op reads the output's old elements, and it is not a reduction.
        DTypeError: the reduction has no neutral element for the type.
    """
    empty = empty_tensor(shape, element)
    if not reads_before(definition, output):
        return empty
    if dtype is None:
        array_type = by_mlir(str(element))
        if array_type is None:
            raise DTypeError(f"the initial value of an output of {element} is not known")
        dtype = array_type.dtype
    number = initial_number(definition.assignment_to(output), attributes, dtype)
    return filled(number_constant(number, element), empty)


def filled(value: ir.Value, destination: ir.Value) -> ir.Value:
    """`linalg.fill` of a tensor: upstream's own function of it takes ten times as long."""
    fill = linalg.FillOp([destination.type], [value], [destination]).operation
    linalg.fill_builtin_region(fill)
    return fill.results[0]


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Erase the ops that a failed `with` block built at the current insertion point."""
    point = ir.InsertionPoint.current
    # The bindings cannot step back from an op: an op of no meaning marks where we began.
    marker = ir.Operation.create("builtin.unrealized_conversion_cast")
    try:
        yield
    except BaseException:
        for op in reversed(_ops_after(marker, point)):
            op.erase()
        raise
    finally:
        marker.erase()


def _ops_after(marker: ir.Operation, point: ir.InsertionPoint) -> list[ir.Operation]:
    """The ops from a marker to the op that the insertion point stands before, or to the end."""
    ops = [op.operation for op in point.block.operations]
    end = len(ops) if point.ref_operation is None else ops.index(point.ref_operation.operation)
    return ops[ops.index(marker) + 1 : end]
