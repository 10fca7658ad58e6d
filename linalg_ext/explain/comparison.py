"""Two texts side by side: the pairs of lines that stand beside each other.

MLIR numbers values again when it prints, so lines are compared without the numbers: an unchanged op
stands beside itself, whatever the names of its operands. Changed ops stand beside those of the same
place in the source, as a loop nest beside the op that it was.
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
        kind: `same` lines, but for the numbers of values; or `changed` ones.
        left, left_end: the lines of the first text, from 0, the end not included.
        right, right_end: those of the second.
    """

    kind: Literal["same", "changed"]
    left: int
    left_end: int
    right: int
    right_end: int


def compared(left: LocatedText, right: LocatedText) -> list[Run]:
    """Return the runs of two texts, in order; each line is in one of them."""
    runs: list[Run] = []
    texts = ([_NUMBERED.sub("%", line.strip()) for line in text.lines] for text in (left, right))
    # A bracket or an empty line matches another only beside other matches.
    for run in stretches(*texts, is_filler=lambda line: line in ("}", "")):
        runs += [run] if run.kind == "same" else _by_place(left, right, run)
    return runs


def _by_place(left: LocatedText, right: LocatedText, run: Run) -> list[Run]:
    """Split a run into parts, so that lines of the same place stand beside each other."""
    lefts = _parts(left, run.left, run.left_end)
    rights = _parts(right, run.right, run.right_end)
    runs: list[Run] = []
    places = [place for place, *_ in lefts], [place for place, *_ in rights]
    for kind, i, i_end, j, j_end in stretches(*places):
        if kind == "same":
            pairs = zip(lefts[i:i_end], rights[j:j_end], strict=True)
            runs += [
                Run("changed", *left_part[1:], *right_part[1:]) for left_part, right_part in pairs
            ]
        else:
            spans = *_span(lefts, i, i_end, run.left_end), *_span(rights, j, j_end, run.right_end)
            runs.append(Run("changed", *spans))
    return runs


def _parts(text: LocatedText, start: int, end: int) -> list[tuple[object, int, int]]:
    """Return neighbouring lines of the same place: the place, the first line, and the end.

    Lines without a known place belong to the lines before them.
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
    """Return the lines of some parts; for no parts, the empty range between their neighbours."""
    if first == last:
        after = parts[first][1] if first < len(parts) else end
        return after, after
    return parts[first][1], parts[last - 1][2]


def stretches(
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    *,
    is_filler: Callable[[Any], bool] = lambda _: False,
) -> Iterator[Run]:
    """Yield two sequences in stretches, in order; every item is in one of them.

    Items that occur once in each sequence are matched first, as many as keep their order: "patience
    diff", by Bram Cohen. Between them `difflib` matches the rest. `difflib` alone would take the
    square of the length where every other item has changed.

    Args:
        left, right: the sequences.
        is_filler: of an item that matches another only beside items that do.
    """
    matches: list[_Match] = []
    i = j = 0
    for i_start, j_start in (*_once_in_each(left, right, is_filler), (len(left), len(right))):
        _between(left, right, (i, i_start, j, j_start), is_filler, matches)
        if i_start < len(left):
            _add(matches, (i_start, j_start, 1))
        i, j = i_start + 1, j_start + 1
    i = j = 0
    for i_start, j_start, size in (*matches, (len(left), len(right), 0)):
        if (i, j) != (i_start, j_start):
            yield Run("changed", i, i_start, j, j_start)
        i, j = i_start + size, j_start + size
        if size:
            yield Run("same", i_start, i, j_start, j)


_Match = tuple[int, int, int]
"""The first items of two equal stretches, and their length."""


def _once_in_each(
    left: Sequence[Hashable], right: Sequence[Hashable], is_filler: Callable[[Any], bool]
) -> list[tuple[int, int]]:
    """Return the positions of items that both have once, as many as keep their order."""
    left_counts, right_counts = Counter(left), Counter(right)
    positions = {item: index for index, item in enumerate(right) if right_counts[item] == 1}
    pairs = [
        (index, positions[item])
        for index, item in enumerate(left)
        if left_counts[item] == 1 and item in positions and not is_filler(item)
    ]
    # The longest increasing subsequence: for each length the least end, and the pair before it.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, position) in enumerate(pairs):
        length = bisect_left(ends, position)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [position]
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
    is_filler: Callable[[Any], bool],
    matches: list[_Match],
) -> None:
    """Add the matches between two anchors: first the equal items right beside them."""
    i, i_end, j, j_end = gap
    while i < i_end and j < j_end and left[i] == right[j]:
        _add(matches, (i, j, 1))
        i, j = i + 1, j + 1
    equal = 0
    while i < i_end and j < j_end and left[i_end - 1] == right[j_end - 1]:
        i_end, j_end, equal = i_end - 1, j_end - 1, equal + 1
    if i < i_end and j < j_end:
        matcher = SequenceMatcher(is_filler, left[i:i_end], right[j:j_end])
        for match in matcher.get_matching_blocks():
            _add(matches, (i + match.a, j + match.b, match.size))
    _add(matches, (i_end, j_end, equal))


def _add(matches: list[_Match], new: _Match) -> None:
    """Add a stretch, or extend the last one if it is adjacent."""
    left_start, right_start, size = new
    if matches and size:
        left, right, length = matches[-1]
        if (left + length, right + length) == (left_start, right_start):
            matches[-1] = left, right, length + size
            return
    if size:
        matches.append(new)
