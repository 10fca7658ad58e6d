"""Which memory a memref is a view of, and which memories may be one and the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir

_VIEWS = frozenset(
    f"memref.{name}"
    for name in [
        "subview",
        "cast",
        "collapse_shape",
        "expand_shape",
        "reinterpret_cast",
        "transpose",
        "view",
        "memory_space_cast",
        "assume_alignment",
    ]
)


@dataclass(frozen=True)
class Root:
    """The memory behind a memref.

    Attributes:
        value: the memref that all views are of.
        kind: "allocation", "argument" (of a function), "global", or "unknown".
        name: of a global.
    """

    value: Any
    kind: str
    name: str = ""

    def may_alias(self, other: Root) -> bool:
        """Whether both may be one memory.

        Arguments of a function do not overlap: what is called from Python checks that.
        """
        if self.value == other.value:
            return True
        if "unknown" in (self.kind, other.kind):
            return True
        return self.kind == other.kind == "global" and self.name == other.name

    def may_be_seen_through(self, other: Root) -> bool:
        """Whether one structured op may read through one what it writes through the other.

        By the contract of structured ops their operands overlap wholly or not at all; views of one
        known memory are looked at nonetheless.
        """
        return self.value == other.value or (
            self.kind == other.kind == "global" and self.name == other.name
        )


def root_of(value: Any) -> Root:
    """The memory that a memref is a view of."""
    while True:
        owner = value.owner
        if isinstance(owner, ir.Block):
            is_argument = owner.owner.operation.name == "func.func" and owner == first_block(owner)
            return Root(value, "argument" if is_argument else "unknown")
        name = owner.operation.name
        if name in _VIEWS:
            value = owner.operation.operands[0]
        elif name in ("memref.alloc", "memref.alloca"):
            return Root(value, "allocation")
        elif name == "memref.get_global":
            return Root(value, "global", str(owner.operation.attributes["name"]))
        else:
            return Root(value, "unknown")


def first_block(block: Any) -> Any:
    """The entry of the region that a block is in."""
    return block.owner.operation.regions[0].blocks[0]
