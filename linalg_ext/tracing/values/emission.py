"""The recording of structured ops over traced values, each a `linalg.generic`, and of `scf` ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linalg_ext.bindings import arith, cf, ir, scf, tensor
from linalg_ext.errors import ShapeError, caller_location
from linalg_ext.runtime.dtypes import DType
from linalg_ext.structured import loops
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.loops import whole_or_none
from linalg_ext.structured.outputs import filled
from linalg_ext.tracing.values.elements import (
    INT64,
    Element,
    constant,
    element_type,
    of_index,
    position,
)
from linalg_ext.tracing.values.sizes import AnySize, Shape, Size, same
from linalg_ext.tracing.values.tensor_ops import empty, generic, identity_map, is_one, read_map
from linalg_ext.tracing.values.trace import at_users_line, running, static_sizes
from linalg_ext.tracing.values.traced import Number, Traced, current_trace

Body = Callable[..., Element]


def pointwise(name: str, body: Body, operands: Sequence[Traced | Number], dtype: DType) -> Traced:
    """Record an element-wise op: operands broadcast, as NumPy's do.

    Args:
        body: the element of the result, by those of the operands.
        operands: traced values, and numbers with the dtype that they are to be of.
        dtype: of the result; the result of the body is cast to it.
    """
    tensors = [operand for operand in operands if isinstance(operand, Traced)]
    shape = broadcast_shapes(name, [operand.shape for operand in tensors])

    def whole(*elements: Element) -> Element:
        remaining = iter(elements)
        return body(
            *(
                next(remaining)
                if isinstance(operand, Traced)
                else constant(operand.value, operand.dtype)
                for operand in operands
            )
        ).to(dtype)

    return structured(whole, tensors, shape, dtype)


def structured(body: Body, operands: Sequence[Traced], shape: Shape, dtype: DType) -> Traced:
    """Record a parallel op: the element at each place of a shape, by those of operands there."""
    (result,) = structured_results(lambda *elements: [body(*elements)], operands, shape, [dtype])
    return result


def structured_results(
    body: Callable[..., Sequence[Element]],
    operands: Sequence[Traced],
    shape: Shape,
    dtypes: Sequence[DType],
) -> list[Traced]:
    """Record a parallel op of several results of one shape."""
    with at_users_line():
        trace = current_trace()
        values, maps = _read(operands, shape)
        targets = [empty(shape, dtype) for dtype in dtypes]
        maps += [identity_map(len(shape))] * len(targets)
        results = generic(
            trace,
            values,
            targets,
            maps,
            ["parallel"] * len(shape),
            lambda arguments: body(
                *(
                    Element(argument, operand.dtype)
                    for argument, operand in zip(arguments, operands, strict=False)
                )
            ),
        )
    return [Traced(value, dtype, shape) for value, dtype in zip(results, dtypes, strict=True)]


def reduction(
    fold: Callable[[Sequence[Element], Element], Sequence[Element]],
    operand: Traced,
    axes: Sequence[int],
    starts: Sequence[tuple[complex, DType]],
) -> list[Traced]:
    """Record a reduction over some axes of a value.

    Args:
        fold: the next values, from the values so far and the next element.
        axes: those that the results lack.
        starts: for each result the number that it starts from, and its dtype.
    """
    kept_axes = [axis for axis in range(operand.ndim) if axis not in axes]
    shape = tuple(operand.shape[axis] for axis in kept_axes)
    with at_users_line():
        trace = current_trace()
        if any(operand.axes[axis] is None for axis in axes):
            # No operand would say how far such an axis runs.
            operand = materialized(operand)
        values, maps = _read([operand], operand.shape)
        targets = [full(shape, number, dtype).value for number, dtype in starts]
        dims = [ir.AffineDimExpr.get(axis) for axis in kept_axes]
        maps += [ir.AffineMap.get(operand.ndim, 0, dims)] * len(targets)
        kinds = ["reduction" if axis in axes else "parallel" for axis in range(operand.ndim)]

        def body(arguments: Sequence[ir.Value]) -> list[Element]:
            before = [
                Element(value, dtype)
                for value, (_, dtype) in zip(arguments[1:], starts, strict=True)
            ]
            return list(fold(before, Element(arguments[0], operand.dtype)))

        results = generic(trace, values, targets, maps, kinds, body)
    return [Traced(value, dtype, shape) for value, (_, dtype) in zip(results, starts, strict=True)]


def _read(operands: Sequence[Traced], shape: Shape) -> tuple[list[ir.Value], list[ir.AffineMap]]:
    """Return the tensors of operands, and how a space of a shape reads them."""
    values = [operand.tensor for operand in operands]
    maps = [
        read_map(source, operand.axes, operand.shape, shape)
        for source, operand in zip(values, operands, strict=True)
    ]
    return values, maps


def materialized(value: Traced) -> Traced:
    """Return a value whose tensor has its own shape: pending views are recorded."""
    return Traced(value.value, value.dtype, value.shape)


def full(shape: Shape, number: complex, dtype: DType) -> Traced:
    """Return a value with the same number everywhere."""
    with at_users_line():
        value = number_constant(number, element_type(dtype))
        tensor = filled(value, empty(shape, dtype))
    return Traced(tensor, dtype, shape)


def tensor_type(shape: Shape, dtype: DType) -> Any:
    """Return the type of a tensor."""
    return ir.RankedTensorType.get(static_sizes(shape), element_type(dtype))


def broadcast_shapes(name: str, shapes: Sequence[Shape]) -> Shape:
    """Return the shape to which shapes broadcast, by NumPy's rule; open sizes do not stretch.

    Raises:
        ShapeError: they do not fit.
    """
    trace = running()
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[AnySize] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, start=rank - len(shape)):
            if is_one(size, trace):
                continue
            if is_one(result[axis], trace):
                result[axis] = size
                continue
            if same(size, result[axis]):
                continue
            call = f"{name} of shapes {' and '.join(map(shape_text, shapes))}"
            if trace is None or not trace.agree(result[axis], size, call):
                raise ShapeError(
                    f"{call}: sizes {result[axis]} and {size} do not broadcast",
                    where=caller_location(),
                    expected="on each axis, counted from the last, one size, or 1",
                )
            if isinstance(size, int):
                result[axis] = size
    return tuple(trace.resolved(size) if trace else size for size in result)


def shape_text(shape: Shape) -> str:
    """Return a shape as NumPy prints it."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def demand(condition: Traced, message: str) -> None:
    """Have the run check that a condition of rank 0 holds; an ExecutionError where it does not."""
    current_trace([condition])
    with at_users_line():
        assert_holds(tensor.ExtractOp(condition.value, []).result, message)


def assert_holds(condition: ir.Value, message: str) -> None:
    """Have the run check a condition; the error names the user's line."""
    where = caller_location()
    cf.AssertOp(condition, f"{message}{f': {where}' if where else ''}")


def remapped(value: Traced, axes: Sequence[int]) -> Traced:
    """Return a value with some axes backwards."""
    shape, dtype = value.shape, value.dtype
    open_axes = [axis for axis in axes if isinstance(shape[axis], Size)]
    if open_axes:
        trace = current_trace([value])
        with at_users_line():
            sizes = [of_index(trace.value(size)) for size in shape]
        return gathered(
            value,
            [],
            shape,
            lambda places, _: [
                sizes[axis] - 1 - place if axis in axes else place
                for axis, place in enumerate(places)
            ],
        )
    with at_users_line():
        trace = current_trace([value])
        source = value.value
        indices = []
        for axis, size in enumerate(shape):
            place: ir.AffineExpr = ir.AffineDimExpr.get(axis)
            if axis in axes and isinstance(size, int):
                last = ir.AffineConstantExpr.get(size - 1)
                place = ir.AffineAddExpr.get(
                    ir.AffineMulExpr.get(place, ir.AffineConstantExpr.get(-1)), last
                )
            indices.append(place)
        maps = [ir.AffineMap.get(len(shape), 0, indices), identity_map(len(shape))]
        (result,) = generic(
            trace,
            [source],
            [empty(shape, dtype)],
            maps,
            ["parallel"] * len(shape),
            lambda arguments: [Element(arguments[0], dtype)],
        )
    return Traced(result, dtype, shape)


def gathered(
    value: Traced,
    operands: Sequence[Traced],
    shape: Shape,
    places: Callable[[list[Element], list[Element]], Sequence[Element]],
) -> Traced:
    """Record elements of a value at computed places, which must be in bounds.

    Args:
        operands: traced integers that broadcast to the shape.
        places: the place along each axis of the value, by the position in the result and by the
            elements of the operands.
    """
    source, axes = value.tensor, value.axes
    rank = ir.ShapedType(source.type).rank

    def body(*elements: Element) -> Element:
        indices_of_value = places([position(axis) for axis in range(len(shape))], list(elements))
        indices = [constant(0, INT64)] * rank
        for place, dim in zip(indices_of_value, axes, strict=True):
            if dim is not None:
                indices[dim] = place
        index = ir.IndexType.get()
        values = [arith.IndexCastOp(index, place.to(INT64).value).result for place in indices]
        return Element(tensor.ExtractOp(source, values).result, value.dtype)

    return structured(body, operands, shape, value.dtype)


Values = list[Any]


def counted(
    count: ir.Value, initial: Sequence[ir.Value], body: Callable[[ir.Value, Values], Values]
) -> Values:
    """`scf.for` from 0 to a count: the body makes the carried values new from the old ones."""

    def recorded(at: ir.Value, carried: Values) -> Values:
        with current_trace().region():
            return body(at, carried)

    return loops.counted(0, count, initial, recorded)


def while_holds(
    initial: Sequence[ir.Value],
    condition: Callable[[Values], ir.Value],
    body: Callable[[Values], Values],
) -> Values:
    """`scf.while`: the carried values are made new as long as a condition on them holds."""
    types = [value.type for value in initial]
    loop = scf.WhileOp(types, list(initial))
    before, after = (region.blocks.append(*types) for region in loop.operation.regions)
    with whole_or_none(loop):
        with ir.InsertionPoint(before), current_trace().region():
            values = list(before.arguments)
            scf.ConditionOp(condition(values), values)
        with ir.InsertionPoint(after), current_trace().region():
            scf.YieldOp(body(list(after.arguments)))
    return list(loop.results)


def branch(
    condition: ir.Value,
    types: Sequence[ir.Type],
    then: Callable[[], Values],
    otherwise: Callable[[], Values],
) -> Values:
    """`scf.if` of two branches that give values of these types."""
    choice = scf.IfOp(condition, list(types), has_else=True)
    with whole_or_none(choice):
        for region, make in zip(choice.operation.regions, (then, otherwise), strict=True):
            with ir.InsertionPoint(region.blocks[0]), current_trace().region():
                scf.YieldOp(make())
    return list(choice.results)


def as_index(value: ir.Value) -> ir.Value:
    """Return a signed integer as an index."""
    result: ir.Value = arith.IndexCastOp(ir.IndexType.get(), value).result
    return result
