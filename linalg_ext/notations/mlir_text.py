"""MLIR's text as text: its tokens, and changes to it that remember where each part came from."""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from linalg_ext.errors import ParseError
from linalg_ext.notations.source_text import SourceText

_BLANK = re.compile(r"(?:\s+|//[^\n]*)*")
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"'  # a string
    r"|->|[%#!@^][\w$.-]+(?:\#\d+)?"  # an arrow; a value, an alias, a symbol
    r"|[A-Za-z_][\w$.]*"  # a word
    r"|-?\d[\w.]*"  # a number
    r"|\S"
)
_TYPE = re.compile(r"!?[A-Za-z_][\w$.]*")
_BRACKETS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|[<>]=|[()\[\]{}<>]')
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//|"')
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_WORD = re.compile(r"[A-Za-z_][\w$.]*")


@dataclass(frozen=True, slots=True)
class Token:
    """A token and where it stands; empty at the end of the text."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after it."""
        return self.start + len(self.text)

    @property
    def is_word(self) -> bool:
        """Return whether it is a bare word, such as `ins`."""
        return _WORD.fullmatch(self.text) is not None


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text.

    Attributes:
        text: its characters, on one line and without comments, as long as it is in the source.
        start, end: its place in the source.
        before, after: texts that belong around it and are not written: `affine_map<` and `>`.
    """

    text: str
    start: int
    end: int
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.before}{self.text}{self.after}"


class Reader:
    """Reads tokens one after the other from a place of a text."""

    def __init__(self, source: SourceText, position: int) -> None:
        self.source = source
        self._text = source.text
        self.position = position

    def peek(self) -> Token:
        """The next token."""
        blank = _BLANK.match(self._text, self.position)
        start = blank.end() if blank else self.position
        match = _TOKEN.match(self._text, start)
        return Token(match[0] if match else "", start)

    def next(self) -> Token:
        """Take the next token."""
        token = self.peek()
        self.position = token.end
        return token

    def accepts(self, text: str) -> bool:
        """Take the next token if it is this one."""
        token = self.peek()
        if token.text != text:
            return False
        self.position = token.end
        return True

    def expect(self, text: str, of_what: str) -> Token:
        """Take the next token, which must be this one."""
        token = self.next()
        if token.text != text:
            self.refuse_token(of_what, token, f"`{text}`")
        return token

    def skip(self) -> int:
        """Take a token, or a bracket with all up to the one that closes it; the offset after."""
        return self.balanced() if self.peek().text in _CLOSING else self.next().end

    def balanced(self, *, in_group: bool = False) -> int:
        """Take a bracket and all up to the one that closes it; the offset after that.

        Args:
            in_group: a `)` ends an angle bracket that nothing closes: it is left, and the offset
                of it given.
        """
        opening = self.peek()
        stack = [_CLOSING[opening.text]]
        closed = -1
        for match in _BRACKETS.finditer(self._text, opening.end):
            bracket = match[0]
            if bracket in _CLOSING:
                stack.append(_CLOSING[bracket])
            elif bracket == stack[-1]:
                stack.pop()
                if not stack:
                    closed = match.end()
                    break
            elif bracket in _CLOSING.values():
                if in_group and bracket == ")" and stack == [">"]:
                    closed = match.start()
                    break
                self.refuse(
                    f"`{opening.text}` is not closed before `{bracket}`", opening, f"`{stack[-1]}`"
                )
        if closed < 0:
            self.refuse(f"`{opening.text}` is never closed", opening, f"`{stack[-1]}`")
        self.position = closed
        return closed

    def type_end(self, of_what: str, *, in_group: bool = False) -> int:
        """Take a type other than that of a function; the offset after it.

        Args:
            of_what: the subject of the error for another token.
        """
        word = self.next()
        if not _TYPE.fullmatch(word.text):
            self.refuse_token(of_what, word, "a type, as tensor<4xf32>")
        return self.balanced(in_group=in_group) if self.peek().text == "<" else word.end

    def span(self, start: int, end: int) -> Span:
        """A part of the text, on one line."""
        return Span(flat(self._text[start:end]), start, end)

    def refuse_token(self, of_what: str, token: Token, expected: str) -> NoReturn:
        """Raise the error for a token that cannot stand in a part of the text."""
        self.refuse(f"{of_what} cannot have {named(token)} here", token, expected)

    def refuse(
        self, message: str, at: Token | Span, expected: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise the error that points at a token."""
        raise ParseError(
            message,
            where=self.source.place(at.start, max(at.end, at.start + 1)),
            expected=expected,
            hint=hint,
        )


def flat(text: str) -> str:
    """A text of the same length on one line, blanks for its comments."""
    if "\n" not in text and "//" not in text:
        return text
    return re.sub(
        r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[\n\r]',
        lambda match: match[0] if match[0][0] == '"' else " " * len(match[0]),
        text,
    )


class CodeFilter:
    """Tells places of code from those inside strings and comments, asked in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._code_offset = 0  # of code, on the line that was asked for last

    def is_code(self, position: int) -> bool:
        """Return whether no string and no comment holds this place."""
        start = max(self._code_offset, self._text.rfind("\n", self._code_offset, position) + 1)
        while (match := _STRING_OR_COMMENT.search(self._text, start, position)) is not None:
            if match[0] in ("//", '"'):
                return False
            start = match.end()
        self._code_offset = position
        return True


def named(token: Token) -> str:
    """A token as a message names it."""
    return f"`{token.text}`" if token.text else "the end of the text"


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
    return [0, *(match.end() for match in re.finditer("\n", text))]


def apply_edits(
    source: SourceText, edits: Iterable[Edit], *, keeps_lines: bool = True
) -> EditedText:
    """Make all changes to a text.

    Args:
        edits: in any order. Of two that share a place one holds the other, which is made where the
            outer one keeps that place, and gone where it does not.
        keeps_lines: add new lines behind a part that has less of them than it had.
    """
    # A pure insertion comes before a replacement at the same offset.
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
        self._unfinished: set[int] = set()
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
            if edit.start < position or edit.end > end or index in self._unfinished:
                continue  # inside one that was made, or around this part
            self._add(text[position - origin : edit.start - origin], position, is_copied=True)
            self._unfinished.add(index)
            self._make(edit, keeps_lines=is_outermost and self._keeps_lines)
            self._unfinished.remove(index)
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
