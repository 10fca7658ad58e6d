"""Reductions and scans: sums, extrema, means, over any axes; each place with all before it.

Scans are by `linalg_ext.scan`. Those of NumPy's reductions that leave NaN out are here, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.definition.initial import neutral_element
from linalg_ext.dialects import linalg_ext as dialect
from linalg_ext.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.functions.arithmetic import compare, extremum
from linalg_ext.tracing.functions.complex_functions import created
from linalg_ext.tracing.functions.shaping import neighbours, ravel, with_axes_of_one
from linalg_ext.tracing.values.axes import normal_axes, normal_axis
from linalg_ext.tracing.values.conversion import (
    arrays_of,
    as_constant,
    as_traced,
    cast_to,
    common_dtype,
    unwritten,
)
from linalg_ext.tracing.values.elements import (
    INT64,
    Element,
    accumulator_dtype,
    apply,
    as_dtype,
    imaginary,
    part_dtype,
    position,
    real,
    select,
)
from linalg_ext.tracing.values.emission import demand, full, pointwise, reduction, shape_text
from linalg_ext.tracing.values.sizes import Shape, product_of, same
from linalg_ext.tracing.values.trace import at_users_line
from linalg_ext.tracing.values.traced import Traced, current_trace, xp
from linalg_ext.tracing.values.unsupported import refuse

UNSET: Any = np._NoValue  # NumPy's value of an argument that was not given

UFUNCS = {
    "add": "add",
    "multiply": "mul",
    "maximum": "max_signed",
    "minimum": "min_signed",
    "logical_and": "and",
    "logical_or": "or",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
}


_EXTREMA = ("max_signed", "min_signed")


def reduced(
    name: str,
    function: str,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = UNSET,
    where: Any = True,
) -> Traced:
    """Record the reduction of a value over axes, with the parameters of NumPy's function `name`.

    Args:
        function: `add`, `mul`, `max_signed`, `min_signed`, `and`, `or`, `xor`.
    """
    traced = as_traced(a)
    axes = normal_axes(axis, traced.ndim, name)
    result = as_dtype(dtype) if dtype is not None else result_dtype(function, traced.dtype)
    compute = accumulator_dtype(result)
    has_start = initial is not UNSET and initial is not None
    if not has_start and function in _EXTREMA:
        refuse_empty(name, traced, axes)
        if where is not True and where is not UNSET:
            raise ArgumentError(
                f"{name} with where= and no number to start from", hint="give initial="
            )
    neutral = _neutral(function, compute)
    if where is not True and where is not UNSET:
        traced = xp.where(where, traced.astype(compute), neutral)
    start = as_constant(initial, compute).item() if has_start else neutral.item()

    def fold(before: Sequence[Element], x: Element) -> list[Element]:
        return [_folded(function, before[0], x.to(compute))]

    (total,) = reduction(fold, traced, axes, [(start, compute)])
    if keepdims is True:
        total = with_axes_of_one(total, axes, traced.ndim)
    return cast_to(total, result)


def _folded(function: str, before: Element, x: Element) -> Element:
    return (extremum if function in _EXTREMA else apply)(function, before, x)


def _neutral(function: str, dtype: DType) -> Any:
    """Return the number that changes no other, as a NumPy scalar."""
    if dtype.kind == "c" and function in _EXTREMA:
        least = -math.inf if function == "max_signed" else math.inf
        return dtype.type(complex(least, least))
    return neutral_element(function, dtype)


def reduce_by(ufunc: Any, value: Any, axis: Any = 0, dtype: Any = None, **options: Any) -> Traced:
    """`ufunc.reduce`."""
    function, value = folded(ufunc, "reduce", value)
    if ufunc.__name__.startswith("logical") and dtype is not None and as_dtype(dtype) != np.bool_:
        raise DTypeError(
            f"numpy.{ufunc.__name__}.reduce with dtype={as_dtype(dtype)}",
            expected="bool, or no dtype",
        )
    return reduced(ufunc.__name__, function, value, axis, dtype, **options)


def folded(ufunc: Any, method: str, value: Any) -> tuple[str, Any]:
    """Return the function that folds values for a ufunc's method, and these in its dtype."""
    name = ufunc.__name__
    function = UFUNCS[name]
    if name.startswith("logical"):
        return function, cast_to(value, bool)
    traced = as_traced(value)
    if name.startswith("bitwise") and traced.dtype.kind not in "iub":
        raise DTypeError(
            f"numpy.{name}.{method} of {traced.dtype}", expected="integers or booleans"
        )
    return function, traced


def _logical(
    name: str, function: str, a: Any, axis: Any = None, keepdims: Any = False, *, where: Any = True
) -> Traced:
    return reduced(name, function, cast_to(a, bool), axis, None, keepdims, where=where)


sum_, prod = partial(reduced, "sum", "add"), partial(reduced, "prod", "mul")
max_, min_ = partial(reduced, "max", "max_signed"), partial(reduced, "min", "min_signed")
any_, all_ = partial(_logical, "any", "or"), partial(_logical, "all", "and")


def mean(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, *, where: Any = True
) -> Traced:
    """`numpy.mean`; of integers in float64, of float16 in float32."""
    traced = as_traced(a)
    result = as_dtype(dtype) if dtype is not None else _mean_dtype(traced.dtype)
    compute = accumulator_dtype(result)
    total = reduced("mean", "add", traced, axis, compute, keepdims, where=where)
    return cast_to(total / _count(traced, axis, where, keepdims), result)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False
) -> Any:
    if weights is None:
        means = mean(a, axis, keepdims=keepdims)
        # The number of elements of each mean.
        count = xp.sum(xp.ones_like(as_traced(a), dtype=means.dtype), axis, keepdims=keepdims)
        return (means, count) if returned else means
    value, factor = as_traced(a), as_traced(weights)
    if not _may_be_same(factor.shape, value.shape):
        factor = _weights_along(factor, value, axis)
    dtype = common_dtype("average", [value, factor])
    if value.dtype.kind in "iub":
        dtype = np.result_type(dtype if dtype.kind == "c" else np.float64, np.float64)
    products = cast_to(value, dtype) * cast_to(factor, dtype)
    weight = np.sum(xp.broadcast_to(cast_to(factor, dtype), value.shape), axis, keepdims=keepdims)
    # NumPy raises a ZeroDivisionError.
    demand(xp.all(weight != 0), "average: weights sum to zero")
    means = np.sum(products, axis, keepdims=keepdims) / weight
    return (means, xp.broadcast_to(weight, means.shape)) if returned else means


def _may_be_same(left: Shape, right: Shape) -> bool:
    return len(left) == len(right) and all(
        same(x, y) is not False for x, y in zip(left, right, strict=True)
    )


def _weights_along(factor: Traced, value: Traced, axis: Any) -> Traced:
    """Return weights that have the axes of a reduction alone, with axes of size 1 between them."""
    call = f"average of shape {shape_text(value.shape)}, weights of {shape_text(factor.shape)}"
    if axis is None:
        raise ArgumentTypeError(call, expected="the same shape, or axis=")
    axes = normal_axes(axis, value.ndim, "average")
    if not _may_be_same(factor.shape, tuple(value.shape[reduced_axis] for reduced_axis in axes)):
        raise ShapeError(call, expected=f"the same shape, or that of the axes {axes}")
    kept_axes = tuple(own_axis for own_axis in range(value.ndim) if own_axis not in axes)
    return xp.expand_dims(xp.transpose(factor, np.argsort(axes).tolist()), kept_axes)


def _var(
    name: str,
    skips_nan: bool,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = UNSET,
    correction: Any = UNSET,
) -> Traced:
    if correction is not UNSET:
        if ddof != 0:
            raise ArgumentError(f"{name} with ddof= and correction=", expected="one of them")
        ddof = correction
    value = as_traced(a)
    if not skips_nan or value.dtype.kind in "iub":
        return _variance(value, axis, dtype, ddof, keepdims, where, mean)
    counted = xp.logical_and(~xp.isnan(value), where)
    # NumPy keeps the squares in the dtype of the values, whatever that of the sums.
    squared = accumulator_dtype(value.dtype)
    numbers = _with(value, 0.0)
    variance = _variance(numbers, axis, dtype, ddof, keepdims, counted, mean, squared)
    # NumPy gives NaN for fewer values than degrees of freedom.
    count = xp.count_nonzero(counted, axis, keepdims=keepdims)
    return xp.where(count <= ddof, variance.dtype.type(np.nan), variance)


var, nanvar = partial(_var, "var or std", False), partial(_var, "nanvar", True)


def _variance(
    a: Any,
    axis: Any,
    dtype: Any,
    ddof: Any,
    keepdims: Any,
    where: Any,
    mean: Any,
    squared: DType | None = None,
) -> Traced:
    """Record a variance, of which the squares are in a dtype; by default in that of the sums."""
    traced = as_traced(a)
    result = as_dtype(dtype) if dtype is not None else _mean_dtype(traced.dtype)
    if result.kind in "iub" or (result.kind == "c") != (traced.dtype.kind == "c"):
        refuse(f"a variance of {traced.dtype} with dtype={result}", "give a dtype of real floats")
    compute = accumulator_dtype(result)
    count = _count(traced, axis, where, keepdims)
    if mean is not UNSET:
        middle = as_traced(mean)
        wide = accumulator_dtype(np.result_type(traced.dtype, middle.dtype))
    else:
        wide = np.result_type(traced.dtype, compute)
        whole = reduced("var", "add", traced, axis, compute, True, where=where)
        middle = whole / _count(traced, axis, where, True)
    # As NumPy does: only the sums are in a narrower dtype that was asked for.
    apart = cast_to(traced.astype(wide) - middle, squared or wide)
    squares = xp.real(apart * xp.conjugate(apart)) if compute.kind == "c" else apart * apart
    total = reduced("var", "add", squares, axis, part_dtype(compute), keepdims, where=where)
    if dtype is None:
        result = part_dtype(result)
    else:
        # NumPy divides complex numbers where that dtype is asked for.
        total = cast_to(total, compute)
    if isinstance(count, int):
        # NumPy divides by no less than 0, which gives inf and NaN.
        return cast_to(total / max(count - ddof, 0), result)
    return cast_to(total / xp.maximum(count - ddof, 0), result)


def std(a: Any, *arguments: Any, **keywords: Any) -> Traced:
    return xp.sqrt(var(a, *arguments, **keywords))


def _place(
    name: str,
    function: str,
    is_better: Callable[[Element, Element], Element],
    a: Any,
    axis: Any = None,
    *,
    keepdims: Any = False,
) -> Traced:
    """Return the first place of the largest or smallest element, or of the first NaN."""
    whole = as_traced(a)
    traced = xp.reshape(whole, -1) if axis is None else whole
    along = 0 if axis is None else normal_axis(axis, traced.ndim, name)
    refuse_empty(name, traced, (along,))
    if traced.dtype == np.bool_:
        traced = cast_to(traced, np.uint8)
    worst = _neutral(function, traced.dtype).item()

    def fold(before: Sequence[Element], x: Element) -> list[Element]:
        best, place = before
        better = is_better(x, best)
        if x.dtype.kind not in "iub":
            better = better | (x.is_nan() & ~best.is_nan())
        return [select(better, x, best), select(better, position(along), place)]

    _, place = reduction(fold, traced, (along,), [(worst, traced.dtype), (0, INT64)])
    if keepdims is True:
        axes = range(whole.ndim) if axis is None else (along,)
        return with_axes_of_one(place, axes, whole.ndim)
    return place


argmax = partial(_place, "argmax", "max_signed", partial(compare, "gt"))
argmin = partial(_place, "argmin", "min_signed", partial(compare, "lt"))


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Traced:
    return reduced("count_nonzero", "add", cast_to(a, bool), axis, np.int64, keepdims)


def ptp(a: Any, axis: Any = None, keepdims: Any = False) -> Traced:
    """`numpy.ptp`: the largest minus the smallest."""
    return xp.subtract(max_(a, axis, keepdims=keepdims), min_(a, axis, keepdims=keepdims))


def _count(traced: Traced, axis: Any, where: Any, keepdims: Any) -> Any:
    if where is not True and where is not UNSET:
        mask = xp.broadcast_to(as_traced(where), traced.shape)
        return reduced("count", "add", mask, axis, np.int64, keepdims)
    axes = normal_axes(axis, traced.ndim, "mean")
    return product_of(traced.shape[reduced_axis] for reduced_axis in axes)


def refuse_empty(name: str, value: Traced, axes: Sequence[int]) -> None:
    """Refuse an axis without elements; the call checks one of open size."""
    trace = current_trace([value])
    call = f"{name} of no elements: the shape is {shape_text(value.shape)}"
    if not all(trace.at_least(value.shape[axis], 1, call) for axis in axes):
        raise ShapeError(call, hint="give initial=" if name in ("max", "min") else None)


def result_dtype(function: str, dtype: DType) -> DType:
    """Return the dtype of a reduction: 64 bits for sums and products of narrow integers."""
    if function in ("add", "mul") and dtype.kind in "iub" and dtype.itemsize < 8:
        return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    return dtype


def _mean_dtype(dtype: DType) -> DType:
    return np.dtype(np.float64) if dtype.kind in "iub" else dtype


def scanned(name: str, function: str, a: Any, axis: Any = None, dtype: Any = None) -> Traced:
    """Return a value accumulated along an axis by a function of scalar expressions."""
    traced = ravel(a) if axis is None else as_traced(a)
    place = 0 if axis is None else normal_axis(axis, traced.ndim, name)
    target = as_dtype(dtype) if dtype is not None else result_dtype(function, traced.dtype)
    carried, start = _carried(function, traced.dtype, target, is_row=place == traced.ndim - 1)
    if start is None:
        traced = Traced(cast_to(traced, target).value, target, traced.shape)
    current_trace([traced])

    def combine(so_far: ir.Value, new: ir.Value) -> ir.Value:
        # Cast where it is read: an array of wider elements would be written for it alone.
        element = Element(new, traced.dtype).to(target).to(carried)
        return _folded(function, Element(so_far, carried), element).value

    rest = (*traced.shape[:place], *traced.shape[place + 1 :])
    with at_users_line():
        (result, *_) = dialect.scan(
            traced.value,
            combine=combine,
            dimension=place,
            initial=None if start is None else full(rest, start, carried).value,
            outs=unwritten(traced.shape, target).value,
        )
    return Traced(result, target, traced.shape)


def _carried(
    function: str, source: DType, target: DType, *, is_row: bool
) -> tuple[DType, float | None]:
    """Return the carried dtype, and the number to begin with; None for the first element."""
    if function == "add" and target == np.float32 and not is_row:
        return np.dtype(np.float64), -0.0  # rows are added up in blocks, which takes half the time
    if source == target or function not in ("add", "mul") or target.kind not in "iuf":
        return target, None
    is_zero = function == "add"
    return target, -0.0 if is_zero and target.kind == "f" else 1 - is_zero


def accumulate(ufunc: Any, value: Any, axis: Any = 0, dtype: Any = None) -> Traced:
    """`ufunc.accumulate`."""
    function, value = folded(ufunc, "accumulate", value)
    return scanned(ufunc.__name__, function, value, axis, dtype)


cumsum, cumprod = partial(scanned, "cumsum", "add"), partial(scanned, "cumprod", "mul")


def _cumulative(name: str, function: str, start: int) -> Callable[..., Traced]:
    def accumulate(
        x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
    ) -> Traced:
        rank = as_traced(x).ndim
        if axis is None and rank > 1:
            raise ArgumentError(f"{name} of an array of rank {rank}", hint="give axis=")
        along = 0 if axis is None else axis
        value = scanned(name, function, x, along, dtype)
        if not include_initial:
            return value
        widths = [(int(n == along % rank), 0) for n in range(rank)]
        return xp.pad(value, widths, constant_values=start)

    return accumulate


cumulative_sum = _cumulative("cumulative_sum", "add", 0)
cumulative_prod = _cumulative("cumulative_prod", "mul", 1)


def _side(value: Any, shape: Shape) -> list[Traced]:
    """Return the array beside another one; a number is stretched to one place along the axis."""
    if value is None or value is np._NoValue:
        return []
    (array,) = arrays_of(value)
    return [array if array.ndim else xp.broadcast_to(array, shape)]


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Traced:
    value = as_traced(a)
    place = normal_axis(axis, value.ndim, "diff")
    side_shape = (*value.shape[:place], 1, *value.shape[place + 1 :])
    first, last = (_side(x, side_shape) if n else [] for x in (prepend, append))
    if first or last:
        value = xp.concatenate([*first, value, *last], place)
    for _ in range(n):
        later, earlier = neighbours(value, place)
        value = later != earlier if value.dtype == np.bool_ else later - earlier
    return value


def _with(a: Any, number: float) -> Traced:
    """Return a value with a number in the place of NaN."""
    value = as_traced(a)
    if value.dtype.kind in "iub":
        return value
    return xp.where(xp.isnan(value), value.dtype.type(number), value)


def _nan_free(name: str, number: float, a: Any, *arguments: Any, **keywords: Any) -> Any:
    """`numpy.nansum` and its like: with a number in the place of NaN."""
    return getattr(np, name)(_with(a, number), *arguments, **keywords)


nansum, nanprod = partial(_nan_free, "sum", 0), partial(_nan_free, "prod", 1)
nancumsum, nancumprod = partial(_nan_free, "cumsum", 0), partial(_nan_free, "cumprod", 1)
# 0 where all are NaN.
nanargmax = partial(_nan_free, "argmax", -np.inf)
nanargmin = partial(_nan_free, "argmin", np.inf)


def _nan_extremum(
    name: str, number: float, a: Any, axis: Any = None, keepdims: Any = False, **keywords: Any
) -> Any:
    function = getattr(np, name)
    value = as_traced(a)
    number_alone = function(_with(value, number), axis=axis, keepdims=keepdims, **keywords)
    if value.dtype.kind in "iub" or keywords:
        return number_alone
    # NaN is left where there is nothing else: of complex numbers the first.
    is_nan = xp.all(xp.isnan(value), axis=axis, keepdims=keepdims)
    lost: Any = value.dtype.type(np.nan)
    if value.dtype.kind == "c":
        lost = function(value, axis=axis, keepdims=keepdims)
    return xp.where(is_nan, lost, number_alone)


nanmax, nanmin = partial(_nan_extremum, "max", -np.inf), partial(_nan_extremum, "min", np.inf)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    value = as_traced(a)
    if dtype is not None and value.dtype.kind not in "iub" and as_dtype(dtype).kind in "iub":
        refuse(f"numpy.nanmean of {value.dtype} with dtype={dtype}", "give a dtype of floats")
    counted = xp.logical_and(~xp.isnan(value), where)
    return mean(value, axis, dtype, keepdims, where=counted)


def nanstd(a: Any, *arguments: Any, **keywords: Any) -> Any:
    return xp.sqrt(nanvar(a, *arguments, **keywords))


def _fitting(number: Any, dtype: DType) -> Traced:
    value = as_traced(number)
    if not np.can_cast(value.dtype, dtype, "same_kind"):
        raise DTypeError(
            f"nan_to_num: {value.dtype} in the place of {dtype}", hint="cast it with .astype(...)"
        )
    return cast_to(value, dtype)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """`numpy.nan_to_num`: of complex values in each part."""
    value = as_traced(x)
    if value.dtype.kind in "iub":
        return value
    part = part_dtype(value.dtype)
    limits: Any = ml_dtypes.finfo(part)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    numbers = [_fitting(number, part) for number in (nan, high, low)]

    def replaced(x: Element, *numbers: Element) -> Element:
        nan, high, low = numbers
        finite = select(x.is_nan(), nan, x)
        finite = select(x.equals(math.inf), high, finite)
        return select(x.equals(-math.inf), low, finite)

    def body(x: Element, *numbers: Element) -> Element:
        if x.dtype.kind == "c":
            return created(replaced(real(x), *numbers), replaced(imaginary(x), *numbers))
        return replaced(x, *numbers)

    replacement = pointwise("nan_to_num", body, [value, *numbers], value.dtype)
    return xp.broadcast_to(replacement, value.shape)
