"""The signature of an entry: what its arguments and results are, in NumPy's terms."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from linalg_ext.runtime.dtypes import DType, ElementType

Shape = tuple[int | None, ...]
"""Dimensions; None where the module leaves one open."""


class ArrayType(NamedTuple):
    """A ranked tensor or memref.

    Attributes:
        kind: tensors are values; memrefs are memory that the entry may write.
        shape: of the array that stands for it: the type's own dimensions, then `vector`.
        element: of one scalar.
        vector: the shape of one element where the elements are vectors, else ().
        strides: in elements, of a memref with a layout; None for the row-major order.
        offset: in elements; None where open.
    """

    text: str
    kind: Literal["tensor", "memref"]
    shape: Shape
    element: ElementType
    vector: tuple[int, ...] = ()
    strides: Shape | None = None
    offset: int | None = 0

    @property
    def rank(self) -> int:
        """The rank of the MLIR type: vector dimensions do not count."""
        return len(self.shape) - len(self.vector)

    @property
    def is_static(self) -> bool:
        """Return whether every dimension is known."""
        return None not in self.shape

    @property
    def itemsize(self) -> int:
        """Bytes of one element of the MLIR type."""
        return self.element.storage * math.prod(self.vector)

    def __str__(self) -> str:
        return self.text


class ScalarType(NamedTuple):
    """A number passed by value."""

    text: str
    element: ElementType

    def __str__(self) -> str:
        return self.text


ValueType = ArrayType | ScalarType


class Parameter(NamedTuple):
    """One input of the entry."""

    position: int
    type: ValueType
    is_written: bool = False

    def __str__(self) -> str:
        return f"argument {self.position} ({self.type})"


class Result(NamedTuple):
    """One result of the entry, and the dtype it is handed back as."""

    position: int
    type: ValueType
    dtype: DType

    @property
    def shape(self) -> Shape:
        """The shape of the array handed back; () for a scalar."""
        return self.type.shape if isinstance(self.type, ArrayType) else ()

    def __str__(self) -> str:
        return f"result {self.position} ({self.type})"


class Signature(NamedTuple):
    """The signature of an entry: its name, its parameters and its results."""

    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]

    def __str__(self) -> str:
        inputs = ", ".join(str(parameter.type) for parameter in self.parameters)
        outputs = ", ".join(str(result.type) for result in self.results)
        return f"{self.name}({inputs}) -> ({outputs})"
