"""Sums and products along an axis, each place with all before it: loops that carry the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.structured.utils.constants import integer_constant
from linalg_ext.tracing.axes import normal_axis
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_traced, unwritten
from linalg_ext.tracing.elements import Element, apply, as_dtype
from linalg_ext.tracing.emission import pointwise
from linalg_ext.tracing.reductions import folded, result_dtype
from linalg_ext.tracing.regions import Values, counted
from linalg_ext.tracing.shaping import ravel
from linalg_ext.tracing.sizes import Shape
from linalg_ext.tracing.slicing import Part, extracted, inserted, whole
from linalg_ext.tracing.trace import at_users_line
from linalg_ext.tracing.traced import Traced, current_trace, xp
from linalg_ext.tracing.unsupported import refuse, refuse_out


def scanned(name: str, function: str, value: Any, axis: Any, dtype: Any = None) -> Traced:
    """A value accumulated along an axis by a function of scalar expressions."""
    traced = ravel(value) if axis is None else as_traced(value)
    place = 0 if axis is None else normal_axis(axis, traced.ndim, name)
    wanted = as_dtype(dtype) if dtype is not None else result_dtype(function, traced.dtype)
    size = traced.shape[place]
    is_empty = isinstance(size, int) and size == 0
    if place == traced.ndim - 1 and not is_empty:
        return _rows(function, traced, wanted)
    given = cast_to(traced, wanted)
    given = Traced(given.value, wanted, given.shape)
    if is_empty:
        return given
    return _planes(function, given, place)


def accumulate(ufunc: Any, value: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Traced:
    """`ufunc.accumulate`."""
    function, value = folded(ufunc, "accumulate", value, out)
    return scanned(ufunc.__name__, function, value, axis, dtype)


def _rows(function: str, value: Traced, wanted: np.dtype[Any]) -> Traced:
    """Along the last axis: element by element, the sum so far in a register.

    Elements are cast where they are read: an array of the wider ones would be written for it alone.
    """
    trace = current_trace([value])
    source, shape = value.value, value.shape
    with at_users_line():
        counts = [trace.value(size) for size in shape]
        zero = integer_constant(ir.IndexType.get(), 0)
        one = integer_constant(ir.IndexType.get(), 1)
        target = unwritten(shape, wanted).value

        def element(place: list[ir.Value]) -> Element:
            return Element(tensor.ExtractOp(source, place).result, value.dtype).to(wanted)

        def row(places: list[ir.Value], target: ir.Value) -> ir.Value:
            first = element([*places, zero]).value
            target = tensor.InsertOp(first, target, [*places, zero]).result

            def step(at: ir.Value, carried: Values) -> Values:
                so_far, target = carried
                place = [*places, arith.AddIOp(at, one).result]
                total = apply(function, Element(so_far, wanted), element(place)).value
                return [total, tensor.InsertOp(total, target, place).result]

            rest = arith.SubIOp(counts[-1], one).result
            found: ir.Value = counted(rest, [first, target], step)[1]
            return found

        def nest(places: list[ir.Value], target: ir.Value) -> ir.Value:
            if len(places) == len(shape) - 1:
                return row(places, target)

            def outer(at: ir.Value, carried: Values) -> Values:
                return [nest([*places, at], carried[0])]

            found: ir.Value = counted(counts[len(places)], [target], outer)[0]
            return found

        result = nest([], target)
    return Traced(result, wanted, shape)


def _planes(function: str, value: Traced, axis: int) -> Traced:
    """Along another axis: whole planes, each from the one before."""
    trace = current_trace([value])
    dtype = value.dtype
    plane: Shape = tuple(1 if n == axis else size for n, size in enumerate(value.shape))

    def parts(at: Any) -> list[Part]:
        found = whole(plane)
        found[axis] = Part(at, 1)
        return found

    first = extracted(value, parts(0))
    start = inserted(first, unwritten(value.shape, dtype), parts(0))

    def step(at: ir.Value, carried: Values) -> Values:
        so_far, target = (
            Traced(x, dtype, shape) for x, shape in zip(carried, (plane, value.shape), strict=True)
        )
        one = integer_constant(ir.IndexType.get(), 1)
        place = arith.AddIOp(at, one).result
        given = extracted(value, parts(place))
        total = pointwise("scan", lambda x, y: apply(function, x, y), [so_far, given], dtype)
        return [total.value, inserted(total, target, parts(place)).value]

    with at_users_line():
        rest = trace.value(value.shape[axis] - 1)
        results = counted(rest, [first.value, start.value], step)
    return Traced(results[1], dtype, value.shape)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Traced:
    """`numpy.cumsum`."""
    return _plain("cumsum", "add", a, axis, dtype, out)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Traced:
    """`numpy.cumprod`."""
    return _plain("cumprod", "mul", a, axis, dtype, out)


def _plain(name: str, function: str, a: Any, axis: Any, dtype: Any, out: Any) -> Traced:
    refuse_out(name, out)
    return scanned(name, function, a, axis, dtype)


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Traced:
    """`numpy.cumulative_sum`."""
    place = _axis_of_row("cumulative_sum", x, axis)
    return _with_start(cumsum(x, place, dtype, out), place, include_initial, 0)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Traced:
    """`numpy.cumulative_prod`."""
    place = _axis_of_row("cumulative_prod", x, axis)
    return _with_start(cumprod(x, place, dtype, out), place, include_initial, 1)


def _axis_of_row(name: str, x: Any, axis: Any) -> Any:
    """The axis that is meant, which goes without saying for a row alone."""
    if axis is None and as_traced(x).ndim > 1:
        raise ArgumentError(
            f"{name} of an array of rank {as_traced(x).ndim}",
            where=caller_location(),
            hint="give axis=",
        )
    return 0 if axis is None else axis


def _with_start(value: Traced, axis: Any, is_wanted: bool, number: int) -> Traced:
    if not is_wanted:
        return value
    place = normal_axis(axis, value.ndim, "cumulative")
    widths = [(int(n == place), 0) for n in range(value.ndim)]
    return xp.pad(value, widths, constant_values=number)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Traced:
    """`numpy.diff`."""
    unset = np._NoValue
    if prepend not in (None, unset) or append not in (None, unset):
        refuse("numpy.diff with prepend= or append=", "use np.concatenate first")
    value = as_traced(a)
    before = (slice(None),) * normal_axis(axis, value.ndim, "diff")
    for _ in range(n):
        later, earlier = value[(*before, slice(1, None))], value[(*before, slice(None, -1))]
        value = later != earlier if value.dtype == np.bool_ else later - earlier
    return value
