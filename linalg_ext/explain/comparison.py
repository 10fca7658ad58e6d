"""Two texts side by side: which lines stand beside which.

MLIR numbers values again when it prints, so a line is compared without the numbers: an op that did
not change stands beside itself, whatever its operands are called now. What did change stands beside
what comes of the same place of the source, as a loop nest beside the op that it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from linalg_ext.explain.alignment import stretches
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
    texts = _without_numbers(left), _without_numbers(right)
    for is_same, *where in stretches(*texts, is_nothing=_closes):
        run = Run("same" if is_same else "changed", *where)
        runs += [run] if is_same else _by_place(left, right, run)
    return runs


def _closes(line: object) -> bool:
    """Return whether a line says nothing: it is the same as another only beside one that is."""
    return line in ("}", "")


def _without_numbers(text: LocatedText) -> list[str]:
    return [_NUMBERED.sub("%", line.strip()) for line in text.lines]


def _by_place(left: LocatedText, right: LocatedText, run: Run) -> list[Run]:
    """A run in parts, so that lines stand beside others that come of the same place."""
    lefts = _parts(left, run.left, run.left_end)
    rights = _parts(right, run.right, run.right_end)
    runs: list[Run] = []
    places = [place for place, *_ in lefts], [place for place, *_ in rights]
    for is_same, i, i_end, j, j_end in stretches(*places):
        if is_same:
            pairs = zip(lefts[i:i_end], rights[j:j_end], strict=True)
            runs += [Run("changed", *one[1:], *other[1:]) for one, other in pairs]
        else:
            (start, end), (first, last) = (
                _span(lefts, i, i_end, run.left_end),
                _span(rights, j, j_end, run.right_end),
            )
            runs.append(Run("changed", start, end, first, last))
    return runs


def _parts(text: LocatedText, start: int, end: int) -> list[tuple[object, int, int]]:
    """Neighbouring lines of one place each: the place, the first line and the one after the last.

    Lines of which no place is known belong to what stands before them.
    """
    known: list[object] = []
    for line in range(start, end):
        places = text.places[line] if text.places else ()
        known.append(places or (known[-1] if known else ()))
    found = []
    for place, group in groupby(range(start, end), key=lambda line: known[line - start]):
        lines = list(group)
        found.append((place, lines[0], lines[-1] + 1))
    return found


def _span(
    parts: Sequence[tuple[object, int, int]], first: int, last: int, end: int
) -> tuple[int, int]:
    """The lines of some parts; where there are none, the place where they would stand."""
    if first == last:
        at = parts[first][1] if first < len(parts) else end
        return at, at
    return parts[first][1], parts[last - 1][2]
