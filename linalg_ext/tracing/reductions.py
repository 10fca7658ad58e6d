"""Reductions: sums, extrema and what is made of them, over any axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linalg_ext.definition.initial import neutral_element
from linalg_ext.errors import ArgumentError, DTypeError, ShapeError, caller_location
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.axes import normal_axes, normal_axis
from linalg_ext.tracing.casting import cast_to
from linalg_ext.tracing.constants import as_constant, as_traced
from linalg_ext.tracing.elements import INT64, Element, apply, as_dtype, select
from linalg_ext.tracing.emission import reduction
from linalg_ext.tracing.shaping import with_axes_of_one
from linalg_ext.tracing.sizes import AnySize
from linalg_ext.tracing.suggestions import refuse_function
from linalg_ext.tracing.traced import Traced, xp
from linalg_ext.tracing.unsupported import refuse

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


def reduced(
    name: str,
    function: str,
    value: Any,
    axis: Any = None,
    keepdims: Any = False,
    *,
    dtype: Any = None,
    initial: Any = UNSET,
    where: Any = True,
) -> Traced:
    """A value reduced by a function of scalar expressions, over axes.

    Args:
        name: NumPy's, for errors.
        function: `add`, `mul`, `max_signed`, `min_signed`, `and`, `or`, `xor`.
        value: the operand.
        axis: one axis, several, or None for all.
        keepdims: True where these stay, of size 1.
        dtype: of the result.
        initial: the start value.
        where: the mask of the elements that count.
    """
    traced = as_traced(value)
    axes = normal_axes(axis, traced.ndim, name)
    result = as_dtype(dtype) if dtype is not None else result_dtype(function, traced.dtype)
    compute = _compute_dtype(result)
    has_start = initial is not UNSET and initial is not None
    if not has_start and function in ("max_signed", "min_signed"):
        _refuse_empty(name, traced, axes)
        if where is not True and where is not UNSET:
            raise ArgumentError(
                f"{name} with where= and no number to start from",
                where=caller_location(),
                hint="give initial=",
            )
    neutral = neutral_element(function, compute)
    if where is not True and where is not UNSET:
        traced = xp.where(where, traced.astype(compute), neutral)
    start = as_constant(initial, compute).item() if has_start else neutral.item()

    def fold(before: Sequence[Element], x: Element) -> list[Element]:
        return [apply(function, before[0], x.to(compute))]

    (total,) = reduction(fold, traced, axes, [(start, compute)])
    if keepdims is True:
        total = with_axes_of_one(total, axes, traced.ndim)
    return cast_to(total, result)


def reduce_by(
    ufunc: Any,
    value: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = UNSET,
    where: Any = True,
) -> Traced:
    """`ufunc.reduce`."""
    function, value = folded(ufunc, "reduce", value)
    if ufunc.__name__.startswith("logical") and dtype is not None and as_dtype(dtype) != np.bool_:
        raise DTypeError(
            f"numpy.{ufunc.__name__}.reduce with dtype={as_dtype(dtype)}",
            where=caller_location(),
            expected="bool, or no dtype",
        )
    return reduced(
        ufunc.__name__,
        function,
        value,
        axis,
        keepdims,
        dtype=dtype,
        initial=initial,
        where=where,
    )


def folded(ufunc: Any, method: str, value: Any) -> tuple[str, Any]:
    """The function that folds the values for a method of a ufunc, and these in a dtype of its."""
    name = ufunc.__name__
    function = UFUNCS.get(name)
    if function is None:
        refuse_function(f"{name}.{method}")
    if name.startswith("logical"):
        return function, cast_to(value, bool)
    traced = as_traced(value)
    if name.startswith("bitwise") and traced.dtype.kind not in "iub":
        raise DTypeError(
            f"numpy.{name}.{method} of {traced.dtype}",
            where=caller_location(),
            expected="integers or booleans",
        )
    return function, traced


def _simple(name: str, function: str) -> Callable[..., Traced]:
    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = UNSET,
        where: Any = True,
    ) -> Traced:
        return reduced(name, function, a, axis, keepdims, dtype=dtype, initial=initial, where=where)

    return reduce


def _extremum(name: str, function: str) -> Callable[..., Traced]:
    def reduce(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = UNSET,
        where: Any = True,
    ) -> Traced:
        return reduced(name, function, a, axis, keepdims, initial=initial, where=where)

    return reduce


def _logical(name: str, function: str) -> Callable[..., Traced]:
    def reduce(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
    ) -> Traced:
        return reduced(name, function, cast_to(a, bool), axis, keepdims, where=where)

    return reduce


sum_, prod = _simple("sum", "add"), _simple("prod", "mul")
max_, min_ = _extremum("max", "max_signed"), _extremum("min", "min_signed")
any_, all_ = _logical("any", "or"), _logical("all", "and")


def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Traced:
    """`numpy.mean`; of integers in float64, of float16 in float32."""
    traced = as_traced(a)
    result = as_dtype(dtype) if dtype is not None else _mean_dtype(traced.dtype)
    compute = _compute_dtype(result)
    total = reduced("mean", "add", traced, axis, keepdims, dtype=compute, where=where)
    return cast_to(total / _count(traced, axis, where, keepdims), result)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = UNSET,
    correction: Any = UNSET,
) -> Traced:
    """`numpy.var`."""
    traced = as_traced(a)
    result = as_dtype(dtype) if dtype is not None else _mean_dtype(traced.dtype)
    if result.kind in "iub" or (result.kind == "c") != (traced.dtype.kind == "c"):
        refuse(f"a variance of {traced.dtype} with dtype={result}", "give a dtype of real floats")
    compute = _compute_dtype(result)
    count = _count(traced, axis, where, keepdims)
    middle = mean
    if middle is UNSET:
        whole = reduced("var", "add", traced, axis, True, dtype=compute, where=where)
        middle = whole / _count(traced, axis, where, True)
    apart = traced.astype(compute) - middle
    squares = xp.real(apart * xp.conjugate(apart)) if compute.kind == "c" else apart * apart
    total = reduced("var", "add", squares, axis, keepdims, where=where)
    taken = ddof if correction is UNSET else correction
    if dtype is None:
        result = _real_dtype(result)
    if isinstance(count, int):
        # NumPy divides by no less than 0, which gives inf and NaN.
        return cast_to(total / max(count - taken, 0), result)
    return cast_to(total / xp.maximum(count - taken, 0), result)


def std(a: Any, *arguments: Any, **keywords: Any) -> Traced:
    """`numpy.std`."""
    spread = var(a, *arguments, **keywords)
    return xp.sqrt(spread)


def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Traced:
    """`numpy.argmax`: the first place of the largest element, or of the first NaN."""
    return _place("argmax", "max_signed", a, axis, keepdims, lambda x, y: x > y)


def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Traced:
    """`numpy.argmin`: the first place of the smallest element, or of the first NaN."""
    return _place("argmin", "min_signed", a, axis, keepdims, lambda x, y: x < y)


def _place(
    name: str,
    function: str,
    value: Any,
    axis: Any,
    keepdims: Any,
    is_better: Callable[[Element, Element], Element],
) -> Traced:
    from linalg_ext.tracing.elements import position

    whole = as_traced(value)
    traced = xp.reshape(whole, -1) if axis is None else whole
    along = 0 if axis is None else normal_axis(axis, traced.ndim, name)
    _refuse_empty(name, traced, (along,))
    if traced.dtype == np.bool_:
        traced = cast_to(traced, np.uint8)
    worst = neutral_element(function, traced.dtype).item()

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


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Traced:
    """`numpy.count_nonzero`."""
    return reduced("count_nonzero", "add", cast_to(a, bool), axis, keepdims, dtype=np.int64)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Traced:
    """`numpy.ptp`: the largest minus the smallest."""
    return xp.subtract(max_(a, axis, keepdims=keepdims), min_(a, axis, keepdims=keepdims))


def _count(traced: Traced, axis: Any, where: Any, keepdims: Any) -> Any:
    """Return the number of elements that each result combines."""
    if where is not True and where is not UNSET:
        mask = xp.broadcast_to(as_traced(where), traced.shape)
        return reduced("count", "add", mask, axis, keepdims, dtype=np.int64)
    count: AnySize = 1
    for each in normal_axes(axis, traced.ndim, "mean"):
        count = count * traced.shape[each]
    return count


def _refuse_empty(name: str, value: Traced, axes: Sequence[int]) -> None:
    if any(isinstance(value.shape[axis], int) and value.shape[axis] == 0 for axis in axes):
        raise ShapeError(
            f"{name} of no elements: the shape is {value.shape}",
            where=caller_location(),
            hint="give initial=" if name in ("max", "min") else None,
        )


def result_dtype(function: str, dtype: DType) -> DType:
    """Sums and products of narrow integers are of 64 bits."""
    if function in ("add", "mul") and dtype.kind in "iub" and dtype.itemsize < 8:
        return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    return dtype


def _compute_dtype(dtype: DType) -> DType:
    """Narrow floats are added up in float32, as NumPy does."""
    narrow = dtype.kind not in "iubc" and dtype.itemsize < 4
    return np.dtype(np.float32) if narrow else dtype


def _mean_dtype(dtype: DType) -> DType:
    return np.dtype(np.float64) if dtype.kind in "iub" else dtype


def _real_dtype(dtype: DType) -> DType:
    return np.zeros(0, dtype).real.dtype if dtype.kind == "c" else dtype
