"""Ops of `lx.ops` and of the user, called on traced values: recorded by their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linalg_ext.bindings import ir, tensor
from linalg_ext.compiler.op_dtypes import resolve_dtypes, unsigned_type_vars
from linalg_ext.definition.attributes import CallAttributes, resolve_attributes
from linalg_ext.definition.calls import per_output, split_inputs
from linalg_ext.definition.model import OpDefinition, OperandKind
from linalg_ext.definition.shapes import demands
from linalg_ext.errors import ArgumentError, ShapeError, located
from linalg_ext.executable.arguments import is_python_number
from linalg_ext.notations.operand_keywords import OperandMaps, mapped_shapes, take_operand_maps
from linalg_ext.opdsl.op import StructuredOp
from linalg_ext.runtime.dtypes import DType
from linalg_ext.structured.compute_type import as_compute_type
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.op_builders import build, results_of
from linalg_ext.structured.operands import bind
from linalg_ext.structured.outputs import initial_tensor
from linalg_ext.tracing.values.conversion import as_traced, cast_to
from linalg_ext.tracing.values.elements import element_type
from linalg_ext.tracing.values.emission import shape_text
from linalg_ext.tracing.values.sizes import Shape, as_number, as_size
from linalg_ext.tracing.values.trace import at_users_line
from linalg_ext.tracing.values.traced import Traced, current_trace


@located
def call_on_traced(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Record a call of an op: its operands as on arrays, its result a traced value.

    Args:
        operands: traced values, arrays (which become constants), numbers for scalars.
        keywords: `init`, `dtype`, inputs and attributes by name.

    Raises:
        ArgumentError: as on arrays; `out=` has no meaning here.
    """
    with at_users_line():
        return _record(op, operands, keywords)


def _record(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    definition = op.definition
    trace = current_trace((*operands, *keywords.values()))
    keywords = dict(keywords)
    for name in ("threads", "out"):
        if name in keywords:
            raise ArgumentError(
                f"{definition.name}: {name}= inside a traced function",
                hint=f"give {name}= to the compiled function",
            )
    dtype, init = keywords.pop("dtype", None), keywords.pop("init", None)
    compute_type = keywords.pop("compute_type", None)
    if compute_type is not None:
        compute_type = as_compute_type(compute_type, definition.name)
    operand_maps = take_operand_maps(definition, keywords)
    arguments = split_inputs(definition, operands, keywords)
    attributes = resolve_attributes(definition, keywords, also=("init", "dtype", "compute_type"))
    inputs = {
        o.name: value if is_python_number(value) else as_traced(value)
        for o, value in zip(definition.inputs, arguments, strict=True)
    }
    given_init = per_output(definition, "init", init)
    inits = {name: as_traced(value) for name, value in given_init.items()}
    known = {name: value.dtype for name, value in inits.items()}
    deciding = {n: v.dtype if isinstance(v, Traced) else v for n, v in inputs.items()}
    dtypes = resolve_dtypes(definition, deciding, known, dtype)
    tensors = {
        o.name: as_traced(inputs[o.name], dtypes[str(o.type_var)])
        for o in definition.inputs
        if o.kind is OperandKind.INPUT_TENSOR
    }
    input_shapes = {name: value.shape for name, value in tensors.items()}
    init_shapes = {name: value.shape for name, value in inits.items()}
    definition, shapes = _resolved(definition, operand_maps, input_shapes, init_shapes, attributes)
    values = [
        cast_to(tensors[o.name], dtypes[str(o.type_var)]).value
        if o.name in tensors
        else _scalar(definition, o.name, inputs[o.name], dtypes[str(o.type_var)])
        for o in definition.inputs
    ]
    outputs = []
    for output in definition.outputs:
        result_dtype = dtypes[str(output.type_var)]
        if output.name in inits:
            outputs.append(cast_to(inits[output.name], result_dtype).value)
            continue
        sizes = [trace.number(size) for size in shapes[output.name]]
        element = element_type(result_dtype)
        outputs.append(
            initial_tensor(definition, output.name, sizes, element, attributes, result_dtype)
        )
    bound = bind(definition, values, outputs, attributes, unsigned_type_vars(dtypes))
    results = results_of(build(bound, mapped=bool(operand_maps), compute_type=compute_type))
    traced = tuple(
        Traced(result, dtypes[str(output.type_var)], shapes[output.name])
        for result, output in zip(results, definition.outputs, strict=True)
    )
    return traced[0] if len(traced) == 1 else traced


def _resolved(
    definition: OpDefinition,
    operand_maps: OperandMaps,
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    attributes: CallAttributes,
) -> tuple[OpDefinition, dict[str, Shape]]:
    """As `mapped_shapes`, of shapes that may be open: each call checks their conditions."""
    trace = current_trace()
    numbers = [
        {n: tuple(as_number(trace.resolved(size)) for size in shape) for n, shape in own.items()}
        for own in (inputs, outputs)
    ]
    definition, shapes = mapped_shapes(definition, operand_maps, numbers[0], numbers[1], attributes)
    if not all(isinstance(size, int) for shape in shapes.values() for size in shape):
        text = " and ".join(shape_text(shape) for shape in (*inputs.values(), *outputs.values()))
        operation = f"{definition.name} of shapes {text}"
        for sign, *sizes in demands(definition, numbers[0] | numbers[1], attributes.symbols):
            left, right = map(as_size, sizes)
            if sign == "==":
                holds = trace.agree(left, right, operation)
            else:
                holds = trace.at_least(left, right, operation)
            if not holds:
                raise ShapeError(
                    operation, expected="equal sizes" if sign == "==" else "larger sizes"
                )
    return definition, {name: tuple(map(as_size, shape)) for name, shape in shapes.items()}


def _scalar(definition: OpDefinition, name: str, value: Any, dtype: DType) -> ir.Value:
    if isinstance(value, Traced):
        if value.ndim:
            raise ShapeError(
                f"{definition.name}: {name} is a scalar, but a traced value of shape "
                f"{value.shape} is given"
            )
        return tensor.ExtractOp(cast_to(value, dtype).value, []).result
    return number_constant(value, element_type(dtype))
