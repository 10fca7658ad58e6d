"""Arrays and numbers as traced values, constants of the function; dtypes and casts as NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.definition import calls
from linalg_ext.errors import ArgumentError, DTypeError, caller_location, kind_of
from linalg_ext.runtime.dlpack import from_dlpack, is_exported
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.tracing.values.elements import (
    INT64,
    Element,
    as_dtype,
    constant,
    element_type,
    of_index,
    position,
    select,
)
from linalg_ext.tracing.values.emission import full, structured
from linalg_ext.tracing.values.sizes import Shape, Size
from linalg_ext.tracing.values.tensor_ops import empty
from linalg_ext.tracing.values.trace import at_users_line
from linalg_ext.tracing.values.traced import Number, Traced, current_trace, xp
from linalg_ext.utils.hooks import is_dask

SMALL = 64
"""Elements of a constant that is written down as it is, whatever it holds."""

Array = np.ndarray[Any, Any]


def as_traced(value: Any, dtype: DType | None = None) -> Traced:
    """Return a traced value as it is; an array or a number as a constant of the function.

    Args:
        dtype: for a Python number, the dtype that it takes.

    Raises:
        DTypeError: MLIR has no such element type, or a number does not fit the dtype.
    """
    trace = current_trace((value,))
    if isinstance(value, Traced):
        return value
    if isinstance(value, Size):
        with at_users_line():
            return of_element(of_index(trace.value(value)), weak=int)
    if holds_traced(value):
        return xp.stack(arrays_of(*value))
    array = as_constant(value, dtype)
    with at_users_line():
        if array.ndim == 0:
            return of_element(constant(array.item(), array.dtype))
        formula = _computed(array)
        return _written(array) if formula is None else formula


def of_element(element: Element, *, weak: type | None = None) -> Traced:
    """Return an element as a value of rank 0."""
    kind = ir.RankedTensorType.get([], element.value.type)
    tensor_value = tensor.FromElementsOp(kind, [element.value]).result
    return Traced(tensor_value, element.dtype, (), weak=weak)


def holds_traced(value: Any) -> bool:
    """Return True for a list or a tuple, nested or not, with a traced value in it."""
    return isinstance(value, list | tuple) and any(
        isinstance(item, Traced | Size) or holds_traced(item) for item in value
    )


def as_constant(value: Any, dtype: DType | None = None) -> Array:
    """Return an array of a value that is not traced.

    Raises:
        ArgumentError, DTypeError: it cannot be traced.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            "a masked array cannot be a constant of a traced function",
            where=caller_location(),
            hint="fill it first: array.filled(value)",
        )
    refuse_matrix(value, "a constant of a traced function")
    if is_dask(value):
        raise ArgumentError(
            "a dask array cannot be a constant of a traced function",
            where=caller_location(),
            hint="make it an argument; or compute it first: x.compute()",
        )
    is_number = isinstance(value, bool | int | float | complex) and not isinstance(
        value, np.generic
    )
    try:
        if is_exported(value):
            value = from_dlpack(value, "a constant of a traced function")
        array = np.asarray(value, dtype if is_number else None)
        by_dtype(array.dtype)
    except (OverflowError, TypeError, ValueError) as error:
        if isinstance(error, DTypeError):
            error.what = f"{kind_of(value)} cannot be traced: {error.what}"
            error.where = caller_location()
            raise
        if not is_number:
            raise
        raise DTypeError(
            f"{value} does not fit the dtype {dtype} that it meets",
            where=caller_location(),
            hint="give it a dtype of its own, as in np.int64(...)",
            notes=[str(error)],
        ) from None
    return array


def refuse_matrix(value: Any, name: str) -> None:
    """Refuse a `numpy.matrix`, whose `*` is another one than an array's."""
    if isinstance(value, np.matrix):
        raise ArgumentError(
            f"{name} is a numpy.matrix, whose operators mean something else than an array's",
            where=caller_location(),
            hint="pass np.asarray(x), and write x @ y for a product of matrices",
        )


def _written(array: Array) -> Traced:
    if by_dtype(array.dtype).width % 8 and array.dtype != np.bool_:
        raise DTypeError(
            f"an array of {array.dtype} cannot be a constant of a traced function",
            where=caller_location(),
            hint="pass it as an argument of the function",
        )
    kind = ir.RankedTensorType.get(array.shape, element_type(array.dtype))
    # As bytes: the bindings know the buffers of NumPy's own dtypes only.
    content = np.ascontiguousarray(array).view(np.uint8).data
    return Traced(arith.constant(kind, ir.DenseElementsAttr.get(content, type=kind)), array.dtype)


def _computed(array: Array) -> Traced | None:
    """Return a large array by a formula: one number, a range, two sides of a diagonal.

    The results of `np.zeros`, `np.arange` and `np.tri` are then made where they are used, and fuse.
    """
    if array.size <= SMALL or array.dtype.kind not in "biuf":
        return None
    flat = array.reshape(-1)
    if (array == flat[0]).all() and not (array.dtype.kind == "f" and flat[0] == 0):
        return full(array.shape, flat[0].item(), array.dtype)
    if array.dtype.kind == "f" and not flat.view(f"u{array.itemsize}").any():
        return full(array.shape, 0.0, array.dtype)
    return _range(array) if array.dtype.kind in "iu" else _triangle(array)


def _range(array: Array) -> Traced | None:
    """Return integers that grow evenly along each axis."""
    start = int(array.flat[0])
    steps = []
    for axis, size in enumerate(array.shape):
        second = tuple(int(axis == other and size > 1) for other in range(array.ndim))
        steps.append(int(array[second]) - start)
    limit = abs(start) + sum(abs(s) * n for s, n in zip(steps, array.shape, strict=True))
    if limit >= 2**62:
        return None
    places = np.ogrid[tuple(map(slice, array.shape))]
    grid = sum((step * place for step, place in zip(steps, places, strict=True)), start)
    if not np.array_equal(grid, array):
        return _triangle(array)
    return affine(array.shape, start, steps, array.dtype)


def affine(shape: Shape, start: int, steps: list[int], dtype: DType) -> Traced:
    """`start + step * position + ...` at each place of a shape."""

    def body() -> Element:
        total = None
        for axis, step in enumerate(steps):
            if step:
                term = position(axis) * step if step != 1 else position(axis)
                total = term if total is None else total + term
        if total is None:
            total = constant(start, INT64)
        elif start:
            total = total + start
        return total.to(dtype)

    return structured(body, [], shape, dtype)


def _triangle(array: Array) -> Traced | None:
    """Return a matrix of one number on one side of a diagonal, and another on the other."""
    if array.ndim != 2 or 1 in array.shape:
        return None
    low, high = array[-1, 0], array[0, -1]
    row = array[0]
    changes = np.flatnonzero(row != low)
    column = np.flatnonzero(array[:, 0] != high)
    if np.isnan(low) or np.isnan(high) or low == high:
        return None
    # The first row shows where the diagonal is, or the first column where it lies below.
    offset = int(changes[0]) - 1 if array[0, 0] == low else -int(column[0])
    if not np.array_equal(
        array, np.where(np.tri(array.shape[0], array.shape[1], offset, bool), low, high)
    ):
        return None
    dtype = array.dtype

    def body() -> Element:
        is_below = position(1) <= position(0) + offset
        return select(is_below, *(constant(x.item(), dtype) for x in (low, high)))

    return structured(body, [], array.shape, dtype)


def unwritten(shape: Shape, dtype: DType) -> Traced:
    """Return a tensor whose elements do not matter yet."""
    with at_users_line():
        return Traced(empty(shape, dtype), dtype, shape)


def is_weak(value: Any) -> bool:
    """Return whether a value is a Python number, which takes the dtype of the array it meets."""
    return (
        isinstance(value, Size)
        or type(value) in (int, float, complex)
        or (isinstance(value, Traced) and value.weak is not None)
    )


def kind_for_numpy(value: Any) -> Any:
    """Return the dtype or the Python type by which NumPy's promotion sees a value."""
    if isinstance(value, Traced):
        return value.weak or value.dtype
    if isinstance(value, Size):
        return int
    if type(value) in (int, float, complex):
        return type(value)
    return as_traced(value).dtype if holds_traced(value) else as_constant(value).dtype


def common_dtype(name: str, values: Sequence[Any]) -> DType:
    """Return the dtype in which values meet, Python numbers weak.

    Raises:
        DTypeError: they have none.
    """
    kinds = [kind_for_numpy(value) for value in values]
    try:
        return calls.common_dtype(
            name, [kind(0) if isinstance(kind, type) else kind for kind in kinds]
        )
    except DTypeError as error:
        error.where = caller_location()
        raise


def cast_to(value: Any, dtype: Any) -> Traced:
    """Return a value cast as by `astype`; itself where it has the dtype."""
    traced, target = as_traced(value), as_dtype(dtype)
    return traced if target == traced.dtype and traced.weak is None else traced.astype(target)


def arrays_of(*values: Any) -> list[Traced]:
    """Traced values of dtypes of their own, as NumPy's `asarray` has them: no number is weak."""
    return [cast_to(value, as_traced(value).dtype) for value in values]


def operand(value: Any, dtype: DType) -> Traced | Number:
    """Return a value as the operand of an element-wise op; numbers are put into its body.

    Raises:
        DTypeError: a Python number does not fit the dtype.
    """
    if isinstance(value, Traced | Size) or holds_traced(value):
        return as_traced(value)
    array = as_constant(value, dtype)
    if array.ndim == 0:
        return Number(array.item(), array.dtype)
    return as_traced(array)
