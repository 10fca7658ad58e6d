"""Alignment of two sequences, in a time that grows little faster than their length.

Items that occur once in each sequence are matched first, as many as keep their order: "patience
diff", by Bram Cohen. Between them `difflib` matches the rest. `difflib` alone would take the square
of the length where every other item has changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple


class Stretch(NamedTuple):
    """A stretch of two sequences: equal, or what stands between such; ends are not included."""

    is_same: bool
    left: int
    left_end: int
    right: int
    right_end: int


def stretches(
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    *,
    is_nothing: Callable[[Any], bool] = lambda _: False,
) -> Iterator[Stretch]:
    """Two sequences in stretches, in order; every item is in one of them.

    Args:
        left, right: the sequences.
        is_nothing: of an item that matches another only beside items that do.
    """
    found: list[_Match] = []
    i = j = 0
    for at, other in (*_once_in_each(left, right, is_nothing), (len(left), len(right))):
        _between(left, right, (i, at, j, other), is_nothing, found)
        if at < len(left):
            _add(found, _Match(at, other, 1))
        i, j = at + 1, other + 1
    i = j = 0
    for at, other, size in (*found, (len(left), len(right), 0)):
        if (i, j) != (at, other):
            yield Stretch(False, i, at, j, other)
        i, j = at + size, other + size
        if size:
            yield Stretch(True, at, i, other, j)


class _Match(NamedTuple):
    left: int
    right: int
    size: int


def _once_in_each(
    left: Sequence[Hashable], right: Sequence[Hashable], is_nothing: Callable[[Any], bool]
) -> list[tuple[int, int]]:
    """The positions of items that both have once, as many as are in one order."""
    counts, others = Counter(left), Counter(right)
    places = {item: at for at, item in enumerate(right) if others[item] == 1}
    pairs = [
        (at, places[item])
        for at, item in enumerate(left)
        if counts[item] == 1 and item in places and not is_nothing(item)
    ]
    # The longest increasing subsequence: for each length the least end, and what comes before it.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    chain = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _between(
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    gap: tuple[int, int, int, int],
    is_nothing: Callable[[Any], bool],
    found: list[_Match],
) -> None:
    """Add what matches between two anchors: what is equal right beside them, and then the rest."""
    i, i_end, j, j_end = gap
    while i < i_end and j < j_end and left[i] == right[j]:
        _add(found, _Match(i, j, 1))
        i, j = i + 1, j + 1
    equal = 0
    while i < i_end and j < j_end and left[i_end - 1] == right[j_end - 1]:
        i_end, j_end, equal = i_end - 1, j_end - 1, equal + 1
    if i < i_end and j < j_end:
        matcher = SequenceMatcher(is_nothing, left[i:i_end], right[j:j_end])
        for match in matcher.get_matching_blocks():
            _add(found, _Match(i + match.a, j + match.b, match.size))
    _add(found, _Match(i_end, j_end, equal))


def _add(found: list[_Match], new: _Match) -> None:
    """Add a stretch; to the last one where it goes on there."""
    if not new.size:
        return
    if found:
        left, right, size = found[-1]
        if (left + size, right + size) == (new.left, new.right):
            found[-1] = _Match(left, right, size + new.size)
            return
    found.append(new)
