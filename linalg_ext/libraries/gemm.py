"""The matrix product of BLAS, which takes pointers and leading dimensions, no descriptors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linalg_ext.errors import LibraryError
from linalg_ext.libraries.prototype import OperandType, Prototype


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
    """The `cblas_sgemm` or `cblas_dgemm` of a library, to be registered for "linalg.matmul".

    It is called for every product of two matrices, transposed or not, that is summed in the type of
    its elements. A matrix with a stride of 1 along one axis is read and written where it lies; any
    other is copied.

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
