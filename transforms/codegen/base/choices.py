"""Choices that override those of the cost models, made by tuning or by a caller.

with choosing(Choices(plans={problem_key(problem): Variation(rows=8, vectors=3)})):
    lower_to_llvm(module)
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from linalg_ext.utils.scopes import holding


@dataclass(frozen=True)
class Variation:
    """The differences from the plan that the model gives; 0 if absent.

    Attributes:
        rows, vectors: of the tile.
        row_block, column_block, depth_block: of the blocks.
    """

    rows: int = 0
    vectors: int = 0
    row_block: int = 0
    column_block: int = 0
    depth_block: int = 0

    def __bool__(self) -> bool:
        return any(asdict(self).values())

    def __str__(self) -> str:
        tile = f"tile {self.rows} x {self.vectors} vectors" if self.rows else ""
        blocks = [
            f"{name.removesuffix('_block')} {getattr(self, name)}"
            for name in ("row_block", "column_block", "depth_block")
            if getattr(self, name)
        ]
        of_blocks = f"blocks {', '.join(blocks)}" if blocks else ""
        return "; ".join(filter(None, (tile, of_blocks))) or "as the model says"

    def as_data(self) -> dict[str, int]:
        """Return the differences as data that JSON can hold."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_data(cls, data: Any) -> Variation | None:
        """Back from `as_data`; None where it is not of that form."""
        names = {item.name for item in fields(cls)}
        if not isinstance(data, dict) or not set(data) <= names:
            return None
        if any(type(value) is not int or not 0 < value < 1 << 32 for value in data.values()):
            return None
        return cls(**data)


@dataclass(frozen=True)
class Choices:
    """Choices that override those of the model.

    Attributes:
        plans: the variation of the plan for each problem, by `problem_key`.
        vector_bits: of the registers of loops over vectors; 0 for the widest.
        streams: True where large results of such loops go past the caches, False where they do
            not; None for the model's choice.
    """

    plans: Mapping[str, Variation] = field(default_factory=dict)
    vector_bits: int = 0
    streams: bool | None = None


_NONE = Choices()
_in_force: ContextVar[Choices] = ContextVar("linalg_ext.choices", default=_NONE)


def choices() -> Choices:
    """Return the choices in force."""
    return _in_force.get()


def choosing(chosen: Choices) -> AbstractContextManager[Choices]:
    """Have the code that is made inside the `with` block follow these choices."""
    return holding(_in_force, chosen)
