"""Ops of `lx.ops` and of the user, called on traced values: recorded by their definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linalg_ext.bindings import ir, tensor
from linalg_ext.compiler.op_dtypes import resolve_dtypes, unsigned_type_vars
from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineSymbol, linear_terms
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.calls import per_output, resolve_shapes, split_inputs
from linalg_ext.definition.model import OpDefinition, OperandKind
from linalg_ext.definition.shapes import narrowed_axes, symbol_sizes
from linalg_ext.errors import ArgumentError, LinalgExtError, ShapeError, caller_location
from linalg_ext.executable.arguments import is_python_number
from linalg_ext.notations.operand_keywords import (
    inverses_named,
    take_operand_maps,
    with_operand_maps,
)
from linalg_ext.opdsl.op import StructuredOp
from linalg_ext.runtime.dtypes import DType
from linalg_ext.structured.compute_type import as_compute_type
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.op_builders import build, results_of
from linalg_ext.structured.operands import bind
from linalg_ext.structured.outputs import initial_tensor, make_outputs
from linalg_ext.tracing.values.conversion import as_traced, cast_to
from linalg_ext.tracing.values.elements import element_type
from linalg_ext.tracing.values.emission import shape_text
from linalg_ext.tracing.values.sizes import AnySize, Shape, Size
from linalg_ext.tracing.values.trace import at_users_line
from linalg_ext.tracing.values.traced import Traced, current_trace
from linalg_ext.tracing.values.unsupported import refuse


def call_on_traced(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Record a call of an op: its operands as on arrays, its result a traced value.

    Args:
        op: the op.
        operands: traced values, arrays (which become constants), numbers for scalars.
        keywords: `init`, `dtype`, inputs and attributes by name.

    Raises:
        ArgumentError: as on arrays; `out=` has no meaning here.
    """
    try:
        with at_users_line():
            return _record(op, operands, keywords)
    except LinalgExtError as error:
        error.where = error.where or caller_location()
        raise


def _record(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    definition = op.definition
    current_trace((*operands, *keywords.values()))
    keywords = dict(keywords)
    for name in ("threads", "out"):
        if name in keywords:
            raise ArgumentError(
                f"{definition.name}: {name}= inside a traced function",
                where=caller_location(),
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
    given_shapes = {name: _static(value) for name, value in tensors.items()}
    known_shapes = {name: _static(value) for name, value in inits.items()}
    every: dict[str, tuple[int | None, ...]] = {**given_shapes, **known_shapes}
    is_open = any(size is None for shape in every.values() for size in shape)
    with inverses_named(definition, operand_maps, every, attributes.symbols):
        ranks = {name: len(shape) for name, shape in every.items()}
        definition = with_operand_maps(definition, operand_maps, ranks)
        if not is_open:
            sizes = resolve_shapes(
                definition, _known(given_shapes), _known(known_shapes), attributes
            )
        shapes = {name: value.shape for name, value in {**tensors, **inits}.items()}
        if is_open:
            shapes |= _open_shapes(definition, shapes, attributes.symbols)
    values = [
        cast_to(tensors[o.name], dtypes[str(o.type_var)]).value
        if o.name in tensors
        else _scalar(definition, o.name, inputs[o.name], dtypes[str(o.type_var)])
        for o in definition.inputs
    ]
    outputs = []
    is_made = is_open and any(output.name not in inits for output in definition.outputs)
    if is_made:
        # MLIR itself computes an open size of a result.
        types = {name: element_type(own_dtype) for name, own_dtype in dtypes.items()}
        targets = make_outputs(definition, values, attributes, types)
    for number, output in enumerate(definition.outputs):
        result_dtype = dtypes[str(output.type_var)]
        if output.name in inits:
            outputs.append(cast_to(inits[output.name], result_dtype).value)
        elif is_made:
            outputs.append(targets[number])
        else:
            shape = sizes[output.name]
            outputs.append(
                initial_tensor(
                    definition,
                    output.name,
                    shape,
                    element_type(result_dtype),
                    attributes,
                    result_dtype,
                )
            )
    bound = bind(definition, values, outputs, attributes, unsigned_type_vars(dtypes))
    results = results_of(build(bound, mapped=bool(operand_maps), compute_type=compute_type))
    traced = tuple(
        _traced(result, dtypes[str(output.type_var)], shapes.get(output.name))
        for result, output in zip(results, definition.outputs, strict=True)
    )
    return traced[0] if len(traced) == 1 else traced


def _open_shapes(
    definition: OpDefinition, shapes: Mapping[str, Shape], symbols: Mapping[str, int]
) -> dict[str, Shape]:
    """Return the shapes of the outputs that follow from those of operands of open sizes.

    A call is asked for equal sizes along one dimension, and for sums of positions that stay inside.
    """
    known_symbols: dict[AffineExpr, AffineExpr | int] = {
        AffineSymbol(name): value for name, value in symbols.items()
    }
    trace = current_trace()
    text = " and ".join(shape_text(shape) for shape in shapes.values())
    operation = f"{definition.name} of shapes {text}"
    narrowed = narrowed_axes(definition)
    places = [
        (name, axis, index.substitute(known_symbols), size)
        for name, shape in shapes.items()
        for indices in _indices(definition, name, len(shape))
        for axis, (index, size) in enumerate(zip(indices, shape, strict=True))
    ]
    extents: dict[str, AnySize] = {}
    for name, axis, index, size in places:
        if isinstance(index, AffineDim) and (name, axis, index.name) not in narrowed:
            _agreed([extents.setdefault(index.name, size), size], operation)
    for _, _, index, size in places:
        factors, constant = linear_terms(index) or ({}, 0)
        if not isinstance(index, AffineDim) and factors and factors.keys() <= extents.keys():
            least: AnySize = constant + 1
            for dim, factor in factors.items():
                least = least + (extents[dim] - 1) * factor
            if min(factors.values()) > 0 and not trace.at_least(size, least, operation):
                raise ShapeError(operation, where=caller_location(), expected="larger sizes")
    for _, _, index, size in places:
        factors, constant = linear_terms(index) or ({}, 0)
        unknown = [dim for dim in factors if dim not in extents]
        if len(unknown) == 1 and min(factors.values()) > 0:
            room = size - 1 - constant
            for dim, factor in factors.items():
                if dim in extents:
                    room = room - (extents[dim] - 1) * factor
            extents[unknown[0]] = room // factors[unknown[0]] + 1
    declared = symbol_sizes(definition, shapes, symbols)
    results: dict[str, Shape] = {}
    for output in definition.outputs:
        if definition.is_rank_polymorphic:
            results[output.name] = max(shapes.values(), key=len)
            continue
        sizes = []
        for axis, index in enumerate(definition.assignment_to(output.name).target.indices):
            stated = output.shape[axis].substitute(known_symbols)
            known = [extents[str(index)]] if str(index) in extents else []
            if all(AffineSymbol(symbol) in declared for symbol in stated.symbols):
                known += [stated.evaluate(declared)]
            if (output.name, axis, str(index)) not in narrowed:
                _agreed(known, operation)
            sizes += known[:1]
        if len(sizes) == output.rank:
            results[output.name] = tuple(sizes)
    return results


def _agreed(sizes: Sequence[AnySize], operation: str) -> None:
    """Demand that sizes are equal."""
    if not all(current_trace().agree(sizes[0], size, operation) for size in sizes[1:]):
        raise ShapeError(operation, where=caller_location(), expected="equal sizes")


def _indices(definition: OpDefinition, name: str, rank: int) -> Iterable[tuple[AffineExpr, ...]]:
    """Return the indices that an operand is read and written at."""
    if definition.is_rank_polymorphic:
        return [tuple(AffineDim(f"d{axis}") for axis in range(rank))]
    return definition.accesses.get(name, ())


def _static(value: Traced) -> tuple[int | None, ...]:
    return tuple(None if isinstance(size, Size) else size for size in value.shape)


def _known(shapes: dict[str, tuple[int | None, ...]]) -> dict[str, tuple[int, ...]]:
    return {
        name: tuple(size for size in shape if size is not None) for name, shape in shapes.items()
    }


def _traced(value: ir.Value, dtype: DType, shape: Shape | None) -> Traced:
    """Return the result of an op, of a shape where a size of it is open.

    Raises:
        TraceError: the shape does not follow from the operands.
    """
    if ir.ShapedType(value.type).has_static_shape:
        return Traced(value, dtype)
    if shape is not None:
        return Traced(value, dtype, shape)
    return refuse(
        f"an op whose result {value.type} has an open size that does not follow from its operands",
        "write it with NumPy's functions, or trace it for one size",
    )


def _scalar(definition: OpDefinition, name: str, value: Any, dtype: DType) -> ir.Value:
    if isinstance(value, Traced):
        if value.ndim:
            raise ShapeError(
                f"{definition.name}: {name} is a scalar, but a traced value of shape "
                f"{value.shape} is given",
                where=caller_location(),
            )
        return tensor.ExtractOp(cast_to(value, dtype).value, []).result
    return number_constant(value, element_type(dtype))
