"""Descriptions of machines as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

_WIDTH = 100


def bytes_text(count: int) -> str:
    """Return a number of bytes for people: `48 KiB`."""
    units = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
    return _in_largest_unit(count, units, 4)


def count_text(count: float) -> str:
    """Return a number of operations for people: `2.15 G`."""
    return _in_largest_unit(count, {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0}, 3)


def seconds_text(seconds: float) -> str:
    """Return a time for people: `9.6 ms`."""
    return _in_largest_unit(seconds, {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}, 3)


def _in_largest_unit(value: float, units: Mapping[str, float], digits: int) -> str:
    """Return a value in the first unit that it is not less than, or else in the last one."""
    unit, size = next((item for item in units.items() if value >= item[1]), [*units.items()][-1])
    return f"{value / size:.{digits}g} {unit}"


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
