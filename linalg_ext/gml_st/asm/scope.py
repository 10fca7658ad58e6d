"""The scopes of a text: facts about its values, region by region, that fill in what it omits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from linalg_ext.notations.mlir_text import Span


@dataclass(frozen=True, slots=True)
class Known:
    """Known facts about a value.

    Attributes:
        type: as it is written, or as MLIR reads it; None where it is not known.
        source, source_type: of a set, the tensor or memref that it is a part of.
        strides: of a set, relative to its source; `?` for one that is not known.
        is_whole: True where a set is all of its source.
        constant: the number that the value is.
    """

    type: Span | str | None = None
    source: Span | None = None
    source_type: Span | str | None = None
    strides: tuple[str, ...] | None = None
    is_whole: bool = False
    constant: int | None = None


@dataclass(slots=True)
class Region:
    """A region that is open; or a dictionary, which holds no values.

    Attributes:
        close: what is to be done at the brace that ends it, given the offset of that; gives the
            offset to read on from.
        collect: takes the `gml_st.yield` that ends it, what that yields, and the offset behind it,
            in the place of who changes such an op elsewhere.
        is_ended: whether its terminator was read.
    """

    close: Callable[[int], int] | None = None
    collect: Callable[[Any, Any, int], None] | None = None
    is_ended: bool = False
    values: dict[str, Known] = field(default_factory=dict)


class Scope:
    """The regions that are open, innermost last."""

    def __init__(self) -> None:
        self._regions = [Region()]

    @property
    def innermost(self) -> Region:
        """The region that is read now."""
        return self._regions[-1]

    def open(self, region: Region) -> None:
        """A region begins."""
        self._regions.append(region)

    def close(self) -> Region | None:
        """The innermost region ends; None if absent."""
        return self._regions.pop() if len(self._regions) > 1 else None

    def define(self, name: str, known: Known | None = None) -> None:
        """A value is defined in the innermost region."""
        self.innermost.values[name.partition(":")[0]] = known or Known()

    def __getitem__(self, name: str) -> Known:
        """Return the known facts about a value."""
        for region in reversed(self._regions):
            if (known := region.values.get(name)) is not None:
                return known
        return Known()

    def __iter__(self) -> Iterator[tuple[str, Known]]:
        """All that are visible, the latest first."""
        for region in reversed(self._regions):
            yield from reversed(region.values.items())
