"""Functions of elements, by ops that mean the same in torch-mlir as in PyTorch.

torch-mlir computes functions of integers by floats, or lacks them: integers beyond 2^24, or 2^53,
lose bits in floats. It lacks most functions of complex numbers, which are computed by their parts.
Each function returns NotImplemented for other kinds of numbers.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from linalg_ext.frameworks.requirements import torch


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
    """Return a piecewise linear sigmoid."""
    return clamp(x + 3, 0, 6) / 6


def gelu(x: Any, *, approximate: str = "none") -> Any:
    """`aten.gelu` by a hyperbolic tangent: torch-mlir's own way has 0.79772 for sqrt(2 / pi)."""
    if approximate == "none":
        return NotImplemented
    wide = x.to(torch().promote_types(x.dtype, torch().float32))
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * (wide * wide * wide))
    return (0.5 * wide * (1 + torch().tanh(inner))).to(x.dtype)


def converted(x: Any, *, dtype: Any = None, **options: Any) -> Any:
    """`aten._to_copy`: floats as bytes, and real numbers as complex ones.

    torch-mlir takes bytes for signed on the way, and dies of real numbers that become complex. A
    number that does not fit into a byte becomes its lowest bits.
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
    """Return the function outside of training, where the slope is the mean one."""
    return NotImplemented if training else torch().where(x < 0, x * ((lower + upper) / 2), x)


def rrelu_with_noise(x: Any, noise: Any, *options: Any) -> Any:
    """`aten.rrelu_with_noise_functional`, which leaves the noise unchanged."""
    result = rrelu(x, *options)
    return result if result is NotImplemented else (result, noise)


def extremum(comparison: str, x: Any, y: Any) -> Any:
    """Return the larger of two (`gt`), or the smaller (`lt`); a NaN wins."""
    if not (x.is_floating_point() and y.is_floating_point()):
        return NotImplemented
    is_first = getattr(torch(), comparison)(x, y) | (x != x)
    return torch().where(is_first, x, y)


def hypot(x: Any, y: Any) -> Any:
    """Return `sqrt(x^2 + y^2)` by the ratio of the two: squares overflow, or underflow."""
    x, y = x.abs(), y.abs()
    # A NaN counts as the longer one, so that the result is NaN.
    is_longer = (x > y) | (x != x)
    longer, shorter = torch().where(is_longer, x, y), torch().where(is_longer, y, x)
    # Equal sides, whose ratio may be 0/0 or inf/inf, have the ratio 1.
    ratio = torch().where(longer == shorter, 1.0, shorter / longer)
    length = longer * torch().sqrt(1.0 + ratio * ratio)
    return torch().where((x == math.inf) | (y == math.inf), math.inf, length)


def isfinite(x: Any) -> Any:
    """Return whether elements are neither infinite nor NaN."""
    # The difference of an infinity, or a NaN, from itself is NaN.
    return x - x == 0


def reciprocal(x: Any) -> Any:
    """Return the reciprocal, infinite at zero; torch-mlir's own way treats zero as an error."""
    # PyTorch would write `1 / x` as this reciprocal again.
    return NotImplemented if x.dtype.is_complex else torch().ones_like(x) / x


def absolute(x: Any) -> Any:
    """Return the absolute value of complex numbers; torch-mlir lowers that of others."""
    return hypot(x.real, x.imag) if x.dtype.is_complex else NotImplemented


def product(x: Any, y: Any) -> Any:
    """Return the product of complex numbers, by their parts; torch-mlir lowers that of others."""
    parts = [_parts(operand_parts) for operand_parts in (x, y)]
    if not any(len(operand_parts) == 2 for operand_parts in parts):
        return NotImplemented
    (a, *b), (c, *d) = parts
    if not (b and d):
        factor, (real, imaginary) = (c, parts[0]) if b else (a, parts[1])
        return torch().complex(real * factor, imaginary * factor)
    return torch().complex(a * c - b[0] * d[0], a * d[0] + b[0] * c)


def _parts(x: Any) -> tuple[Any, ...]:
    return (x.real, x.imag) if _is_complex(x) else (x,)


def signbit(x: Any) -> Any:
    """Return whether elements are negative, zeros included; the sign of a NaN is ignored."""
    if not x.is_floating_point():
        return x < 0
    # The reciprocal of a negative zero is negative.
    return (x < 0) | ((x == 0) & (torch().ones_like(x) / x < 0))


def copysign(x: Any, y: Any) -> Any:
    """Return `x` with the sign of `y`, zeros included; the sign of a NaN is ignored."""
    x = x.to(torch().result_type(x, 1.0))
    if not isinstance(y, torch().Tensor):
        is_negative = math.copysign(1, y) < 0
        return -x.abs() if is_negative else x.abs().clone()
    return torch().where(signbit(y), -x.abs(), x.abs())


def fmod(x: Any, y: Any) -> Any:
    """Return the remainder of a division towards zero, with the sign of the dividend."""
    dtype = torch().result_type(x, y)
    x = x.to(dtype)
    y = y.to(dtype) if isinstance(y, torch().Tensor) else torch().full_like(x, y)
    if dtype.is_floating_point:
        rest = torch().remainder(x.abs(), y.abs())
        # The remainder of a zero is the zero itself, with its sign.
        return torch().where((x == 0) & (y.abs() > 0), x, torch().where(x < 0, -rest, rest))
    rest = torch().remainder(x, y)
    return torch().where((rest != 0) & ((x < 0) != (y < 0)), rest - y, rest)


def number_of_two(comparison: str, x: Any, y: Any) -> Any:
    """Return the larger of two (`ge`), or the smaller (`le`); a number wins over a NaN."""
    is_first = getattr(torch(), comparison)(x, y)
    if y.is_floating_point():
        is_first = is_first | (y != y)
    return torch().where(is_first, x, y)


def reverse_difference(x: Any, other: Any, alpha: Any = 1) -> Any:
    """`aten.rsub.Scalar`: torch-mlir's importer rounds a number in the first place to f32."""
    return torch().neg(x if alpha == 1 else x * alpha) + other


def remainder_of_number(number: Any, x: Any) -> Any:
    """`aten.remainder.Scalar_Tensor`, by that of two tensors."""
    return torch().remainder(torch().full_like(x, number, dtype=torch().result_type(x, number)), x)


def negated(x: Any) -> Any:
    """Return the negative of integers; the least integer stays itself."""
    return x * -1 if _is_whole(x) else NotImplemented


def quotient(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """`aten.div.Tensor_mode` of integers: the floor follows from the quotient towards zero."""
    if rounding_mode is None or not _are_whole(x, y):
        return NotImplemented
    tensors = [value for value in (x, y) if isinstance(value, torch().Tensor)]
    if rounding_mode == "trunc" and len(tensors) == 2:
        return NotImplemented  # torch-mlir's own way is this one
    like = torch().empty_like(tensors[0], dtype=torch().result_type(x, y))
    x, y = (_tensor(value, like) for value in (x, y))
    towards_zero = torch().ops.aten.div.Tensor_mode(x, y, rounding_mode="trunc")
    if rounding_mode == "trunc":
        return towards_zero
    rest = x - towards_zero * y
    is_below = (rest != 0) & ((rest < 0) != (y < 0))
    return torch().where(is_below, towards_zero - 1, towards_zero)


def power_of_number(x: Any, exponent: float) -> Any:
    """`aten.pow.Tensor_Scalar`: squares, and products of them."""
    if not _is_whole(x):
        return NotImplemented
    if type(exponent) is not int:
        return x.to(torch().result_type(x, exponent)).pow(exponent)
    if exponent < 0:
        return NotImplemented
    result, square = torch().ones_like(x), x
    while exponent:
        result = result * square if exponent & 1 else result
        exponent >>= 1
        square = square * square if exponent else square
    return result


def power(x: Any, exponent: Any) -> Any:
    """`aten.pow` of a tensor of exponents: a square for each bit of them."""
    if not _are_whole(x, exponent):
        return NotImplemented
    like = torch().empty_like(exponent, dtype=torch().result_type(x, exponent))
    base, exponent = (_tensor(value, like) for value in (x, exponent))
    result, square = torch().ones_like(base), base
    for bit in range(torch().iinfo(like.dtype).bits - 1):
        result = torch().where((exponent >> bit) & 1 != 0, result * square, result)
        square = square * square
    # A negative power of an integer is 0, except for those of 1 and -1.
    inverse = torch().where(base == 1, 1, torch().where(base == -1, result, 0))
    return torch().where(exponent < 0, inverse, result)


def with_number(op: str, x: Any, y: Any) -> Any:
    """Apply an op of two tensors to one and a number."""
    return getattr(torch(), op)(x, torch().full_like(x, y))


def mean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`aten.mean.dim` of integers, as floats of a type."""
    if not _is_whole(x) or dtype is None:
        return NotImplemented
    return x.to(dtype).mean(dim, keepdim)


def _tensor(value: Any, like: Any) -> Any:
    """Return a tensor of the type of another; a number becomes one of its shape."""
    if isinstance(value, torch().Tensor):
        return value.to(like.dtype)
    return torch().full_like(like, value)


def _are_whole(*values: Any) -> bool:
    return all(
        _is_whole(value) if isinstance(value, torch().Tensor) else type(value) is int
        for value in values
    )


def _is_whole(x: Any) -> bool:
    """Return whether a tensor is of integers of more than a bit."""
    kind = x.dtype
    return not (kind.is_floating_point or kind.is_complex or kind is torch().bool)


def ops() -> Mapping[Any, Callable[..., Any]]:
    """Return the functions of complex numbers, by PyTorch's ops."""
    aten = torch().ops.aten
    summed = aten.sum.default, aten.sum.dim_IntList, aten.mean.default, aten.mean.dim
    sums: dict[Any, Callable[..., Any]] = {op: functools.partial(_by_parts, op) for op in summed}
    return {
        **sums,
        aten.neg.default: functools.partial(_by_parts, aten.neg.default),
        aten.add.Tensor: functools.partial(_complex_sum, operator.add),
        aten.add.Scalar: functools.partial(_complex_sum, operator.add),
        aten.sub.Tensor: functools.partial(_complex_sum, operator.sub),
        aten.sub.Scalar: functools.partial(_complex_sum, operator.sub),
        aten.div.Tensor: _complex_quotient,
        aten.div.Scalar: _complex_quotient,
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


def _both_parts(x: Any) -> tuple[Any, Any]:
    """Return the real part and the imaginary one; that of a real number is 0."""
    return (x.real, x.imag) if _is_complex(x) else (x, 0)


def _by_parts(op: Any, x: Any, *operands: Any, dtype: Any = None, **keywords: Any) -> Any:
    """Apply an op to the real and the imaginary part alike."""
    if not _is_complex(x) or dtype not in (None, x.dtype):
        return NotImplemented
    return torch().complex(*(op(part, *operands, **keywords) for part in _both_parts(x)))


def _complex_sum(op: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    if not (_is_complex(x) or _is_complex(y)):
        return NotImplemented
    if alpha != 1:
        y = y * alpha
    return _complex(*map(op, _both_parts(x), _both_parts(y)))


def _complex(real: Any, imaginary: Any) -> Any:
    """Return a tensor by its parts, of one shape and one type."""
    if not isinstance(imaginary, torch().Tensor):
        imaginary = torch().full_like(real, imaginary)
    dtype = torch().promote_types(real.dtype, imaginary.dtype)
    real, imaginary = torch().broadcast_tensors(real.to(dtype), imaginary.to(dtype))
    return torch().complex(real, imaginary)


def _complex_quotient(x: Any, y: Any) -> Any:
    """Divide after scaling by the larger part of the divisor, whose square may overflow."""
    if not (_is_complex(x) or _is_complex(y)):
        return NotImplemented
    a, b = _both_parts(x)
    if not _is_complex(y):
        return _complex(a / y, b / y)
    c, d = _both_parts(y)
    if not isinstance(y, torch().Tensor):
        c, d = (torch().full_like(_both_parts(x)[0], part) for part in (c, d))
    largest = torch().maximum(c.abs(), d.abs())
    c, d = _scaled_part(c, d, largest), _scaled_part(d, c, largest)
    size, is_zero = (c * c + d * d) * largest, largest == 0
    real = torch().where(is_zero, a / largest, (a * c + b * d) / size)
    return _complex(real, torch().where(is_zero, b / largest, (b * c - a * d) / size))


def _scaled_part(x: Any, other: Any, largest: Any) -> Any:
    """Return a part over the larger one; the sign of a part that alone is infinite."""
    is_alone = (x.abs() == math.inf) & (other.abs() != math.inf)
    return torch().where(is_alone, x.sign(), x / largest)


def _reciprocal(x: Any) -> Any:
    return _complex_quotient(torch().ones_like(x.real), x) if _is_complex(x) else NotImplemented


def _power(x: Any, exponent: Any) -> Any:
    return x * x if _is_complex(x) and exponent == 2 else NotImplemented


def _conjugate(x: Any) -> Any:
    return torch().complex(x.real, -x.imag) if _is_complex(x) else NotImplemented


def _angle(x: Any) -> Any:
    if _is_complex(x):
        return torch().atan2(x.imag, x.real)
    dtype = torch().result_type(x, 1.0)
    # A NaN is its own angle.
    return torch().where(x != x, x, (x < 0).to(dtype) * math.pi).to(dtype)


def _exponential(x: Any) -> Any:
    if not _is_complex(x):
        return NotImplemented
    size, angle = x.real.exp(), x.imag
    # The sine of a real number is 0, even if its factor is infinite.
    imaginary = torch().where(angle == 0, angle, size * angle.sin())
    return torch().complex(size * angle.cos(), imaginary)


def _logarithm(x: Any) -> Any:
    return torch().complex(x.abs().log(), x.angle()) if _is_complex(x) else NotImplemented


def _is_equal(x: Any, y: Any) -> Any:
    if not (_is_complex(x) or _is_complex(y)):
        return NotImplemented
    (a, b), (c, d) = _both_parts(x), _both_parts(y)
    return (a == c) & (b == d)
