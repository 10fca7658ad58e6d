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
        kind: "allocation", "argument" (of a function called from Python), "global", or "unknown".
        name: of a global.
    """

    value: Any
    kind: str
    name: str = ""

    def may_alias(self, other: Root) -> bool:
        """Whether both may be one memory.

        Arguments of a function called from Python do not: the call checks what is written.
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
            return Root(value, "argument" if _is_called_from_python(owner) else "unknown")
        name = owner.operation.name
        if name in _VIEWS:
            value = owner.operation.operands[0]
        elif name in ("memref.alloc", "memref.alloca"):
            return Root(value, "allocation")
        elif name == "memref.get_global":
            return Root(value, "global", str(owner.operation.attributes["name"]))
        else:
            return Root(value, "unknown")


def _is_called_from_python(block: Any) -> bool:
    """Whether a block is the entry of a function with a C interface."""
    operation = block.owner.operation
    if operation.name != "func.func" or "llvm.emit_c_interface" not in operation.attributes:
        return False
    return bool(block == operation.regions[0].blocks[0])
