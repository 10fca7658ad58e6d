"""Printed IR with its `linalg_ext.spelled` ops written as people spell them: the way back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.notations.mlir_text import CodeFilter, Reader, Span
from linalg_ext.notations.source_text import SourceText

_PLACEHOLDER = '"linalg_ext.spelled"('
_NUMBER = re.compile(r"\bnumber = (\d+)")


@dataclass(frozen=True, slots=True)
class Spelling:
    """The custom spelling of an op.

    Attributes:
        name: of the op, with its dialect.
        notes: the attributes before its operands, as `name = value`.
        clauses: the clauses behind its operands: `broadcast_a = [1]`.
    """

    name: str
    notes: Sequence[str] = ()
    clauses: Sequence[str] = ()


def spell(text: str, spellings: Sequence[Spelling]) -> str:
    """A text as MLIR prints it, each numbered op replaced by what its number stands for."""
    source = SourceText(text, "")
    code = CodeFilter(text)
    parts: list[str] = []
    end = 0
    position = text.find(_PLACEHOLDER)
    while position >= 0:
        if code.is_code(position):
            written, after = _spelled(source, position + len(_PLACEHOLDER) - 1, spellings)
            parts += [text[end:position], written]
            end = after
        position = text.find(_PLACEHOLDER, position + 1)
    return "".join([*parts, text[end:]])


def _spelled(source: SourceText, start: int, spellings: Sequence[Spelling]) -> tuple[str, int]:
    """The spelling of an op whose operands begin at an offset, and the offset behind it."""
    reader = Reader(source, start)
    operands = [span.text for span in _list(reader)]
    opening = reader.peek().start
    attributes = source.text[opening : reader.balanced()]
    number = _NUMBER.search(attributes)
    spelling = spellings[int(number[1]) if number else 0]
    reader.expect(":", spelling.name)
    types = [span.text for span in _list(reader)]
    reader.expect("->", spelling.name)
    if reader.peek().text == "(":
        results = [span.text for span in _list(reader)]
    else:
        results = [_type(reader).text]
    typed = [f"{name} : {kind}" for name, kind in zip(operands, types, strict=True)]
    words = [spelling.name]
    if spelling.notes:
        words.append(f"{{{', '.join(spelling.notes)}}}")
    if len(typed) > 1:
        words.append(f"ins({', '.join(typed[:-1])})")
    words.append(f"outs({typed[-1]})")
    if spelling.clauses:
        words.append(", ".join(spelling.clauses))
    # The wish list's colon; the arrow of upstream's for what is no op of the wish list.
    arrow = ":" if spelling.name.startswith("linalg.") else "->"
    words += [f"{arrow} {result}" for result in results]
    return " ".join(words), reader.position


def _list(reader: Reader) -> list[Span]:
    """Return the items between parentheses, split at commas."""
    reader.expect("(", "a list")
    found: list[Span] = []
    while not reader.accepts(")"):
        found.append(_type(reader))
        reader.accepts(",")
    return found


def _type(reader: Reader) -> Span:
    """A value, or a type with what is in its angle brackets."""
    token = reader.next()
    end = token.end
    if reader.peek().text == "<":
        end = reader.balanced()
    return reader.span(token.start, end)
