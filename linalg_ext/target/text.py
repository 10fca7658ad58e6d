"""Descriptions of machines as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

_WIDTH = 100


def bytes_text(count: int) -> str:
    """A number of bytes for people: `48 KiB`."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and what is said of each, in two columns."""
    listed = list(rows)
    width = max(len(name) for name, _ in listed) + 2
    lines = (
        textwrap.fill(
            value, _WIDTH, initial_indent=f"{name:<{width}}", subsequent_indent=" " * width
        )
        for name, value in listed
    )
    return "\n".join(lines)
