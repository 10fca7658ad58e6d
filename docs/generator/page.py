"""A page that is made, not written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Page:
    """A file of the site.

    Attributes:
        path: where it lies in the site, such as `ops/contraction.md`.
        content: Markdown, or the bytes of a picture.
    """

    path: str
    content: str | bytes


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell(entry) for entry in line) + " |" for line in lines)


def cell(text: str) -> str:
    """Text that a row of a table can hold."""
    return text.replace("|", "\\|").replace("\n", " ")


def fenced(text: str, language: str = "text") -> str:
    """Text as it stands, in a block of its own."""
    return f"```{language}\n{text.strip(chr(10))}\n```"
