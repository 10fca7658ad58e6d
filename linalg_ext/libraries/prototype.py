"""Prototypes of native functions, in MLIR's types: `add(memref<?x?xf32>, f32, memref<?x?xf32>)`.

A memref is passed as a pointer to its descriptor, a scalar by value:

    struct { T *allocated; T *aligned; int64_t offset; int64_t sizes[RANK]; int64_t strides[RANK]; }

The elements begin at `aligned + offset`; strides count elements. Each operand of an op is one
argument, the inputs first. `memref<?x?xf32>` is dense and in row-major order, as in MLIR: operands
that lie otherwise are copied. `memref<?x?xf32, strided<[?, ?], offset: ?>>` may have any strides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from linalg_ext.definition.types import family
from linalg_ext.errors import LibraryError

_FORM = "a name and types of MLIR: `add(memref<?x?xf32>, f32, memref<?x?xf32>)`"

_PROTOTYPE = re.compile(
    r"(?:func\.func\s+private\s+)?@?(?P<symbol>[\w$.]+)\s*\((?P<operands>.*)\)"
    r"(?:\s*->\s*(?P<result>[\w<>]+))?",
    re.DOTALL | re.ASCII,
)
_MEMREF = re.compile(r"memref<(?P<shape>(?:(?:\?|\d+)x)*)(?P<element>[^,]+?)(?:,(?P<layout>.*))?>")
_LAYOUT = re.compile(r"strided<\[(?P<strides>[?,1]*)\](?:,offset:\?)?>")
_VECTOR = re.compile(r"vector<(?:\d+x)+(?P<element>\w+)>")

_SCALARS = ("i8", "i16", "i32", "i64", "index", "f32", "f64")
"""Types that every machine and every compiler passes by value in the same way."""

Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class OperandType:
    """An operand: a memref, or a scalar.

    Attributes:
        element: the element type, or the scalar's own, as MLIR spells it.
        shape: the sizes of a memref, None for each that is open; None for a scalar.
        strides: None where the elements are dense and in row-major order; else for each axis
            whether its stride must be 1.
    """

    element: str
    shape: Shape | None = None
    strides: tuple[bool, ...] | None = None

    @property
    def layout(self) -> str:
        """The layout, as MLIR spells it; empty for that of a plain memref."""
        if self.strides is None:
            return ""
        strides = ", ".join("1" if is_one else "?" for is_one in self.strides)
        return f"strided<[{strides}], offset: ?>"

    def __str__(self) -> str:
        if self.shape is None:
            return self.element
        sizes = "".join(f"{'?' if size is None else size}x" for size in self.shape)
        return f"memref<{sizes}{self.element}{', ' if self.layout else ''}{self.layout}>"

    def refusal_of(self, other: OperandType) -> str | None:
        """Why it does not take an operand, whatever that one's layout; None where it does."""
        if (self.shape is None) != (other.shape is None):
            return f"the operand is {other}, and the function takes {self}"
        if self.element != other.element:
            return f"the elements are {other.element}, and the function takes {self.element}"
        if self.shape is None or other.shape is None:
            return None
        if len(self.shape) != len(other.shape):
            return f"the rank is {len(other.shape)}, and the function takes rank {len(self.shape)}"
        for axis, (taken, size) in enumerate(zip(self.shape, other.shape, strict=True)):
            if taken is not None and taken != size:
                given = "open" if size is None else size
                return f"the size is {given} along axis {axis}, and the function takes {taken}"
        return None

    def takes_layout_of(self, other: OperandType) -> bool:
        """Return whether it takes the strides of an operand without a copy."""
        if self.strides is None or other.strides is None:
            return other.strides is None
        return all(has for has, needs in zip(other.strides, self.strides, strict=True) if needs)


@dataclass(frozen=True)
class Prototype:
    """A native function and what it takes.

    Attributes:
        symbol: its name in the library.
        operands: in order: the inputs of an op, then its outputs.
        result: the type of the scalar that it returns, for functions that modules call themselves.
    """

    symbol: str
    operands: tuple[OperandType, ...]
    result: str | None = None

    @classmethod
    def parse(cls, text: str) -> Prototype:
        """Read `name(type, ...)`, or `name(type, ...) -> type`.

        Raises:
            LibraryError: it is not one; says which part is not understood.
        """
        found = _PROTOTYPE.fullmatch(text.strip())
        if found is None:
            raise LibraryError(
                f"{text!r} does not say what a function takes",
                expected=_FORM,
                hint="a shared library does not tell it",
            )
        operands = tuple(_operand(part, text) for part in _split(found["operands"]))
        result = found["result"]
        if result is not None:
            _check_scalar(result, text, result)
        return cls(found["symbol"], operands, result)

    def __str__(self) -> str:
        result = f" -> {self.result}" if self.result else ""
        return f"{self.symbol}({', '.join(map(str, self.operands))}){result}"

    def refusal_of(self, operands: tuple[OperandType, ...]) -> str | None:
        """Why it does not take these operands; None where it does, perhaps by copying some."""
        if len(operands) != len(self.operands):
            return (
                f"the op has {len(operands)} operands, and the function takes {len(self.operands)}"
            )
        for number, (taken, given) in enumerate(zip(self.operands, operands, strict=True)):
            if reason := taken.refusal_of(given):
                return f"operand {number}: {reason}"
        return None


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "<[") - (character in ">]")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return parts if len(parts) > 1 or text.strip() else []


def _operand(text: str, whole: str) -> OperandType:
    plain = re.sub(r"\s", "", text)
    found = _MEMREF.fullmatch(plain)
    if found is None:
        _check_scalar(plain, whole, text)
        return OperandType(plain)
    vector = _VECTOR.fullmatch(found["element"])
    _check_element(vector["element"] if vector else found["element"], whole, text)
    sizes = found["shape"].split("x")[:-1]
    shape = tuple(None if size == "?" else int(size) for size in sizes)
    return OperandType(found["element"], shape, _strides(found["layout"], len(shape), whole))


def _strides(layout: str | None, rank: int, whole: str) -> tuple[bool, ...] | None:
    if layout is None:
        return None
    found = _LAYOUT.fullmatch(layout)
    strides = found["strides"].split(",") if found else []
    # Where only the last stride is known, a dense copy fits; of others it may not.
    if len(strides) != rank or "1" in strides[:-1]:
        raise LibraryError(
            f"the layout `{layout}` is not one that operands can be copied into",
            where=whole,
            expected="none for dense operands in row-major order, `strided<[?, ?], offset: ?>` for "
            "any strides, or 1 for the last of them",
        )
    return tuple(stride == "1" for stride in strides)


def _check_scalar(scalar: str, whole: str, part: str) -> None:
    if scalar not in _SCALARS:
        raise LibraryError(
            f"`{part.strip()}` is no type that can be passed",
            where=whole,
            expected="memrefs, and of scalars " + ", ".join(_SCALARS),
            hint=f"write {_FORM}",
        )


def _check_element(element: str, whole: str, part: str) -> None:
    if family(element) is None:
        raise LibraryError(
            f"`{part.strip()}` is no type that can be passed", where=whole, expected=_FORM
        )
