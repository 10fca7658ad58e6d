"""Upstream's diagnostics as data, shown with the line that they point at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.bindings import ir

_SOURCE_WIDTH = 120

_UNQUOTED = re.compile(r"^(?:[^\"/\n]*=)?\s*(linalg_ext\.\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Diagnostic:
    """A message of MLIR's, with its location and the notes attached to it.

    Attributes:
        severity: "error", "warning", "note" or "remark".
        line, column: from 1, where the location is one of a file; else None.
        location: the location as MLIR prints it.
    """

    severity: str
    message: str
    location: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    notes: tuple[Diagnostic, ...] = ()

    @classmethod
    def of(cls, raw: ir.Diagnostic | ir.DiagnosticInfo) -> Diagnostic:
        """Copy a diagnostic of upstream's, which dies with its handler or its exception."""
        own = cls.at(raw.location, raw.message)
        severity = str(raw.severity).rpartition(".")[2].lower()
        return replace(own, severity=severity, notes=tuple(cls.of(note) for note in raw.notes))

    @classmethod
    def at(cls, location: ir.Location, message: str) -> Diagnostic:
        """Make an error of our own at a location."""
        if location.typeid != ir.FileLineColLoc.static_typeid:
            return cls("error", message, str(location))
        at = ir.FileLineColLoc(location)
        file, line, column = at.filename, at.start_line, at.start_col
        return cls("error", message, str(location), file, line, column)

    def to_data(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {**vars(self), "notes": [note.to_data() for note in self.notes]}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Diagnostic:
        """Return the diagnostic of plain data, as `to_data` makes it."""
        return cls(**{**data, "notes": tuple(cls.from_data(note) for note in data["notes"])})

    def moved(self, origin: Callable[[int, int], tuple[int, int]]) -> Diagnostic:
        """Return the diagnostic for another text; `origin` maps lines and columns to that one's."""
        notes = tuple(note.moved(origin) for note in self.notes)
        if self.line is None or self.column is None:
            return replace(self, notes=notes)
        line, column = origin(self.line, self.column)
        return replace(self, line=line, column=column, notes=notes)

    def place(self, filename: str) -> str:
        """Return `file:line:column`, or the location as MLIR prints it."""
        if self.line is None:
            return self.location
        file = filename if self.file in (None, "-") else self.file
        return f"{file}:{self.line}:{self.column}"

    def shown(self, filename: str = "-") -> str:
        """Return the message with its place and all its notes."""
        head = f"{self.place(filename)}: {self.severity}: {self.message}"
        notes = [note.shown(filename) for note in self.notes]
        return "\n".join([head, *("  " + line for note in notes for line in note.splitlines())])

    def pointed(self, text: str, filename: str = "-") -> str:
        """Return the place, and the line of `text` at it with a caret under the column."""
        lines = text.splitlines()
        if self.line is None or self.column is None or not 1 <= self.line <= len(lines):
            return self.place(filename)
        line, column = lines[self.line - 1], self.column
        # A long line, such as one with a large constant, is cut to the surroundings of the column.
        start = max(0, column - _SOURCE_WIDTH // 2) if len(line) > _SOURCE_WIDTH else 0
        shown = line[start : start + _SOURCE_WIDTH].replace("\t", " ")
        caret = " " * (column - 1 - start) + "^"
        return f"{self.place(filename)}:\n  {shown}\n  {caret}"


@contextmanager
def collected(context: ir.Context) -> Iterator[list[Diagnostic]]:
    """Collect the diagnostics that the block emits in `context`, and none goes to standard error.

    Some passes emit a message and fail without one in the exception; others only warn.
    """
    diagnostics: list[Diagnostic] = []

    def take(raw: ir.Diagnostic) -> bool:
        diagnostics.append(Diagnostic.of(raw))
        return True

    handler = context.attach_diagnostic_handler(take)
    try:
        yield diagnostics
    finally:
        handler.detach()


def of_error(error: ir.MLIRError) -> list[Diagnostic]:
    """Return the diagnostics that an exception of upstream's carries."""
    return [Diagnostic.of(raw) for raw in error.error_diagnostics]


def of_silence(text: str) -> tuple[Diagnostic, ...]:
    """Return the diagnostic of an op that Python defines and that is written without quotes.

    MLIR's parser refuses such an op without a message.
    """
    match = _UNQUOTED.search(text)
    if match is None:
        return ()
    line = text.count("\n", 0, match.start(1)) + 1
    column = match.start(1) - text.rfind("\n", 0, match.start(1))
    message = (
        f"{match[1]} is known in MLIR's generic form alone: "
        f'"{match[1]}"(%operand, ...) {{attribute = ..., ...}} : (type, ...) -> type'
    )
    return (Diagnostic("error", message, f"{line}:{column}", "-", line, column),)


def joined(*groups: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Join several lists, each diagnostic once."""
    return tuple(dict.fromkeys(diagnostic for group in groups for diagnostic in group))
