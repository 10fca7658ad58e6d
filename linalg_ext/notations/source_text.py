"""A text in one of the notations, and places in it at which errors point."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SourceText:
    """A text and the name of its file, or of another source."""

    text: str
    name: str

    def place(self, start: int, end: int | None = None) -> str:
        """Line and column of a part, the line itself, and a caret under the part.

        Args:
            start: offset of its first character; at most the length of the text.
            end: offset after its last one; one character if not given.
        """
        line = self.text.count("\n", 0, start) + 1
        first = self.text.rfind("\n", 0, start) + 1
        column = start - first
        shown = self.text[first:].partition("\n")[0]
        length = max(1, min((end or start) - start, len(shown) - column))
        # A tab is as wide in the line above as below it.
        indent = "".join(c if c == "\t" else " " for c in shown[:column])
        where = f"{self.name}, line {line}, column {column + 1}"
        return f"{where}:\n  {shown.rstrip()}\n  {indent}{'^' * length}"
