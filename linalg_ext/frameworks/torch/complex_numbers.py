"""Arithmetic with complex numbers by their parts: torch-mlir has hardly any of it.

Each function is PyTorch's op where a complex number takes part, and leaves all others alone.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from linalg_ext.frameworks.torch.requirements import torch


def ops() -> Mapping[Any, Callable[..., Any]]:
    """By PyTorch's ops."""
    aten = torch().ops.aten
    summed = aten.sum.default, aten.sum.dim_IntList, aten.mean.default, aten.mean.dim
    sums: dict[Any, Callable[..., Any]] = {op: functools.partial(_by_parts, op) for op in summed}
    return {
        **sums,
        aten.neg.default: functools.partial(_by_parts, aten.neg.default),
        aten.add.Tensor: functools.partial(_sum, operator.add),
        aten.add.Scalar: functools.partial(_sum, operator.add),
        aten.sub.Tensor: functools.partial(_sum, operator.sub),
        aten.sub.Scalar: functools.partial(_sum, operator.sub),
        aten.div.Tensor: _quotient,
        aten.div.Scalar: _quotient,
        aten.reciprocal.default: _reciprocal,
        aten.pow.Tensor_Scalar: _power,
        aten._conj.default: _conjugate,
        aten._conj_physical.default: _conjugate,
        aten.angle.default: _angle,
        aten.exp.default: _exponential,
        aten.log.default: _logarithm,
        aten.eq.Tensor: _is_equal,
    }


def _is_complex(x: Any) -> bool:
    return x.dtype.is_complex if isinstance(x, torch().Tensor) else isinstance(x, complex)


def _parts(x: Any) -> tuple[Any, Any]:
    """The real part and the imaginary one; that of a real number is 0."""
    return (x.real, x.imag) if _is_complex(x) else (x, 0)


def _by_parts(op: Any, x: Any, *operands: Any, dtype: Any = None, **keywords: Any) -> Any:
    """Apply an op to the real and the imaginary part alike."""
    if not _is_complex(x) or dtype not in (None, x.dtype):
        return NotImplemented
    return torch().complex(*(op(part, *operands, **keywords) for part in _parts(x)))


def _sum(op: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    if not (_is_complex(x) or _is_complex(y)):
        return NotImplemented
    if alpha != 1:
        y = y * alpha
    return _complex(*map(op, _parts(x), _parts(y)))


def _complex(real: Any, imaginary: Any) -> Any:
    """A tensor by its parts, of one shape and one type."""
    if not isinstance(imaginary, torch().Tensor):
        imaginary = torch().full_like(real, imaginary)
    dtype = torch().promote_types(real.dtype, imaginary.dtype)
    real, imaginary = torch().broadcast_tensors(real.to(dtype), imaginary.to(dtype))
    return torch().complex(real, imaginary)


def _quotient(x: Any, y: Any) -> Any:
    """Scaled by the larger part of the divisor, so that its square need not be a number."""
    if not (_is_complex(x) or _is_complex(y)):
        return NotImplemented
    a, b = _parts(x)
    if not _is_complex(y):
        return _complex(a / y, b / y)
    c, d = _parts(y)
    if not isinstance(y, torch().Tensor):
        c, d = (torch().full_like(_parts(x)[0], part) for part in (c, d))
    largest = torch().maximum(c.abs(), d.abs())
    c, d = _scaled(c, d, largest), _scaled(d, c, largest)
    size, is_zero = (c * c + d * d) * largest, largest == 0
    real = torch().where(is_zero, a / largest, (a * c + b * d) / size)
    return _complex(real, torch().where(is_zero, b / largest, (b * c - a * d) / size))


def _scaled(x: Any, other: Any, largest: Any) -> Any:
    """A part over the larger one: of one that alone is infinite, its sign."""
    is_alone = (x.abs() == math.inf) & (other.abs() != math.inf)
    return torch().where(is_alone, x.sign(), x / largest)


def _reciprocal(x: Any) -> Any:
    return _quotient(torch().ones_like(x.real), x) if _is_complex(x) else NotImplemented


def _power(x: Any, exponent: Any) -> Any:
    return x * x if _is_complex(x) and exponent == 2 else NotImplemented


def _conjugate(x: Any) -> Any:
    return torch().complex(x.real, -x.imag) if _is_complex(x) else NotImplemented


def _angle(x: Any) -> Any:
    return torch().atan2(x.imag, x.real) if _is_complex(x) else NotImplemented


def _exponential(x: Any) -> Any:
    if not _is_complex(x):
        return NotImplemented
    size, angle = x.real.exp(), x.imag
    # Of a real number the sine is 0, whatever that is to be multiplied by.
    imaginary = torch().where(angle == 0, angle, size * angle.sin())
    return torch().complex(size * angle.cos(), imaginary)


def _logarithm(x: Any) -> Any:
    return torch().complex(x.abs().log(), x.angle()) if _is_complex(x) else NotImplemented


def _is_equal(x: Any, y: Any) -> Any:
    if not (_is_complex(x) or _is_complex(y)):
        return NotImplemented
    (a, b), (c, d) = _parts(x), _parts(y)
    return (a == c) & (b == d)
