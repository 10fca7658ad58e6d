"""Output tensors for an op that was called on values without any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.model import Assignment, OpDefinition, OperandKind
from linalg_ext.definition.neutral import neutral_element
from linalg_ext.definition.shapes import check_shapes, infer_extents, output_shape
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import ArgumentError, DTypeError, ShapeError
from linalg_ext.runtime.dtypes import DType, by_mlir
from linalg_ext.structured.operands import predefined_types


class RuntimeSize:
    """A size that is known when the program runs, with the arithmetic of an integer."""

    def __init__(self, value: ir.Value) -> None:
        self.value = value

    def __add__(self, other: RuntimeSize | int) -> RuntimeSize:
        return RuntimeSize(arith.AddIOp(self.value, _index(other)).result)

    def __sub__(self, other: RuntimeSize | int) -> RuntimeSize:
        return RuntimeSize(arith.SubIOp(self.value, _index(other)).result)

    def __rsub__(self, other: int) -> RuntimeSize:
        return RuntimeSize(arith.SubIOp(_index(other), self.value).result)

    def __mul__(self, other: int) -> RuntimeSize:
        return RuntimeSize(arith.MulIOp(self.value, _index(other)).result)

    def __floordiv__(self, other: int) -> RuntimeSize:
        return RuntimeSize(arith.FloorDivSIOp(self.value, _index(other)).result)


def _index(size: RuntimeSize | int) -> ir.Value:
    if isinstance(size, RuntimeSize):
        return size.value
    index = ir.IndexType.get()
    return arith.ConstantOp(index, ir.IntegerAttr.get(index, size)).result


def sizes_of(value: ir.Value) -> list[RuntimeSize | int]:
    """The sizes of a tensor, dynamic ones by `tensor.dim`."""
    shape = ir.ShapedType(value.type)
    return [
        RuntimeSize(tensor.DimOp(value, _index(axis)).result)
        if shape.is_dynamic_dim(axis)
        else shape.get_dim_size(axis)
        for axis in range(shape.rank)
    ]


def make_outputs(
    definition: OpDefinition,
    inputs: Sequence[ir.Value],
    attributes: CallAttributes,
    dtypes: Mapping[str, ir.Type] | None = None,
) -> list[ir.Value]:
    """A tensor for each output: its neutral element where the op accumulates, empty elsewhere.

    Args:
        definition: the op.
        inputs: its inputs.
        attributes: the attributes of the call.
        dtypes: element types of type variables that the inputs do not bind.

    Raises:
        ShapeError: the inputs do not determine the shape.
        DTypeError: the inputs do not determine the element type.
        ArgumentError: the op reads what an output was before, and it is not a reduction.
    """
    tensors = {
        operand.name: value
        for operand, value in zip(definition.inputs, inputs, strict=False)
        if operand.kind is OperandKind.INPUT_TENSOR
    }
    for name, value in tensors.items():
        if not isinstance(value.type, ir.RankedTensorType):
            raise ArgumentError(
                f"{definition.name}: {name} is of type {value.type}, and no outs= are given",
                cure="an op on memrefs writes to memrefs: give them as outs=[...]",
            )
    types = {**predefined_types(), **(dtypes or {})}
    for operand, value in zip(definition.inputs, inputs, strict=False):
        is_tensor = operand.kind.is_tensor
        types[str(operand.type_var)] = (
            ir.ShapedType(value.type).element_type if is_tensor else value.type
        )
    shapes = _output_shapes(definition, tensors, attributes)
    return [
        initial_tensor(
            definition.assignment_to(output.name), shape, _element(definition, output, types)
        )
        for output, shape in zip(definition.outputs, shapes, strict=True)
    ]


def _output_shapes(
    definition: OpDefinition, tensors: Mapping[str, ir.Value], attributes: CallAttributes
) -> list[tuple[RuntimeSize | int, ...]]:
    shapes = {name: sizes_of(value) for name, value in tensors.items()}
    if definition.is_rank_polymorphic:
        ranked = [shape for shape in shapes.values() if shape] or list(shapes.values())
        if not ranked:
            raise ShapeError(
                f"{definition.name}: no input has a shape",
                cure="give the output as outs=[...]",
            )
        return [tuple(ranked[0])] * len(definition.outputs)
    extents = infer_extents(definition, shapes, attributes.symbols)
    outputs = [output_shape(definition, o.name, extents) for o in definition.outputs]
    sizes = [size for shape in shapes.values() for size in shape]
    if all(isinstance(size, int) for size in sizes):
        static = {o.name: s for o, s in zip(definition.outputs, outputs, strict=True)}
        check_shapes(definition, {**shapes, **static}, attributes.symbols, extents)
    return outputs


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
        f"{definition.name}: type variable {name} of the output is no input's, and the inputs "
        f"differ: {', '.join(f'{k} is {v}' for k, v in inputs.items()) or 'there are none'}",
        cure="give the output as outs=[...] with the element type to compute in",
    )


def initial_tensor(
    assignment: Assignment,
    shape: Sequence[RuntimeSize | int],
    element: ir.Type,
    dtype: DType | None = None,
) -> ir.Value:
    """A tensor for an output: the neutral element where it accumulates, empty elsewhere.

    Args:
        assignment: what is written to it.
        shape: its sizes.
        element: its element type.
        dtype: the dtype of the array that it stands for, which says whether integers are unsigned.

    Raises:
        ArgumentError: the op reads what the output was before, and it is not a reduction.
        DTypeError: the reduction has no neutral element for the type.
    """
    sizes = [size.value if isinstance(size, RuntimeSize) else size for size in shape]
    empty = tensor.EmptyOp(sizes, element).result
    if not assignment.reads_target:
        return empty
    if assignment.reduction is None:
        raise ArgumentError(
            f"`{assignment}` reads what {assignment.target.operand} was before the op",
            cure="give that: init= for arrays, outs= for IR values",
        )
    function = assignment.reduction.function.name
    if dtype is None:
        known = by_mlir(str(element))
        if known is None:
            raise DTypeError(f"no neutral element of {function} is known for {element}")
        dtype = known.dtype
    value = number_constant(neutral_element(function, dtype).item(), element)
    return linalg.fill(value, outs=[empty])


def number_constant(value: complex, element: ir.Type) -> ir.Value:
    """A constant of an element type from a Python number."""
    if isinstance(element, ir.ComplexType):
        from linalg_ext.bindings import complex as complex_dialect

        part = element.element_type
        parts = [
            ir.FloatAttr.get(part, complex(value).real),
            ir.FloatAttr.get(part, complex(value).imag),
        ]
        return complex_dialect.ConstantOp(element, ir.ArrayAttr.get(parts)).result
    if isinstance(element, ir.FloatType):
        return arith.ConstantOp(element, ir.FloatAttr.get(element, float(value.real))).result
    if isinstance(element, ir.IntegerType) and element.width == 1:
        return arith.ConstantOp(element, ir.IntegerAttr.get(element, int(bool(value)))).result
    return arith.ConstantOp(element, ir.IntegerAttr.get(element, int(value.real))).result
