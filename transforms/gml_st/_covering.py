"""The coverage of a tensor by a loop over subsets: every element, and each once."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.gml_st.ir.loop_views import LOOP_VIEWS, AnyLoop
from linalg_ext.structured.sizes import as_number, sizes_of
from linalg_ext.symbolic.index_sets import Point, Tile, as_tile
from linalg_ext.symbolic.integers import Number, is_eq, minimum, symbols_of


def view_of(op: ir.Operation) -> AnyLoop:
    """The view of a loop."""
    return LOOP_VIEWS[op.name](op)


def covered_by(loop: AnyLoop, part: Tile | Point, tensor: ir.Value) -> frozenset[int] | None:
    """The iterators that move a part over all of a tensor; None where it may leave a gap.

    The tile is one whose offset is the induction variable along some dimensions, and all of the
    tensor along the others, as tiling makes it.
    """
    tile = as_tile(part)
    places = {iv: at for at, iv in enumerate(loop.ivs)}
    moved: set[int] = set()
    for dim, whole in enumerate(sizes_of(tensor)):
        offset, size, stride = tile.offset(dim), tile.size(dim), tile.stride(dim)
        if is_eq(stride, 1) is not True:
            return None
        if is_eq(offset, 0) is True and is_eq(size, whole) is True:
            continue
        at = _mover(offset, places)
        if at is None or at in moved or not _is_stepped(loop, at, offset, size, whole):
            return None
        moved.add(at)
    return frozenset(moved)


def moves(loop: AnyLoop) -> frozenset[int]:
    """The iterators that may take more than one step."""
    return frozenset(at for at in range(loop.rank) if is_eq(_trip_end(loop, at), 0) is not True)


def _trip_end(loop: AnyLoop, at: int) -> Number:
    """0 where the iterator takes one step: its upper bound less one less its lower, in steps."""
    lower, upper, step = (as_number(each[at]) for each in (loop.lower, loop.upper, loop.step))
    length = upper - lower - 1
    if isinstance(step, int) and isinstance(length, int):
        return max(0, length // step) if step > 0 else 1
    return 1


def depends_on(loop: AnyLoop, part: Tile | Point) -> frozenset[int]:
    """The iterators that a part moves with."""
    tile = as_tile(part)
    numbers = (*tile.offsets, *tile.sizes, *tile.strides)
    keys = {symbol.key for number in numbers for symbol in symbols_of(number)}
    return frozenset(at for at, iv in enumerate(loop.ivs) if iv in keys)


def _mover(offset: Number, places: dict[ir.Value, int]) -> int | None:
    """The iterator whose induction variable a number is."""
    found = list(symbols_of(offset))
    if len(found) != 1 or found[0].number != offset:
        return None
    key = found[0].key
    return places.get(key) if isinstance(key, ir.Value) else None


def _is_stepped(loop: AnyLoop, at: int, offset: Number, size: Number, whole: Number) -> bool:
    """Return whether tiles stand side by side from the beginning to the end."""
    lower, upper, step = (as_number(each[at]) for each in (loop.lower, loop.upper, loop.step))
    ends = is_eq(lower, 0) is True and is_eq(upper, whole) is True
    return ends and is_eq(size, minimum(step, whole - offset)) is True
