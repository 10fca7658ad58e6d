"""Operands that are converted as they are read: memory of one type, values of another."""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.transforms.codegen._memory import Memory
from linalg_ext.transforms.codegen._writer import Index


@dataclass(frozen=True)
class ConvertedMemory(Memory):
    """A memory whose elements are cast when they are loaded. It is only read.

    Attributes:
        source: the type of the elements that lie there.
        cast: the op that makes values of type `element` of them.
    """

    source: str = ""
    cast: str = ""

    def load(self, index: Index) -> str:
        """An element, cast."""
        raw = self.raw.load(index)
        return self.writer.op(f"{self.cast} {raw} : {self.source} to {self.element}")

    def load_vector(self, index: Index, mask: str | None = None, rest: str | None = None) -> str:
        """A vector, cast; where the mask is off, the lane is that of `rest`, or 0."""
        raw = self.raw
        vector = self.writer.op(
            f"{self.cast} {raw.load_vector(index, mask)} : {raw.vector} to {self.vector}"
        )
        if mask is None or rest is None:
            return vector
        return self.writer.op(f"arith.select {mask}, {vector}, {rest} : {self.mask}, {self.vector}")

    @property
    def raw(self) -> Memory:
        """What lies there."""
        return Memory(self.writer, self.name, self.type, self.source, self.lanes)


def cast_between(source: str, target: str, *, unsigned: bool = False) -> str | None:
    """The op that casts elements of one type to another, none of them complex or boolean.

    Args:
        source: the type, as MLIR spells it.
        target: the other one.
        unsigned: whether integers are read as unsigned.
    """
    kinds = _kind(source), _kind(target)
    if None in kinds or source == target:
        return None
    widens = _width(source) < _width(target)
    if kinds == ("f", "f"):
        if _width(source) == _width(target):
            return None
        return "arith.extf" if widens else "arith.truncf"
    if kinds == ("i", "i"):
        if not widens:
            return "arith.trunci"
        return "arith.extui" if unsigned else "arith.extsi"
    if kinds == ("i", "f"):
        return "arith.uitofp" if unsigned else "arith.sitofp"
    return None


def _kind(element: str) -> str | None:
    if element in ("f16", "bf16", "f32", "f64"):
        return "f"
    return "i" if element in ("i8", "i16", "i32", "i64") else None


def _width(element: str) -> int:
    return int(element.lstrip("bfi"))
