"""Sums and products along an axis, each place with all before it: by `linalg_ext.scan`."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.dialects import linalg_ext as dialect
from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.axes import normal_axis
from linalg_ext.tracing.casting import arrays_of, cast_to
from linalg_ext.tracing.constants import as_traced, unwritten
from linalg_ext.tracing.elements import Element, apply, as_dtype
from linalg_ext.tracing.emission import full
from linalg_ext.tracing.reductions import folded, result_dtype
from linalg_ext.tracing.shaping import ravel
from linalg_ext.tracing.sizes import Shape
from linalg_ext.tracing.trace import at_users_line
from linalg_ext.tracing.traced import Traced, current_trace, xp


def scanned(name: str, function: str, value: Any, axis: Any, dtype: Any = None) -> Traced:
    """A value accumulated along an axis by a function of scalar expressions."""
    traced = ravel(value) if axis is None else as_traced(value)
    place = 0 if axis is None else normal_axis(axis, traced.ndim, name)
    wanted = as_dtype(dtype) if dtype is not None else result_dtype(function, traced.dtype)
    carried, start = _carried(function, traced.dtype, wanted, is_row=place == traced.ndim - 1)
    if start is None:
        traced = Traced(cast_to(traced, wanted).value, wanted, traced.shape)
    current_trace([traced])

    def combine(so_far: ir.Value, new: ir.Value) -> ir.Value:
        # Cast where it is read: an array of wider elements would be written for it alone.
        element = Element(new, traced.dtype).to(wanted).to(carried)
        return apply(function, Element(so_far, carried), element).value

    rest = (*traced.shape[:place], *traced.shape[place + 1 :])
    with at_users_line():
        (result, *_) = dialect.scan(
            traced.value,
            combine=combine,
            dimension=place,
            initial=None if start is None else full(rest, start, carried).value,
            outs=unwritten(traced.shape, wanted).value,
        )
    return Traced(result, wanted, traced.shape)


def _carried(
    function: str, given: DType, wanted: DType, *, is_row: bool
) -> tuple[DType, float | None]:
    """The dtype that is carried, and the number to begin with; None for the first element."""
    if function == "add" and wanted == np.float32 and not is_row:
        return np.dtype(np.float64), -0.0  # rows are added up in blocks, which takes half the time
    if given == wanted or function not in ("add", "mul") or wanted.kind not in "iuf":
        return wanted, None
    is_zero = function == "add"
    return wanted, -0.0 if is_zero and wanted.kind == "f" else 1 - is_zero


def accumulate(ufunc: Any, value: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Traced:
    """`ufunc.accumulate`."""
    function, value = folded(ufunc, "accumulate", value)
    return scanned(ufunc.__name__, function, value, axis, dtype)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Traced:
    """`numpy.cumsum`."""
    return scanned("cumsum", "add", a, axis, dtype)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Traced:
    """`numpy.cumprod`."""
    return scanned("cumprod", "mul", a, axis, dtype)


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
    return _with_start(cumsum(x, place, dtype), place, include_initial, 0)


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
    return _with_start(cumprod(x, place, dtype), place, include_initial, 1)


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


def _side(value: Any, shape: Shape) -> list[Traced]:
    """The array before or behind another one: a number is stretched to one place along the axis."""
    if value is None or value is np._NoValue:
        return []
    (array,) = arrays_of(value)
    return [array if array.ndim else xp.broadcast_to(array, shape)]


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Traced:
    """`numpy.diff`."""
    value = as_traced(a)
    place = normal_axis(axis, value.ndim, "diff")
    one = (*value.shape[:place], 1, *value.shape[place + 1 :])
    first, last = (_side(x, one) if n else [] for x in (prepend, append))
    if first or last:
        value = xp.concatenate([*first, value, *last], place)
    before = (slice(None),) * place
    for _ in range(n):
        later, earlier = value[(*before, slice(1, None))], value[(*before, slice(None, -1))]
        value = later != earlier if value.dtype == np.bool_ else later - earlier
    return value
