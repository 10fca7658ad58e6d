"""Fourier transforms as products with the matrix of the transform, one axis after the other.

A long axis is transformed along two factors of its size (Cooley and Tukey, 1965).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from linalg_ext.frameworks.requirements import torch

Parts = tuple[Any, Any]

_NOT_AT_ALL, _BY_ROOT = 0, 1
"""PyTorch's codes of normalizations: none, and by the root; the third is by the count itself."""


def of_complex(x: Any, *, dim: Sequence[int], forward: bool) -> Any:
    """`prims.fft_c2c`: of complex numbers, not normalized."""
    if not _are_known(x, dim):
        return NotImplemented
    return torch().complex(*_of_parts((x.real, x.imag), dim, forward))


def of_real(x: Any, *, dim: Sequence[int], onesided: bool) -> Any:
    """`prims.fft_r2c`: of real numbers; with `onesided`, half of the symmetric last axis."""
    if not _are_known(x, dim):
        return NotImplemented
    *rest, last = dim
    size = x.shape[last]
    count = size // 2 + 1 if onesided else size
    if _factor(size) != size:
        real, imaginary = _of_parts((x, torch().zeros_like(x)), (last,), True)
        parts = real.narrow(last, 0, count), imaginary.narrow(last, 0, count)
    else:
        cosines, sines = _waves(size, size, count, x.dtype, True)
        parts = _along(x, last, cosines), _along(x, last, sines)
    return torch().complex(*_of_parts(parts, rest, True))


def to_real(x: Any, *, dim: Sequence[int], last_dim_size: int) -> Any:
    """`prims.fft_c2r`: back from half of a spectrum whose other half is its mirror."""
    if not (_are_known(x, dim) and isinstance(last_dim_size, int)):
        return NotImplemented
    *rest, last = dim
    count = last_dim_size // 2 + 1
    parts = _of_parts((x.real, x.imag), rest, False)
    half = tuple(part.narrow(last, 0, count) for part in parts)
    real, imaginary = half
    if _factor(last_dim_size) != last_dim_size:
        mirrored = (part.narrow(last, 1, last_dim_size - count).flip(last) for part in half)
        other_real, other_imaginary = mirrored
        spectrum = (
            torch().cat((real, other_real), last),
            torch().cat((imaginary, -other_imaginary), last),
        )
        return _of_parts(spectrum, (last,), False)[0]
    cosines, sines = _waves(last_dim_size, last_dim_size, count, real.dtype, False)
    # Each number stands for its mirror image, too, except the first, and the middle one if any.
    indices = torch().arange(count)
    is_alone = (indices == 0) | (2 * indices == last_dim_size)
    weights = torch().where(is_alone, 1.0, 2.0).to(real.dtype)
    cosines, sines = (wave * weights for wave in (cosines, sines))
    return _along(real, last, cosines.mT) - _along(imaginary, last, sines.mT)


def normalized(transform: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """`aten._fft_c2c` and its like, which divide by a power of the number of elements.

    Args:
        kind: the name of its last argument.
    """

    def normal(x: Any, dim: Sequence[int], normalization: int, last: Any) -> Any:
        spectrum = transform(x, dim=dim, **{kind: last})
        if spectrum is NotImplemented or normalization == _NOT_AT_ALL:
            return spectrum
        sizes = [x.shape[axis] for axis in dim]
        if kind == "last_dim_size":
            sizes[-1] = last
        count = math.prod(sizes)
        return spectrum * (1 / (math.sqrt(count) if normalization == _BY_ROOT else count))

    return normal


def _of_parts(parts: Parts, dim: Sequence[int], forward: bool) -> Parts:
    """Transform complex numbers, given as real and imaginary parts, along some axes."""
    for axis in dim:
        real, imaginary = _transformed([part.transpose(axis, -1) for part in parts], forward)
        parts = real.transpose(axis, -1), imaginary.transpose(axis, -1)
    return parts


_LONGEST = 64
"""The longest axis that is one product: for it, that is as fast as two shorter ones."""


def _factor(size: int) -> int:
    """Return the factor of a long size next to its root; the size itself, if it has none."""
    if size <= _LONGEST:
        return size
    below = (number for number in range(math.isqrt(size), 1, -1) if size % number == 0)
    return next(below, size)


def _transformed(parts: Sequence[Any], forward: bool) -> Parts:
    """Transform complex numbers along the last axis."""
    real, imaginary = parts
    size = real.shape[-1]
    rows = _factor(size)
    if rows == size:
        return _product(real, imaginary, *_waves(size, size, size, real.dtype, forward), "matmul")
    split = [part.unflatten(-1, (rows, size // rows)).mT for part in parts]
    columns = _transformed(split, forward)
    turned = _product(*columns, *_waves(size, size // rows, rows, real.dtype, forward), "mul")
    real, imaginary = _transformed([part.mT for part in turned], forward)
    return real.mT.flatten(-2), imaginary.mT.flatten(-2)


def _product(real: Any, imaginary: Any, cosines: Any, sines: Any, kind: str) -> Parts:
    """Return the product of complex numbers, given as real and imaginary parts."""
    multiply = getattr(torch(), kind)
    return (
        multiply(real, cosines) - multiply(imaginary, sines),
        multiply(real, sines) + multiply(imaginary, cosines),
    )


def _are_known(x: Any, dim: Sequence[int]) -> bool:
    return all(isinstance(x.shape[axis], int) for axis in dim)


def _waves(size: int, rows: int, columns: int, dtype: Any, forward: bool) -> Parts:
    """Return the parts of powers of a root of unity, of order `size`, by row times column."""
    turns = torch().arange(rows).unsqueeze(1) * torch().arange(columns) % size
    angles = turns.to(dtype) * ((-2 if forward else 2) * math.pi / size)
    return angles.cos(), angles.sin()


def _along(x: Any, axis: int, matrix: Any) -> Any:
    """Return the product of each vector along an axis with a matrix."""
    return (x.transpose(axis, -1) @ matrix).transpose(axis, -1)
