"""Changes to a text that are made all at once, and the way back from each new place to the old.

An edit says what stands in the place of a part of the text: new text, and spans of the old. An edit
inside such a span is made there too, so that a change of a value's name or a type's spelling need
not know what moves it. Lines stay where they are, if that is wanted.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from linalg_ext.notations.mlir_text.lexer import Span
from linalg_ext.notations.source_text import SourceText


@dataclass(frozen=True, slots=True)
class Edit:
    """The replacement of a part of a text.

    Attributes:
        start, end: the part.
        pieces: the text in its place: new text, and spans of the source.
    """

    start: int
    end: int
    pieces: Sequence[Span | str] = ()


@dataclass(frozen=True)
class EditedText:
    """A text after edits, with the origin of each part.

    Attributes:
        source: the text before the edits.
        text: the text after them; the same object where nothing had to change.
        pieces: for each part its start in the text, its origin in the source, and True where it is
            a copy of the source.
    """

    source: SourceText
    text: str
    pieces: tuple[tuple[int, int, bool], ...] = field(default=(), repr=False)

    def origin(self, line: int, column: int) -> tuple[int, int]:
        """Line and column in the source of a place in the text, all from 1."""
        if self.text is self.source.text:
            return line, column
        start = self._line_starts[min(line, len(self._line_starts)) - 1]
        return self.source_place(self.source_offset(start + column - 1))

    def source_place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset in the source, from 1."""
        line = bisect_right(self._source_line_starts, offset)
        return line, offset - self._source_line_starts[line - 1] + 1

    def source_offset(self, offset: int) -> int:
        """The offset in the source of one in the text."""
        index = bisect_right(self.pieces, offset, key=lambda piece: piece[0]) - 1
        if index < 0:
            return offset
        start, origin, is_copied = self.pieces[index]
        return origin + (offset - start if is_copied else 0)

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        return _line_starts(self.text)

    @functools.cached_property
    def _source_line_starts(self) -> list[int]:
        return _line_starts(self.source.text)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]


def apply_edits(
    source: SourceText, edits: Iterable[Edit], *, keeps_lines: bool = True
) -> EditedText:
    """Make all changes to a text.

    Args:
        source: the text.
        edits: in any order. Of two that share a place one holds the other, which is made where the
            outer one keeps that place, and gone where it does not.
        keeps_lines: add new lines behind a part that has less of them than it had.
    """
    # An edit of nothing, which only adds, comes before one that begins there.
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end > edit.start, -edit.end))
    if not ordered:
        return EditedText(source, source.text)
    editor = _Editor(source, ordered, keeps_lines)
    editor.copy(source.text, 0, is_outermost=True)
    return EditedText(source, "".join(editor.parts), tuple(editor.pieces))


class _Editor:
    """Puts the new text together from copied and new pieces."""

    def __init__(self, source: SourceText, edits: list[Edit], keeps_lines: bool) -> None:
        self._source = source
        self._keeps_lines = keeps_lines
        self._edits = edits
        self._starts = [edit.start for edit in edits]
        self._made: set[int] = set()  # those that are being made
        self._length = 0
        self.parts: list[str] = []
        self.pieces: list[tuple[int, int, bool]] = []

    def copy(self, text: str, origin: int, *, is_outermost: bool = False) -> None:
        """Copy a part of the source, with the edits inside it.

        Args:
            text: as long as that part, perhaps on one line.
            origin: where the part begins.
        """
        end = origin + len(text)
        position = origin
        first = bisect_left(self._starts, origin)
        last = bisect_right(self._starts, end) if is_outermost else bisect_left(self._starts, end)
        for index in range(first, last):
            edit = self._edits[index]
            if edit.start < position or edit.end > end or index in self._made:
                continue  # inside one that was made, or around this part
            self._add(text[position - origin : edit.start - origin], position, is_copied=True)
            self._made.add(index)
            self._make(edit, keeps_lines=is_outermost and self._keeps_lines)
            self._made.remove(index)
            position = edit.end
        self._add(text[position - origin :], position, is_copied=True)

    def _make(self, edit: Edit, *, keeps_lines: bool) -> None:
        first = len(self.parts)
        for piece in edit.pieces:
            if isinstance(piece, Span):
                self._add(piece.before, piece.start, is_copied=False)
                self.copy(piece.text, piece.start)
                self._add(piece.after, piece.end, is_copied=False)
            else:
                self._add(piece, edit.start, is_copied=False)
        if not keeps_lines:
            return
        lines = self._source.text.count("\n", edit.start, edit.end)
        lines -= sum(part.count("\n") for part in self.parts[first:])
        if lines > 0:
            indent = edit.end - (self._source.text.rfind("\n", 0, edit.end) + 1)
            self._add("\n" * lines + " " * indent, edit.end, is_copied=False)

    def _add(self, text: str, origin: int, *, is_copied: bool) -> None:
        if not text:
            return
        self.pieces.append((self._length, origin, is_copied))
        self.parts.append(text)
        self._length += len(text)
