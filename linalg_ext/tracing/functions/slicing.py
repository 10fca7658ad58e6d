"""Parts of tensors by offsets, sizes and steps: `tensor.extract_slice` and `insert_slice`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.errors import ArgumentError, ArgumentTypeError, ShapeError, caller_location
from linalg_ext.structured.constants import integer_constant
from linalg_ext.tracing.functions.shaping import as_shape
from linalg_ext.tracing.values.conversion import as_traced, cast_to
from linalg_ext.tracing.values.elements import INT64
from linalg_ext.tracing.values.emission import as_index, assert_holds, shape_text
from linalg_ext.tracing.values.sizes import AnySize, Shape, Size
from linalg_ext.tracing.values.tensor_ops import as_type, empty
from linalg_ext.tracing.values.trace import Trace, at_users_line, running, static_sizes
from linalg_ext.tracing.values.traced import Traced, current_trace, xp
from linalg_ext.tracing.values.unsupported import refuse


@dataclass(frozen=True, slots=True)
class Part:
    """The part of one axis that an index selects.

    Attributes:
        offset: the first position; a value of type index where it is known only at run time.
        size: the number of positions.
        step: the distance between two positions.
        is_dropped: True where the result has no such axis, as with an integer index.
        is_backwards: True where the positions are read from the last to the first.
    """

    offset: AnySize | ir.Value
    size: AnySize
    step: int = 1
    is_dropped: bool = False
    is_backwards: bool = False

    def is_all_of(self, size: AnySize) -> bool:
        """Return whether it takes an axis of a size as it is."""
        return (
            self.step == 1 and not self.is_dropped and _is(self.offset, 0) and _is(self.size, size)
        )


def index_of(value: Traced) -> ir.Value:
    """Return a traced integer of rank 0 as an index."""
    return as_index(tensor.ExtractOp(cast_to(value, INT64).value, []).result)


def part_of(index: Any, size: AnySize, axis: int) -> Part:
    """Return the part of an axis of a size that an integer or a slice selects.

    Raises:
        ShapeError: an integer is out of bounds.
    """
    trace = current_trace()
    if isinstance(index, Traced):
        return Part(_checked_place(trace, index, size), 1, is_dropped=True)
    if isinstance(index, slice):
        return _slice(trace, index, size)
    place = index if isinstance(index, Size) else index.__index__()
    if isinstance(place, int) and place < 0:
        place = size + place
    call = f"index {index} of axis {axis}, of size {size}"
    if not (trace.at_least(place, 0, call) and trace.at_least(size, place + 1, call)):
        raise ShapeError(f"{call}, is out of bounds")
    return Part(place, 1, is_dropped=True)


def _checked_place(trace: Trace, index: Traced, size: AnySize) -> ir.Value:
    """Return a traced integer as an index, negative from the end, which the run checks."""
    if index.ndim or index.dtype.kind not in "iu":
        refuse(f"{index!r} as the index of an axis", "index by an integer or by an integer array")
    with at_users_line():
        place = index_of(index)
        limit, zero = trace.value(size), integer_constant(ir.IndexType.get(), 0)
        less = arith.CmpIPredicate.slt
        is_negative = arith.CmpIOp(less, place, zero).result
        wrapped = arith.AddIOp(place, limit).result
        checked: ir.Value = arith.SelectOp(is_negative, wrapped, place).result
        # As unsigned, a negative one is large.
        is_inside = arith.CmpIOp(arith.CmpIPredicate.ult, checked, limit).result
        assert_holds(is_inside, "an index is out of bounds")
    return checked


Line = tuple[Traced | None, int, int]


def line_of(value: Any) -> Line | None:
    """Return origin, factor and offset of an integer; no origin where it is known."""
    if isinstance(value, Traced):
        is_integer = not value.ndim and value.dtype.kind in "iu"
        return (value.line or (value, 1, 0)) if is_integer else None
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return None, 0, int(value)
    return None


def line_of_result(name: str, left: Any, right: Any) -> tuple[Traced, int, int] | None:
    """Return origin, factor and offset of a sum, a difference or a product; None for others."""
    first, second = line_of(left), line_of(right)
    if first is None or second is None:
        return None
    origin = first[0] if first[0] is not None else second[0]
    if origin is None or (second[0] is not None and second[0] is not origin):
        return None
    if name in ("add", "subtract"):
        sign = 1 if name == "add" else -1
        return origin, first[1] + sign * second[1], first[2] + sign * second[2]
    if name == "multiply" and (first[0] is None or second[0] is None):
        pair = (first, second) if first[0] is None else (second, first)
        (_, _, number), (_, factor, offset) = pair
        return origin, factor * number, offset * number
    return None


def _traced_slice(trace: Trace, index: slice, size: AnySize) -> Part:
    """Return the part of a known size from a place that only the run tells: `x[n:n + 2]`."""
    line = line_of_result("subtract", index.stop, index.start)
    step = 1 if index.step is None else index.step
    if line is None or line[1] or isinstance(step, Traced) or step < 1:
        refuse(
            f"a slice {index.start}:{index.stop} with traced bounds: its size is not known",
            "write x[n:n + 2], lx.dynamic_slice(x, starts, sizes), np.where on positions, or "
            "lx.loop with x[i] and x.at[i]",
        )
    length = max(line[2], 0)
    with at_users_line():
        start = index_of(index.start)
        limit = trace.value(size)
        end = arith.AddIOp(start, integer_constant(ir.IndexType.get(), length)).result
        # As unsigned, a negative start is large; its end may be in bounds again.
        less = arith.CmpIPredicate.ule
        is_inside = arith.AndIOp(
            arith.CmpIOp(less, start, limit).result, arith.CmpIOp(less, end, limit).result
        ).result
        assert_holds(is_inside, "a slice is out of bounds")
    return Part(start, -(-length // step), step)


def _slice(trace: Trace, index: slice, size: AnySize) -> Part:
    if any(isinstance(bound, Traced) for bound in (index.start, index.stop, index.step)):
        return _traced_slice(trace, index, size)
    step = 1 if index.step is None else _integer(index.step)
    if not step:
        raise ArgumentError("a slice with step 0", hint="write x[::1] for all places")
    if not isinstance(size, Size) and not any(
        isinstance(bound, Size) for bound in (index.start, index.stop)
    ):
        bounds = [b if b is None else _integer(b) for b in (index.start, index.stop)]
        places = range(*slice(bounds[0], bounds[1], step).indices(size))
        if len(places) < 2:  # no step is taken; bufferization takes one for that of another axis
            return Part(places.start if places else 0, len(places), 1)
        if step > 0:
            return Part(places.start, len(places), step)
        return Part(places[-1], len(places), -step, is_backwards=True)
    at_least = partial(
        trace.chooses_at_least,
        operation=f"slice {index.start}:{index.stop} of an axis of size {size}",
    )
    first, last = (0, size) if step > 0 else (-1, size - 1)

    def clipped(bound: Any) -> AnySize:
        place = bound if isinstance(bound, Size) else _integer(bound)
        if not at_least(place, 0):
            place = place + size
        if not at_least(place, first):
            return first
        return place if at_least(last, place) else last

    start, stop = (first, last) if step > 0 else (last, first)
    start = start if index.start is None else clipped(index.start)
    stop = stop if index.stop is None else clipped(index.stop)
    length = stop - start if step > 0 else start - stop
    if not at_least(length, 0):
        return Part(0, 0)
    count = (length + abs(step) - 1) // abs(step)
    if step > 0:
        return Part(start, count, step)
    return Part(stop + 1 + (length - 1) % -step, count, -step, is_backwards=True)


def _integer(bound: Any) -> int:
    try:
        return operator.index(bound)
    except TypeError:
        raise ArgumentTypeError(
            f"a slice by {bound!r}", expected="integers or None", hint="write int(n)"
        ) from None


def extracted(value: Traced, parts: Sequence[Part]) -> Traced:
    """Return the parts of a value, one for each axis; backwards ones are still forwards."""
    shape = value.shape
    kept_axes = [axis for axis, part in enumerate(parts) if not part.is_dropped]
    sizes = tuple(parts[axis].size for axis in kept_axes)
    narrowed = [
        axis
        for axis, part in enumerate(parts)
        if value.axes[axis] is not None and not part.is_all_of(shape[axis])
    ]
    if not narrowed:
        return Traced(value.tensor, value.dtype, sizes, [value.axes[axis] for axis in kept_axes])
    if any(_is(size, 0) for size in sizes):
        with at_users_line():
            return Traced(empty(sizes, value.dtype), value.dtype, sizes)
    rank = ir.ShapedType(value.tensor.type).rank
    by_dim: list[Part] = [Part(0, 1)] * rank
    for axis, part in enumerate(parts):
        dim = value.axes[axis]
        if dim is not None:
            by_dim[dim] = part
    left = [dim for dim, part in enumerate(by_dim) if not part.is_dropped]
    with at_users_line():
        own = static_sizes([by_dim[dim].size for dim in left])
        element = ir.ShapedType(value.tensor.type).element_type
        tensor_part = tensor.ExtractSliceOp(
            ir.RankedTensorType.get(own, element), value.tensor, *_geometry(by_dim)
        ).result
    axes = [value.axes[axis] for axis in kept_axes]
    return Traced(
        tensor_part,
        value.dtype,
        sizes,
        [None if dim is None else left.index(dim) for dim in axes],
    )


def inserted(new: Traced, target: Traced, parts: Sequence[Part]) -> Traced:
    """Return the target with a part of it replaced, of the same dtype and of the parts' shape."""
    if any(_is(part.size, 0) for part in parts):
        return target
    with at_users_line():
        geometry = _geometry(parts)
        value = new.value
        kind = ir.RankedTensorType(value.type)
        kept_sizes = [
            size for part, size in zip(parts, geometry[-2], strict=True) if not part.is_dropped
        ]
        # The sizes of the parts may have turned out since the values were made.
        target_type = ir.RankedTensorType.get(kept_sizes, kind.element_type)
        if kind.rank == target_type.rank:
            value = as_type(value, target_type)
            # Upstream's elimination of empty tensors dies of a tensor that is put into itself.
            if all(part.is_all_of(n) for part, n in zip(parts, target.shape, strict=True)):
                return Traced(value, target.dtype, target.shape)
        result = tensor.InsertSliceOp(value, target.value, *geometry).result
    return Traced(result, target.dtype, target.shape)


def _geometry(parts: Sequence[Part]) -> tuple[Any, ...]:
    offsets: list[ir.Value] = []
    sizes: list[ir.Value] = []
    steps: list[ir.Value] = []
    static: tuple[list[int], list[int], list[int]] = ([], [], [])
    trace = running()
    mark = ir.ShapedType.get_dynamic_stride_or_offset()
    for part in parts:
        _place(trace, part.offset, offsets, static[0], mark)
        _place(trace, part.size, sizes, static[1], ir.ShapedType.get_dynamic_size())
        static[2].append(part.step)
    return offsets, sizes, steps, *static


def _place(trace: Any, number: Any, values: list[Any], static: list[int], mark: int) -> None:
    number = trace.resolved(number) if isinstance(number, Size) else number
    if isinstance(number, int):
        static.append(number)
        return
    static.append(mark)
    values.append(trace.value(number) if isinstance(number, Size) else number)


def _is(left: Any, right: AnySize) -> bool:
    if not isinstance(left, int | Size):
        return False
    return (left - right) == 0 if isinstance(left - right, int) else False


def whole(shape: Shape) -> list[Part]:
    """Return the parts that take everything."""
    return [Part(0, size) for size in shape]


def dynamic_slice(x: Any, starts: Any, sizes: Sequence[Any]) -> Any:
    """Return the part of an array that begins at some place.

        lx.dynamic_slice(x, (n, 0), (2, 4))     # x[n:n + 2, 0:4]

    Args:
        x: an array.
        starts: for each axis the first place, which may be traced. It is moved so that the part is
            in the array, as in JAX.
        sizes: of the part, which are known.

    Raises:
        ShapeError: there is not one for each axis, or a size is larger than the array's.
    """
    if running() is None:
        places = _plain_starts("dynamic_slice", x, starts, sizes)
        return np.array(np.asarray(x)[places])
    value = as_traced(x)
    return extracted(value, _parts("dynamic_slice", value, starts, as_shape(tuple(sizes)))).apart()


def dynamic_update_slice(x: Any, update: Any, starts: Any) -> Any:
    """Return an array with a part that begins at some place replaced.

        lx.dynamic_update_slice(x, row, (n, 0))

    Args:
        x: an array.
        update: the new part, of the rank of the array; cast to its dtype.
        starts: for each axis the first place, which may be traced. It is moved so that the part is
            in the array, as in JAX.

    Raises:
        ShapeError: there is not one for each axis, or a size is larger than the array's.
    """
    if running() is None:
        changed = np.array(x)
        changed[_plain_starts("dynamic_update_slice", x, starts, np.shape(update))] = update
        return changed
    value = as_traced(x)
    new = cast_to(update, value.dtype)
    return inserted(new, value, _parts("dynamic_update_slice", value, starts, new.shape))


def _plain_starts(name: str, x: Any, starts: Any, sizes: Sequence[int]) -> tuple[slice, ...]:
    shape = np.shape(x)
    _check(name, shape, len(starts), tuple(sizes))
    return tuple(
        slice(place, place + size)
        for place, size in (
            (min(max(int(start), 0), extent - size), size)
            for start, extent, size in zip(starts, shape, sizes, strict=True)
        )
    )


def _parts(name: str, value: Traced, starts: Any, sizes: Shape) -> list[Part]:
    places = [starts[axis] for axis in range(len(starts))]
    _check(name, value.shape, len(places), sizes)
    return [
        Part(_start_place(start, extent - size), size)
        for start, extent, size in zip(places, value.shape, sizes, strict=True)
    ]


def _start_place(start: Any, last: Any) -> Any:
    if not isinstance(start, Traced) and isinstance(last, int):
        return min(max(int(start), 0), last)
    with at_users_line():
        place = xp.clip(xp.reshape(cast_to(start, INT64), ()), 0, as_traced(last))
        return index_of(place)


def _check(name: str, shape: Shape, starts: int, sizes: Shape) -> None:
    fits = len(shape) == starts == len(sizes)
    trace = running()
    for extent, size in zip(shape, sizes, strict=False):
        is_large = extent >= size if trace is None else current_trace().at_least(extent, size, name)
        fits = fits and is_large
    if not fits:
        raise ShapeError(
            f"{name}: {starts} starts, and a part of shape {shape_text(sizes)}, of an array of "
            f"shape {shape_text(shape)}",
            where=caller_location(),
            expected="one start and one size for each axis, and no size beyond the array's",
        )
