"""Functions of elements, by ops that mean the same in torch-mlir as in PyTorch."""

from __future__ import annotations

import math
from typing import Any

from linalg_ext.frameworks.torch.requirements import torch


def clamp(x: Any, min: float | None = None, max: float | None = None) -> Any:
    """Clamp floats and keep NaN; torch-mlir's own decomposition turns NaN into a bound."""
    if not x.is_floating_point():
        return NotImplemented
    x = x if min is None else torch().where(x < min, min, x)
    return x if max is None else torch().where(x > max, max, x)


def hardtanh(x: Any, min_val: float = -1, max_val: float = 1) -> Any:
    """`clamp` by its other name."""
    return clamp(x, min_val, max_val)


def hardsigmoid(x: Any) -> Any:
    """A sigmoid of straight lines."""
    return clamp(x + 3, 0, 6) / 6


def converted(x: Any, *, dtype: Any = None, **others: Any) -> Any:
    """`aten._to_copy`: floats as bytes, and real numbers as complex ones.

    torch-mlir takes bytes for signed on the way, and dies of real numbers that become complex. What
    does not fit into a byte gives its lowest bits.
    """
    if dtype is torch().uint8 and x.is_floating_point():
        return x.to(torch().int32).to(dtype)
    if dtype is not None and dtype.is_complex and not x.dtype.is_complex:
        real = x.to(dtype.to_real())
        return torch().complex(real, torch().zeros_like(real))
    return NotImplemented


def rrelu(
    x: Any,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """Outside of training nothing is random: the slope is the one in the middle."""
    return NotImplemented if training else torch().where(x < 0, x * ((lower + upper) / 2), x)


def rrelu_with_noise(x: Any, noise: Any, *others: Any) -> Any:
    """`aten.rrelu_with_noise_functional`: nothing is written to the noise."""
    found = rrelu(x, *others)
    return found if found is NotImplemented else (found, noise)


def extremum(comparison: str, x: Any, y: Any) -> Any:
    """The larger of two, or the smaller; what is no number wins."""
    if not (x.is_floating_point() and y.is_floating_point()):
        return NotImplemented
    is_first = getattr(torch(), comparison)(x, y) | (x != x)
    return torch().where(is_first, x, y)


def hypot(x: Any, y: Any) -> Any:
    """By the ratio of the two: squares of what is large, or tiny, are infinite, or nothing."""
    x, y = x.abs(), y.abs()
    # What is no number counts as the longer one: so it is in the result.
    is_longer = (x > y) | (x != x)
    longer, shorter = torch().where(is_longer, x, y), torch().where(is_longer, y, x)
    # Equal ones, of which the ratio may be 0/0 or inf/inf, have the ratio 1.
    ratio = torch().where(longer == shorter, 1.0, shorter / longer)
    found = longer * torch().sqrt(1.0 + ratio * ratio)
    return torch().where((x == math.inf) | (y == math.inf), math.inf, found)


def isfinite(x: Any) -> Any:
    """Return whether they are numbers, and not infinite."""
    # Of what is not finite, the difference from itself is no number.
    return x - x == 0


def reciprocal(x: Any) -> Any:
    """Return the reciprocal, infinite at zero; torch-mlir's own way treats zero as an error."""
    # A number over a tensor is its reciprocal to PyTorch; over a tensor of one, a tensor goes.
    return NotImplemented if x.dtype.is_complex else torch().ones_like(x) / x


def absolute(x: Any) -> Any:
    """Return the absolute value of complex numbers; torch-mlir lowers that of others."""
    return hypot(x.real, x.imag) if x.dtype.is_complex else NotImplemented


def product(x: Any, y: Any) -> Any:
    """Return the product of complex numbers, by their parts; torch-mlir lowers that of others."""
    parts = [_parts(each) for each in (x, y)]
    if not any(len(each) == 2 for each in parts):
        return NotImplemented
    (a, *b), (c, *d) = parts
    if not (b and d):
        factor, (real, imaginary) = (c, parts[0]) if b else (a, parts[1])
        return torch().complex(real * factor, imaginary * factor)
    return torch().complex(a * c - b[0] * d[0], a * d[0] + b[0] * c)


def _parts(x: Any) -> tuple[Any, ...]:
    """The real part, and the imaginary one where there is one."""
    is_complex = x.dtype.is_complex if isinstance(x, torch().Tensor) else isinstance(x, complex)
    return (x.real, x.imag) if is_complex else (x,)


def signbit(x: Any) -> Any:
    """Return whether they are negative, a zero too; a NaN is not here."""
    if not x.is_floating_point():
        return x < 0
    # Of the zero that is negative the reciprocal tells.
    return (x < 0) | ((x == 0) & (torch().ones_like(x) / x < 0))


def copysign(x: Any, y: Any) -> Any:
    """The size of one with the sign of the other, that of a zero too; a NaN has no sign here."""
    x = x.to(torch().result_type(x, 1.0))
    if not isinstance(y, torch().Tensor):
        is_negative = math.copysign(1, y) < 0
        return -x.abs() if is_negative else x.abs().clone()
    return torch().where(signbit(y), -x.abs(), x.abs())


def fmod(x: Any, y: Any) -> Any:
    """The rest of a division towards zero: its sign is that of the dividend."""
    dtype = torch().result_type(x, y)
    x = x.to(dtype)
    y = y.to(dtype) if isinstance(y, torch().Tensor) else torch().full_like(x, y)
    if dtype.is_floating_point:
        rest = torch().remainder(x.abs(), y.abs())
        # A zero is its own rest, and keeps its sign.
        return torch().where((x == 0) & (y.abs() > 0), x, torch().where(x < 0, -rest, rest))
    rest = torch().remainder(x, y)
    return torch().where((rest != 0) & ((x < 0) != (y < 0)), rest - y, rest)


def number_of_two(comparison: str, x: Any, y: Any) -> Any:
    """The larger of two (`ge`), or the smaller (`le`); a number wins over a NaN."""
    is_first = getattr(torch(), comparison)(x, y)
    if y.is_floating_point():
        is_first = is_first | (y != y)
    return torch().where(is_first, x, y)
