"""Two texts side by side: which lines stand beside which.

MLIR numbers values again when it prints, so a line is compared without the numbers: an op that did
not change stands beside itself, whatever its operands are called now. What did change stands beside
what comes of the same place of the source, as a loop nest beside the op that it was.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Literal, NamedTuple

from linalg_ext.explain.located_text import LocatedText

_NUMBERED = re.compile(r"%[\w$.-]+(?:#\d+)?|(?<![\w.])#map\d*\b|\^bb\d+")


class Run(NamedTuple):
    """Neighbouring lines of two texts.

    Attributes:
        kind: `same` lines, but for the numbers of values; or lines that took others' place.
        left, left_end: the lines of the first text, from 0, the end not included.
        right, right_end: those of the second.
    """

    kind: Literal["same", "changed"]
    left: int
    left_end: int
    right: int
    right_end: int


def compared(left: LocatedText, right: LocatedText) -> list[Run]:
    """The runs of two texts, in order; each line is in one of them."""
    runs: list[Run] = []
    texts = ([_NUMBERED.sub("%", line.strip()) for line in text.lines] for text in (left, right))
    # Of lines that say nothing, one is the same as another only beside lines that are.
    for run in stretches(*texts, is_nothing=lambda line: line in ("}", "")):
        runs += [run] if run.kind == "same" else _by_place(left, right, run)
    return runs


def _by_place(left: LocatedText, right: LocatedText, run: Run) -> list[Run]:
    """A run in parts, so that lines stand beside others that come of the same place."""
    lefts = _parts(left, run.left, run.left_end)
    rights = _parts(right, run.right, run.right_end)
    runs: list[Run] = []
    places = [place for place, *_ in lefts], [place for place, *_ in rights]
    for kind, i, i_end, j, j_end in stretches(*places):
        if kind == "same":
            pairs = zip(lefts[i:i_end], rights[j:j_end], strict=True)
            runs += [Run("changed", *one[1:], *other[1:]) for one, other in pairs]
        else:
            spans = *_span(lefts, i, i_end, run.left_end), *_span(rights, j, j_end, run.right_end)
            runs.append(Run("changed", *spans))
    return runs


def _parts(text: LocatedText, start: int, end: int) -> list[tuple[object, int, int]]:
    """Neighbouring lines of one place each: the place, the first line and the one after the last.

    Lines of which no place is known belong to what stands before them.
    """
    places_of_lines: list[object] = []
    for line in range(start, end):
        places = text.places[line] if text.places else ()
        places_of_lines.append(places or (places_of_lines[-1] if places_of_lines else ()))
    parts = []
    for place, group in groupby(range(start, end), key=lambda line: places_of_lines[line - start]):
        lines = list(group)
        parts.append((place, lines[0], lines[-1] + 1))
    return parts


def _span(
    parts: Sequence[tuple[object, int, int]], first: int, last: int, end: int
) -> tuple[int, int]:
    """The lines of some parts; where there are none, the place where they would stand."""
    if first == last:
        at = parts[first][1] if first < len(parts) else end
        return at, at
    return parts[first][1], parts[last - 1][2]


def stretches(
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    *,
    is_nothing: Callable[[Any], bool] = lambda _: False,
) -> Iterator[Run]:
    """Two sequences in stretches, in order; every item is in one of them.

    Items that occur once in each sequence are matched first, as many as keep their order: "patience
    diff", by Bram Cohen. Between them `difflib` matches the rest. `difflib` alone would take the
    square of the length where every other item has changed.

    Args:
        left, right: the sequences.
        is_nothing: of an item that matches another only beside items that do.
    """
    matches: list[_Match] = []
    i = j = 0
    for at, other in (*_once_in_each(left, right, is_nothing), (len(left), len(right))):
        _between(left, right, (i, at, j, other), is_nothing, matches)
        if at < len(left):
            _add(matches, (at, other, 1))
        i, j = at + 1, other + 1
    i = j = 0
    for at, other, size in (*matches, (len(left), len(right), 0)):
        if (i, j) != (at, other):
            yield Run("changed", i, at, j, other)
        i, j = at + size, other + size
        if size:
            yield Run("same", at, i, other, j)


_Match = tuple[int, int, int]
"""The first items of two equal stretches, and how many there are."""


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
        _add(found, (i, j, 1))
        i, j = i + 1, j + 1
    equal = 0
    while i < i_end and j < j_end and left[i_end - 1] == right[j_end - 1]:
        i_end, j_end, equal = i_end - 1, j_end - 1, equal + 1
    if i < i_end and j < j_end:
        matcher = SequenceMatcher(is_nothing, left[i:i_end], right[j:j_end])
        for match in matcher.get_matching_blocks():
            _add(found, (i + match.a, j + match.b, match.size))
    _add(found, (i_end, j_end, equal))


def _add(found: list[_Match], new: _Match) -> None:
    """Add a stretch; to the last one where it goes on there."""
    at, other, size = new
    if found and size:
        left, right, length = found[-1]
        if (left + length, right + length) == (at, other):
            found[-1] = left, right, length + size
            return
    if size:
        found.append(new)
