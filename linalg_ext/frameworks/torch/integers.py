"""Functions of integers, which torch-mlir would compute by floats, or knows nothing of.

Integers beyond 2^24, or 2^53, lose bits in floats. What is no integer these leave as it is.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.frameworks.torch.requirements import torch


def negated(x: Any) -> Any:
    """The least of all stays itself."""
    return x * -1 if _is_whole(x) else NotImplemented


def quotient(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """`aten.div.Tensor_mode`: of integers down to the next one by the quotient towards zero."""
    if rounding_mode is None or not _are_whole(x, y):
        return NotImplemented
    given = [each for each in (x, y) if isinstance(each, torch().Tensor)]
    if rounding_mode == "trunc" and len(given) == 2:
        return NotImplemented  # torch-mlir's own way is this one
    like = torch().empty_like(given[0], dtype=torch().result_type(x, y))
    x, y = (_tensor(each, like) for each in (x, y))
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
    found, square = torch().ones_like(x), x
    while exponent:
        found = found * square if exponent & 1 else found
        exponent >>= 1
        square = square * square if exponent else square
    return found


def power(x: Any, exponent: Any) -> Any:
    """`aten.pow` of a tensor of exponents: a square for each bit of them."""
    if not _are_whole(x, exponent):
        return NotImplemented
    like = torch().empty_like(exponent, dtype=torch().result_type(x, exponent))
    base, exponent = (_tensor(each, like) for each in (x, exponent))
    found, square = torch().ones_like(base), base
    for bit in range(torch().iinfo(like.dtype).bits - 1):
        found = torch().where((exponent >> bit) & 1 != 0, found * square, found)
        square = square * square
    # One over an integer is none, but for 1 and -1.
    inverse = torch().where(base == 1, 1, torch().where(base == -1, found, 0))
    return torch().where(exponent < 0, inverse, found)


def exclusive_or(x: Any, y: Any) -> Any:
    """`aten.bitwise_xor.Scalar`."""
    return torch().bitwise_xor(x, torch().full_like(x, y))


def inclusive_or(x: Any, y: Any) -> Any:
    """`aten.bitwise_or.Scalar`."""
    return torch().bitwise_or(x, torch().full_like(x, y))


def shifted_left(x: Any, y: Any) -> Any:
    """`aten.__lshift__`, by its other name."""
    return torch().bitwise_left_shift(x, y)


def shifted_right(x: Any, y: Any) -> Any:
    """`aten.__rshift__`, by its other name."""
    return torch().bitwise_right_shift(x, y)


def mean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`aten.mean.dim` of integers, as floats of a type."""
    if not _is_whole(x) or dtype is None:
        return NotImplemented
    return x.to(dtype).mean(dim, keepdim)


def _tensor(value: Any, like: Any) -> Any:
    """A tensor of the type of another; a number becomes one of its shape."""
    if isinstance(value, torch().Tensor):
        return value.to(like.dtype)
    return torch().full_like(like, value)


def _are_whole(*values: Any) -> bool:
    return all(
        _is_whole(each) if isinstance(each, torch().Tensor) else type(each) is int
        for each in values
    )


def _is_whole(x: Any) -> bool:
    """Return whether a tensor is of integers of more than a bit."""
    kind = x.dtype
    return not (kind.is_floating_point or kind.is_complex or kind is torch().bool)
