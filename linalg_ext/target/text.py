"""Descriptions of machines as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

_WIDTH = 100


def bytes_text(count: int) -> str:
    """Return a number of bytes for people: `48 KiB`."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"


def count_text(count: float) -> str:
    """Return a number of operations for people: `2.15 G`."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.3g} "


def seconds_text(seconds: float) -> str:
    """Return a time for people: `9.6 ms`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of two columns: names and their descriptions."""
    listed = list(rows)
    width = max(len(name) for name, _ in listed) + 2
    lines = (
        textwrap.fill(
            value, _WIDTH, initial_indent=f"{name:<{width}}", subsequent_indent=" " * width
        )
        for name, value in listed
    )
    return "\n".join(lines)
