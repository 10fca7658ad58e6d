"""MLIR's text, token by token: the part of it that structured ops need.

Strings and comments of MLIR end with their line; brackets nest across lines. An arrow `->` closes
no bracket.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
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
        text: what it says, on one line and without comments, as long as it is in the source.
        start, end: its place in the source.
        before, after: what belongs around it and is not written: `affine_map<` and `>`.
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
        start = self._skip(self.position)
        found = _TOKEN.match(self._text, start)
        return Token(found[0] if found else "", start)

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
            self.refuse(f"{of_what} cannot have {_named(token)} here", token, f"`{text}`")
        return token

    def balanced(self, *, in_group: bool = False) -> int:
        """Take a bracket and all up to the one that closes it; the offset after that.

        Args:
            in_group: a `)` ends an angle bracket that nothing closes: it is left, and the offset
                of it given.
        """
        opening = self.peek()
        stack = [_CLOSING[opening.text]]
        closed = -1
        for found in _BRACKETS.finditer(self._text, opening.end):
            bracket = found[0]
            if bracket in _CLOSING:
                stack.append(_CLOSING[bracket])
            elif bracket == stack[-1]:
                stack.pop()
                if not stack:
                    closed = found.end()
                    break
            elif bracket in _CLOSING.values():
                if in_group and bracket == ")" and stack == [">"]:
                    closed = found.start()
                    break
                self.refuse(
                    f"`{opening.text}` is not closed before `{bracket}`", opening, f"`{stack[-1]}`"
                )
        if closed < 0:
            self.refuse(f"`{opening.text}` is never closed", opening, f"`{stack[-1]}`")
        self.position = closed
        return closed

    def span(self, start: int, end: int) -> Span:
        """A part of the text, on one line."""
        return Span(flat(self._text[start:end]), start, end)

    def refuse(
        self, what: str, at: Token | Span, expected: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise the error that points at a token."""
        raise ParseError(
            what,
            where=self.source.place(at.start, max(at.end, at.start + 1)),
            expected=expected,
            hint=hint,
        )

    def _skip(self, position: int) -> int:
        found = _BLANK.match(self._text, position)
        return found.end() if found else position


def flat(text: str) -> str:
    """A text of the same length on one line, blanks for its comments."""
    if "\n" not in text and "//" not in text:
        return text
    return re.sub(
        r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[\n\r]',
        lambda found: found[0] if found[0][0] == '"' else " " * len(found[0]),
        text,
    )


class CodeFilter:
    """Tells places of code from those inside strings and comments, asked in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known = 0  # a place of code, on the line that was asked for last

    def is_code(self, position: int) -> bool:
        """Return whether no string and no comment holds this place."""
        start = max(self._known, self._text.rfind("\n", self._known, position) + 1)
        while (found := _STRING_OR_COMMENT.search(self._text, start, position)) is not None:
            if found[0] in ("//", '"'):
                return False
            start = found.end()
        self._known = position
        return True


def _named(token: Token) -> str:
    return f"`{token.text}`" if token.text else "the end of the text"
