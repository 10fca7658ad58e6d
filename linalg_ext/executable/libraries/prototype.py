"""Prototypes of native functions, in MLIR's types: `add(memref<?x?xf32>, f32, memref<?x?xf32>)`.

A memref is passed as a pointer to its descriptor, a scalar by value:

    struct { T *allocated; T *aligned; int64_t offset; int64_t sizes[RANK]; int64_t strides[RANK]; }

The elements begin at `aligned + offset`; strides count elements. Each operand of an op is one
argument, the inputs first. `memref<?x?xf32>` is dense and in row-major order, as in MLIR: operands
that lie otherwise are copied. `memref<?x?xf32, strided<[?, ?], offset: ?>>` may have any strides.
The matrix product of BLAS takes pointers and leading dimensions, no descriptors.

`library_call = "add"` asks for the function `add`. A library that has one function for each type
adds the operands to the name: sizes, or `s` for open ones, then the element type. The dialect's
first document writes `add_sxsxf32_sxsxf32`. Upstream writes
`linalg_matmul_viewsxsxf32_view4x8xf32_view4xsxf32` for ops that name no function.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from linalg_ext.definition.types import family
from linalg_ext.errors import LibraryError, counted

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
        """Return the reason why it does not take an operand, apart from its layout; or None."""
        if (self.shape is None) != (other.shape is None):
            return f"the operand is {other}, and the function takes {self}"
        if self.element != other.element:
            return f"the elements are {other.element}, and the function takes {self.element}"
        if self.shape is None or other.shape is None:
            return None
        if len(self.shape) != len(other.shape):
            return f"the rank is {len(other.shape)}, and the function takes rank {len(self.shape)}"
        for axis, (own, size) in enumerate(zip(self.shape, other.shape, strict=True)):
            if own is not None and own != size:
                shown = "open" if size is None else size
                return f"the size is {shown} along axis {axis}, and the function takes {own}"
        return None

    def takes_layout_of(self, other: OperandType) -> bool:
        """Return whether it takes the strides of an operand without a copy."""
        if self.strides is None or other.strides is None:
            return other.strides is None
        return all(has for has, needs in zip(other.strides, self.strides, strict=True) if needs)


@dataclass(frozen=True)
class Prototype:
    """A native function with the types of its operands.

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
        """Read `name(type, ...)`, or `name(type, ...) -> type`; a LibraryError for all else."""
        match = _PROTOTYPE.fullmatch(text.strip())
        if match is None:
            raise LibraryError(
                f"{text!r} does not state the operands of a function",
                expected=_FORM,
                hint="a shared library does not tell it",
            )
        operands = tuple(_operand(part, text) for part in _split(match["operands"]))
        result = match["result"]
        if result is not None:
            _check_scalar(result, text, result)
        return cls(match["symbol"], operands, result)

    def __str__(self) -> str:
        result = f" -> {self.result}" if self.result else ""
        return f"{self.symbol}({', '.join(map(str, self.operands))}){result}"

    def refusal_of(self, operands: tuple[OperandType, ...]) -> str | None:
        """Return the reason why it does not take these operands, even with copies; or None."""
        if len(operands) != len(self.operands):
            return (
                f"the op has {counted(len(operands), 'operand')}, and the function takes "
                f"{len(self.operands)}"
            )
        for number, (parameter, operand) in enumerate(zip(self.operands, operands, strict=True)):
            if reason := parameter.refusal_of(operand):
                return f"operand {number}: {reason}"
        return None


def _split(text: str) -> list[str]:
    """Return the parts between commas outside of brackets."""
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
    match = _MEMREF.fullmatch(plain)
    if match is None:
        _check_scalar(plain, whole, text)
        return OperandType(plain)
    vector = _VECTOR.fullmatch(match["element"])
    _check_element(vector["element"] if vector else match["element"], whole, text)
    sizes = match["shape"].split("x")[:-1]
    shape = tuple(None if size == "?" else int(size) for size in sizes)
    return OperandType(match["element"], shape, _strides(match["layout"], len(shape), whole))


def _strides(layout: str | None, rank: int, whole: str) -> tuple[bool, ...] | None:
    if layout is None:
        return None
    match = _LAYOUT.fullmatch(layout)
    strides = match["strides"].split(",") if match else []
    # A dense copy fits if only the last stride is known; it may not fit other strides.
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
            f"`{part.strip()}` is not a type that can be passed",
            where=whole,
            expected="memrefs, and of scalars " + ", ".join(_SCALARS),
            hint=f"write {_FORM}",
        )


def _check_element(element: str, whole: str, part: str) -> None:
    if family(element) is None:
        raise LibraryError(
            f"`{part.strip()}` is not a type that can be passed", where=whole, expected=_FORM
        )


@dataclass(frozen=True)
class Gemm(Prototype):
    """A function that is called as `cblas_sgemm` is; made by `gemm`.

    Attributes:
        integer_bits: of the sizes that it takes.
    """

    integer_bits: int = 32

    @property
    def element(self) -> str:
        """The element type of its matrices."""
        return self.operands[0].element

    def __str__(self) -> str:
        return f"{self.symbol}, a {self.element} product of CBLAS with i{self.integer_bits} sizes"


def gemm(symbol: str, element: str, *, integer_bits: Literal[32, 64] = 32) -> Gemm:
    """Return the `cblas_sgemm` or `cblas_dgemm` of a library, to register for "linalg.matmul".

    It is called for every product of two matrices, transposed or not, that is summed in the type of
    its elements. A matrix with a stride of 1 along one axis is read and written in place; any other
    is copied.

    Args:
        symbol: the function's name in the library.
        element: of the matrices: "f32" or "f64".
        integer_bits: of the sizes that it takes: 64 in libraries built with 64-bit integers.

    Raises:
        LibraryError: there is no such product.
    """
    if element not in ("f32", "f64") or integer_bits not in (32, 64):
        raise LibraryError(
            f"BLAS has no matrix product of {element} with {integer_bits}-bit sizes",
            expected='"f32" or "f64", and 32 or 64',
        )
    matrix = OperandType(element, (None, None), (False, False))
    return Gemm(symbol, (matrix, matrix, matrix), integer_bits=integer_bits)


def library_names(
    base: str, inputs: Sequence[OperandType], outputs: Sequence[OperandType]
) -> tuple[str, ...]:
    """Return the names for an op, the most particular first; `base` itself is the last.

    Args:
        base: the name that the op asks for: its `library_call`, or `linalg_` and its name.
        inputs, outputs: its operands. The document's names have the inputs, upstream's have all.
    """
    names = [
        "_".join([base, *(_mangled(operand, view, is_open) for operand in operands)])
        for is_open, operands, view in product(
            (False, True), ([*inputs, *outputs], inputs), ("view", "")
        )
    ]
    return tuple(dict.fromkeys([*names, base]))


def _mangled(operand: OperandType, view: str, is_open: bool) -> str:
    if operand.shape is None:
        return operand.element
    sizes = ["s" if size is None or is_open else str(size) for size in operand.shape]
    return view + "x".join([*sizes, operand.element])
