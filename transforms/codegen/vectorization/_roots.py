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


def are_apart(one: Any, other: Any) -> bool:
    """Whether two memrefs are known to be views of parts of one memory that share no element."""
    parts = [_part(each) for each in (one, other)]
    (source, first), (same, second) = parts
    if source is None or source != same:
        return False
    return any(
        None not in (*mine, *its) and (sum(mine) <= its[0] or sum(its) <= mine[0])
        for mine, its in zip(first, second, strict=True)
    )


def _part(value: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """What a slice is of, and where it begins along each axis and how far it goes.

    None stands for no slice, and for what is not known or goes in steps.
    """
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "memref.subview":
        return None, []
    attributes, open_ = owner.operation.attributes, ir.ShapedType.get_dynamic_stride_or_offset()
    starts, sizes, steps = (
        list(attributes[f"static_{each}"]) for each in ("offsets", "sizes", "strides")
    )
    ends = [
        (start, size) if step == 1 and open_ not in (start, size) else (None, None)
        for start, size, step in zip(starts, sizes, steps, strict=True)
    ]
    return owner.operation.operands[0], ends


def _is_called_from_python(block: Any) -> bool:
    """Whether a block is the entry of a function with a C interface."""
    operation = block.owner.operation
    if operation.name != "func.func" or "llvm.emit_c_interface" not in operation.attributes:
        return False
    return bool(block == operation.regions[0].blocks[0])
