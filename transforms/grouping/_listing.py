"""States as text: groups with what they say, ops with what they read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ._annotations import said

if TYPE_CHECKING:
    from ._state import State

_ROOT = -1


def listed(state: State, group: int = _ROOT, depth: int = 1) -> Iterator[str]:
    """A line for each item of a group, and of those in it."""
    indent = "  " * depth
    for item in state.children(group):
        if not state.is_group(item):
            reads = ", ".join(map(str, state.reads(item)))
            yield f"{indent}{item:>4}  {state.node(item).op}  {reads}".rstrip()
            continue
        data = state.data(item)
        kind = "isolated group" if data.is_isolated else "group"
        label = f'"{data.label}"' if data.label else ""
        row = "  ".join(filter(None, (label, said(data.texts))))
        yield f"{indent}{item:>4}  {kind} {row}".rstrip()
        yield from listed(state, item, depth + 1)
