"""The same elements in another shape or order: reshape, transpose, broadcast, flip, tile, bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, DTypeError, ShapeError, caller_location
from linalg_ext.tracing.values.axes import normal_axes, normal_axis
from linalg_ext.tracing.values.conversion import as_traced, cast_to
from linalg_ext.tracing.values.emission import broadcast_shapes, remapped, shape_text
from linalg_ext.tracing.values.sizes import AnySize, Shape, Size, product_of, same
from linalg_ext.tracing.values.tensor_ops import reshaped_tensor
from linalg_ext.tracing.values.traced import Traced, current_trace, xp
from linalg_ext.tracing.values.unsupported import refuse


def as_shape(shape: Any) -> Shape:
    """Return a shape as a tuple: of one size, of several.

    Raises:
        ArgumentError: a size is neither an integer nor a `Size`.
    """
    listed = shape if isinstance(shape, tuple | list) else (shape,)
    for size in listed:
        if not isinstance(size, Size | int | np.integer) or isinstance(size, bool):
            if isinstance(size, Traced):
                size.__index__()
            raise ArgumentError(
                f"a shape with {size!r}", where=caller_location(), expected="integers"
            )
    return tuple(size if isinstance(size, Size) else int(size) for size in listed)


def reshape(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Traced:
    if order == "F":
        sizes = as_shape(newshape if shape is None else shape)
        return transpose(reshape(transpose(as_traced(a)), sizes[::-1]))
    if order not in ("C", "A", "K"):
        raise ArgumentError(f"reshape with order={order!r}", expected="C, F, A or K")
    traced = as_traced(a)
    extents = list(as_shape(newshape if shape is None else shape))
    total = product_of(traced.shape)
    unknown = [axis for axis, size in enumerate(extents) if same(size, -1)]
    if len(unknown) == 1:
        known = product_of(size for size in extents if not same(size, -1))
        if same(known, 0) is not True:
            extents[unknown[0]] = total // known
    trace = current_trace()
    call = f"reshape of {shape_text(traced.shape)} to {shape_text(as_shape(extents))}"
    if any(isinstance(size, int) and size < 0 for size in extents) or not trace.agree(
        product_of(extents), total, call
    ):
        raise ShapeError(call, expected=f"a shape of {total} elements, one size -1")
    shape = tuple(trace.resolved(size) for size in extents)
    if _is_same(shape, traced.shape):
        return traced
    bare = [size for size in traced.shape if not same(size, 1)]
    if _is_same([size for size in shape if not same(size, 1)], bare):
        without = squeeze(traced, _unit_axes(traced.shape))
        return with_axes_of_one(without, _unit_axes(shape), len(shape))
    tensor = reshaped_tensor(traced.value, traced.shape, shape)
    return Traced(tensor, traced.dtype, shape)


def _unit_axes(shape: Shape) -> tuple[int, ...]:
    return tuple(axis for axis, size in enumerate(shape) if same(size, 1))


def _is_same(left: Sequence[AnySize], right: Sequence[AnySize]) -> bool:
    return len(left) == len(right) and all(
        same(x, y) is True for x, y in zip(left, right, strict=True)
    )


def ravel(a: Any, order: str = "C") -> Traced:
    return reshape(a, (as_traced(a).size,), order)


def transpose(a: Any, axes: Any = None) -> Traced:
    traced = as_traced(a)
    order = tuple(range(traced.ndim))[::-1] if axes is None else axes
    order = normal_axes(tuple(order), traced.ndim, "transpose")
    if len(order) != traced.ndim:
        raise ShapeError(
            f"transpose of an array of rank {traced.ndim} by {tuple(axes)}",
            expected="each axis once",
        )
    return view(traced, [traced.shape[axis] for axis in order], [traced.axes[a] for a in order])


def view(value: Traced, shape: Sequence[AnySize], axes: Sequence[int | None]) -> Traced:
    """Return a view of a value: of the same tensor, read by other axes."""
    return Traced(value.tensor, value.dtype, tuple(shape), axes, weak=value.weak)


def matrix_transpose(x: Any) -> Traced:
    """`numpy.matrix_transpose`: the last two axes exchanged."""
    traced = as_traced(x)
    if traced.ndim < 2:
        raise ShapeError(
            f"matrix_transpose of an array of rank {traced.ndim}", expected="rank 2 or more"
        )
    return swapaxes(traced, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Traced:
    traced = as_traced(a)
    order = list(range(traced.ndim))
    first, second = (normal_axis(axis, traced.ndim, "swapaxes") for axis in (axis1, axis2))
    order[first], order[second] = second, first
    return transpose(traced, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Traced:
    traced = as_traced(a)
    sources = normal_axes(source, traced.ndim, "moveaxis")
    targets = normal_axes(destination, traced.ndim, "moveaxis")
    if len(sources) != len(targets):
        raise ShapeError(f"moveaxis of {len(sources)} axes to {len(targets)} places")
    order = [axis for axis in range(traced.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return transpose(traced, order)


def expand_dims(a: Any, axis: Any) -> Traced:
    traced = as_traced(a)
    count = len(axis) if isinstance(axis, tuple | list) else 1
    axes = normal_axes(axis, traced.ndim + count, "expand_dims")
    return with_axes_of_one(traced, axes, traced.ndim + count)


def squeeze(a: Any, axis: Any = None) -> Traced:
    traced = as_traced(a)
    if axis is None:
        axes = tuple(a for a, size in enumerate(traced.shape) if _is_one_at_hand(size))
    else:
        axes = normal_axes(axis, traced.ndim, "squeeze")
        for own_axis in axes:
            call = f"squeeze of axis {own_axis}, of size {traced.shape[own_axis]}"
            if not current_trace().agree(traced.shape[own_axis], 1, call):
                raise ShapeError(call, expected="an axis of size 1")
    kept_axes = [axis for axis in range(traced.ndim) if axis not in axes]
    return view(traced, [traced.shape[a] for a in kept_axes], [traced.axes[a] for a in kept_axes])


def _is_one_at_hand(size: AnySize) -> bool:
    """Return whether a size is 1; of one that is computed from open ones the call at hand tells."""
    is_computed = isinstance(size, Size) and size.name is None
    known = same(size, 1)
    return bool(current_trace().compares(size, "==", 1) if is_computed and known is None else known)


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Traced:
    traced = as_traced(array)
    sizes = list(as_shape(shape))
    offset = len(sizes) - traced.ndim
    trace = current_trace()
    axes: list[int | None] = [None] * len(sizes)
    call = f"broadcast of {shape_text(traced.shape)} to {shape_text(tuple(sizes))}"
    if offset < 0:
        raise ShapeError(call, expected="no dimension to be dropped")
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise ShapeError(call, expected="no negative size")
    for axis, (size, dim) in enumerate(zip(traced.shape, traced.axes, strict=True)):
        target = sizes[offset + axis]
        if same(size, 1) and same(target, 1) is not True:
            continue
        if not trace.agree(size, target, call):
            raise ShapeError(call, expected="sizes that are equal, or 1 on the left")
        axes[offset + axis] = dim
        if isinstance(size, int):
            sizes[offset + axis] = size  # the known one of the two
    return view(traced, sizes, axes)


def flip(m: Any, axis: Any = None) -> Traced:
    traced = as_traced(m)
    axes = normal_axes(axis, traced.ndim, "flip")
    axes = tuple(axis for axis in axes if same(traced.shape[axis], 1) is not True)
    return remapped(traced, axes) if axes else traced


def roll(a: Any, shift: Any, axis: Any = None) -> Traced:
    """`numpy.roll`, by a number of places that is known."""
    traced = as_traced(a)
    if axis is None:
        return reshape(roll(ravel(traced), shift, 0), traced.shape)
    axes = normal_axes(axis, traced.ndim, "roll") if not hasattr(axis, "__index__") else (axis,)
    shifts = shift if isinstance(shift, tuple | list) else (shift,) * len(axes)
    for own_axis, by in zip(axes, shifts, strict=len(shifts) == len(axes)):
        place = normal_axis(own_axis, traced.ndim, "roll")
        size = traced.shape[place]
        if same(size, 0):
            continue
        count = by.__index__()
        # Sizes are not negative: no negative number is divided by one.
        first = -count % size if isinstance(size, int) or count < 0 else size - count % size
        if count:
            before = (slice(None),) * place
            parts = (traced[(*before, slice(first, None))], traced[(*before, slice(0, first))])
            traced = xp.concatenate(parts, place)
    return traced


def tile(A: Any, reps: Any) -> Traced:
    traced = as_traced(A)
    counts = as_shape(reps)
    rank = max(traced.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    sizes = (1,) * (rank - traced.ndim) + traced.shape
    apart = reshape(traced, [extent for size in sizes for extent in (1, size)])
    wide = broadcast_to(apart, tuple(x for pair in zip(counts, sizes, strict=True) for x in pair))
    return reshape(wide, tuple(c * s for c, s in zip(counts, sizes, strict=True)))


def repeat(a: Any, repeats: Any, axis: Any = None) -> Traced:
    """`numpy.repeat`, each element as often."""
    traced = ravel(a) if axis is None else as_traced(a)
    place = 0 if axis is None else normal_axis(axis, traced.ndim, "repeat")
    sizes = list(traced.shape)
    if not isinstance(repeats, int | np.integer | Size):
        if isinstance(repeats, Traced):
            refuse(
                "repeat by counts that are traced", "the shape of the result depends on the values"
            )
        counts = np.asarray(repeats)
        call = f"repeat of axis {place}, of size {sizes[place]}, by {counts.size} counts"
        is_whole = counts.dtype.kind in "iub" and counts.ndim < 2 and not (counts < 0).any()
        is_for_all = is_whole and counts.size == 1
        if not is_for_all and not (
            is_whole and current_trace().agree(sizes[place], counts.size, call)
        ):
            raise ArgumentError(call, expected="one count, or as many, none of them negative")
        if not is_for_all:
            return xp.take(traced, np.repeat(np.arange(counts.size), counts), axis=place)
        repeats = int(counts.reshape(-1)[0])  # one count is that of every element
    wide = broadcast_to(
        expand_dims(traced, place + 1), (*sizes[: place + 1], repeats, *sizes[place + 1 :])
    )
    sizes[place] = sizes[place] * repeats
    return reshape(wide, tuple(sizes))


def at_least(rank: int, *arrays: Any) -> Any:
    """`numpy.atleast_1d` and its like."""
    widened = []
    for array in map(as_traced, arrays):
        missing = max(rank - array.ndim, 0)
        before = int(missing == 2) if rank == 3 else missing
        axes = (*range(before), *range(before + array.ndim, array.ndim + missing))
        widened.append(with_axes_of_one(array, axes, array.ndim + missing))
    return widened[0] if len(widened) == 1 else tuple(widened)


def broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple[Traced, ...]:
    values = [as_traced(array) for array in arrays]
    shape = broadcast_shapes("broadcast_arrays", [value.shape for value in values])
    return tuple(broadcast_to(value, shape) for value in values)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Traced:
    traced = as_traced(m)
    first, second = normal_axes(axes, traced.ndim, "rot90")
    turns = k % 4
    if turns == 2:
        return flip(traced, (first, second))
    if turns == 1:
        return swapaxes(flip(traced, second), first, second)
    return flip(swapaxes(traced, first, second), second) if turns else traced


def with_axes_of_one(value: Traced, axes: Sequence[int], rank: int) -> Traced:
    """Return a view of a rank with axes of size 1 at some places, the others in order."""
    rest = iter(zip(value.shape, value.axes, strict=True))
    both = [(1, None) if axis in axes else next(rest) for axis in range(rank)]
    return Traced(
        value.tensor,
        value.dtype,
        tuple(size for size, _ in both),
        [dim for _, dim in both],
        weak=value.weak,
    )


def along(row: Traced, axis: int, rank: int) -> Traced:
    """Return a row as an array of a rank, along one of its axes."""
    return with_axes_of_one(row, [place for place in range(rank) if place != axis], rank)


def neighbours(value: Traced, axis: int) -> tuple[Traced, Traced]:
    """Return all but the first, and all but the last, along an axis."""
    before = (slice(None),) * axis
    return value[(*before, slice(1, None))], value[(*before, slice(None, -1))]


def _shifts(name: str, bitorder: Any) -> Any:
    """Return the distance of each bit of a byte from its end, in their order."""
    if bitorder not in ("big", "little"):
        raise ArgumentError(f"{name}: bitorder={bitorder!r}", expected="big or little")
    places = np.arange(8, dtype=np.uint8)
    return places[::-1] if bitorder == "big" else places


def _with_bits_last(name: str, a: Any, axis: Any, kinds: str) -> Traced:
    """Return the value with the axis of the bits at the end."""
    value = as_traced(a)
    if value.dtype.kind not in kinds or (kinds == "u" and value.dtype.itemsize > 1):
        raise DTypeError(
            f"{name} of {value.dtype}", expected="uint8" if kinds == "u" else "integers or booleans"
        )
    if axis is None:
        return ravel(value)
    return xp.moveaxis(value, normal_axis(axis, value.ndim, name), -1)


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Traced:
    shifts = _shifts("packbits", bitorder)
    flags = cast_to(_with_bits_last("packbits", a, axis, "iub") != 0, np.uint8)
    count = flags.shape[-1].__index__()
    missing = -count % 8
    wide = xp.pad(flags, [(0, 0)] * (flags.ndim - 1) + [(0, missing)])
    bytes_ = reshape(wide, (*flags.shape[:-1], (count + missing) // 8, 8))
    packed = xp.sum(xp.left_shift(bytes_, shifts), axis=-1, dtype=np.uint8)
    return packed if axis is None else xp.moveaxis(packed, -1, axis)


def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Traced:
    shifts = _shifts("unpackbits", bitorder)
    bytes_ = _with_bits_last("unpackbits", a, axis, "u")
    apart = xp.bitwise_and(xp.right_shift(bytes_[..., None], shifts), np.uint8(1))
    flags = reshape(apart, (*bytes_.shape[:-1], bytes_.shape[-1] * 8))
    if count is not None:
        size = flags.shape[-1].__index__()
        more = count.__index__() - size
        if count < -size:
            raise ArgumentError(
                f"unpackbits of {size} bits with count={count}", expected=f"at least {-size}"
            )
        if more > 0:
            flags = xp.pad(flags, [(0, 0)] * (flags.ndim - 1) + [(0, more)])
        flags = flags[..., : count.__index__()]
    return flags if axis is None else xp.moveaxis(flags, -1, axis)
