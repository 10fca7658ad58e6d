"""A semiring on arrays of one dtype: NumPy's functions for it, and the loop nests of kernels.

Three loop nests for each semiring and dtype are open in every size:

    contract    C[b, m, n]    += A[b, m, k]    * B[b, k, n]       n innermost
    inner       C[b, m, n, l] += A[b, m, k, l] * B[b, n, k, l]    l innermost
    reduce      C[m, l]       += A[m, k, l]                       l innermost

All einsums of all shapes come down to these by views. Sums of products of floats become packed
nests, one for each way in which their operands may have unit stride. Of the others the innermost
dimension is a parallel one, so that LLVM can vectorize without reordering a sum; for an inner
product the contracted dimension is cut into lanes l, and the lanes are summed last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import starmap
from typing import Any

import numpy as np

from linalg_ext.definition.initial import neutral_element
from linalg_ext.definition.model import OpDefinition
from linalg_ext.notations.einsum import Semiring, definition_of
from linalg_ext.runtime.dtypes import DType
from linalg_ext.utils.logs import quick_logger

Array = np.ndarray[Any, DType]

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max_signed": np.maximum,
    "min_signed": np.minimum,
}

_CHUNK = 1 << 17
"""Products that are held at a time."""

_OF_NUMPY = tuple(map(np.dtype, ("f4", "f8", "i4", "i8", "u4", "u8")))
"""Dtypes whose products NumPy sums in them: it widens no sum, and none would gain by it."""


def tell_numpy_computes(text: str, *values: object) -> None:
    """Tell the log of a part of an einsum that no kernel computes, and why."""
    quick_logger("fallbacks").info(f"einsum: NumPy computes {text}", *values)


@dataclass(frozen=True)
class Algebra:
    """A semiring on the elements of a dtype."""

    kind: Semiring
    dtype: DType

    @cached_property
    def is_numpys(self) -> bool:
        """Return whether NumPy has an equally fast matrix product for this kind and dtype."""
        return self.kind.name == "+*" and self.dtype in _OF_NUMPY

    @cached_property
    def zero(self) -> Any:
        """Return the neutral element of the sum: the result of an empty reduction."""
        return neutral_element(self.kind.add.name, self.dtype)

    @cached_property
    def add(self) -> np.ufunc:
        """Return the sum of two arrays."""
        return _UFUNCS[self.kind.add.name]

    @cached_property
    def multiply(self) -> np.ufunc:
        """Return the product of two arrays."""
        return _UFUNCS[self.kind.multiply.name]

    def reduce(self, array: Array, axes: tuple[int, ...]) -> Array:
        """Return the sum over some axes, of which none is empty."""
        if self.add is np.add:  # NumPy would count booleans, and widen small integers
            return np.asarray(np.add.reduce(array, axis=axes, dtype=self.dtype))
        return np.asarray(self.add.reduce(array, axis=axes))

    def contract(self, a: Array, b: Array) -> Array:
        """`C[b, m, n]`, the sum over k of `A[b, m, k] * B[b, k, n]`, in bounded memory."""
        if self.is_numpys:
            return _in_numpy(a, b)
        batch, rows, depth = a.shape
        columns = b.shape[2]
        if batch * rows * depth * columns <= _CHUNK:
            products = self.multiply(a[:, :, None, :], b.transpose(0, 2, 1)[:, None])
            return self.reduce(products, (3,))
        largest = max(batch, rows, depth, columns)
        if largest == depth:
            halves = zip(_halves(a, 2), _halves(b, 1), strict=True)
            return np.asarray(self.add(*starmap(self.contract, halves)))
        if largest == batch:
            axis, pairs = 0, [*zip(_halves(a, 0), _halves(b, 0), strict=True)]
        elif largest == rows:
            axis, pairs = 1, [(half, b) for half in _halves(a, 1)]
        else:
            axis, pairs = 2, [(a, half) for half in _halves(b, 2)]
        return np.concatenate([*starmap(self.contract, pairs)], axis=axis)


def _halves(array: Array, axis: int) -> list[Array]:
    return np.split(array, [array.shape[axis] // 2], axis)


def _in_numpy(a: Array, b: Array) -> Array:
    if a.shape[1] == b.shape[2] == 1:
        # A call of BLAS for each pair of vectors costs more than short sums take.
        sums: Array = np.einsum("bk,bk->b", a[:, 0], b[:, :, 0])
        return sums[:, None, None]
    products: Array = np.matmul(a, b)
    return products


@dataclass(frozen=True)
class Form:
    """A loop nest: the labels of its operands, and of its loops from the outside in.

    Each input has unit stride along its label of `nearest`, if there is one; where `nearest` is not
    given, along the innermost loop if it is the last label.
    """

    name: str
    inputs: tuple[str, ...]
    output: str
    loops: str
    nearest: tuple[str, ...] = ()

    def definition(self, algebra: Algebra) -> OpDefinition:
        """Return the form in a semiring, as an op on operands of one type."""
        return definition_of(
            self.inputs,
            self.output,
            kind=algebra.kind,
            name=f"einsum_{self.name}",
            dims=self.loops,
            types=["U"] * len(self.inputs),
        )


CONTRACT = Form("contract", ("bmk", "bkn"), "bmn", "bmkn")

INNER = Form("inner", ("bmkl", "bnkl"), "bmnl", "bmnkl")

REDUCE = Form("reduce", ("mkl",), "ml", "mkl")


@cache
def contract_form(nearest_a: str, nearest_b: str) -> Form:
    """`CONTRACT` for operands with unit stride along the labels given, or along none."""
    return replace(CONTRACT, nearest=(nearest_a, nearest_b))
