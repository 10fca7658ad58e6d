"""Sizes that are open while a function is traced: `lx.Dim("n")` and the numbers computed from it.

A size is an integer, or a symbolic integer of named dimensions, whose value a call alone tells.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, Union, cast

import numpy as np

from linalg_ext.errors import ArgumentError, TraceError, caller_location
from linalg_ext.symbolic.integers import (
    Expression,
    Number,
    Symbol,
    Truth,
    at_most,
    decided,
    equal,
    is_eq,
    is_le,
    negated,
    substitute,
    symbols_of,
)
from linalg_ext.utils import hooks

AnySize = Union[int, "Size"]
Shape = tuple[AnySize, ...]


Compute = Callable[[Any, Any], Number]


def _operation(
    ufunc: np.ufunc, compute: Compute, *, is_swapped: bool = False
) -> Callable[[Size, Any], Any]:
    """Return the operator of sizes that computes a number from those of its operands."""

    def operate(self: Size, other: Any) -> Any:
        left, right = (other, self) if is_swapped else (self, other)
        if _number(other) is None:
            return _traced(ufunc, left, right)
        return as_size(compute(_number(left), _number(right)))

    return operate


def _comparison(
    sign: str, ufunc: np.ufunc, compare: Callable[[Any, Any], Truth]
) -> Callable[[Size, Any], bool]:
    """Return the comparison of sizes, which the call at hand answers where the sizes do not."""

    def ask(self: Size, other: Any) -> bool:
        number = _number(other)
        if number is None:
            is_equality = ufunc in (np.equal, np.not_equal)
            return NotImplemented if is_equality else _traced(ufunc, self, other)
        answer = decided(compare(self.number, number))
        if answer is None:
            answer = hooks.facade("tracing").on_comparison(self, sign, other)
        return self._refuse(f"whether {self} {sign} {other}") if answer is None else answer

    return ask


def _quotient(own: Any, divisor: Any) -> Number:
    """Return `own // divisor`; the algebra divides by positive numbers."""
    is_negative = isinstance(divisor, int) and divisor < 0
    quotient: Number = -own // -divisor if is_negative else own // divisor
    return quotient


def _remainder(own: Any, divisor: Any) -> Number:
    """Return `own % divisor`, which has the sign of the divisor."""
    is_negative = isinstance(divisor, int) and divisor < 0
    remainder: Number = -(-own % -divisor) if is_negative else own % divisor
    return remainder


class Size:
    """A size that only a call tells. Operators: `+ - * // %` and comparisons.

    Quotients, roots and results of floats are traced numbers.

    Raises:
        TraceError: Python asks for the number, or for a comparison that no call decides.
    """

    __slots__ = ("number",)

    def __init__(self, number: Expression) -> None:
        self.number = number

    @property
    def names(self) -> frozenset[str]:
        """Return the dimensions that it is made of."""
        return frozenset(str(symbol.key) for symbol in symbols_of(self.number))

    @property
    def name(self) -> str | None:
        """Its name where it is one dimension by itself."""
        ((atom, _), *_) = self.number.terms
        is_alone = isinstance(atom, Symbol) and self.number == atom.number
        return str(atom.key) if isinstance(atom, Symbol) and is_alone else None

    def substitute(self, sizes: Mapping[str, AnySize]) -> AnySize:
        """Return the size with other sizes in the place of dimensions."""
        numbers = {name: as_number(size) for name, size in sizes.items()}
        size: AnySize = as_size(substitute(self.number, numbers))
        return size

    __add__ = __radd__ = _operation(np.add, operator.add)
    __mul__ = __rmul__ = _operation(np.multiply, operator.mul)
    __sub__ = _operation(np.subtract, operator.sub)
    __rsub__ = _operation(np.subtract, operator.sub, is_swapped=True)
    __floordiv__ = _operation(np.floor_divide, _quotient)
    __rfloordiv__ = _operation(np.floor_divide, _quotient, is_swapped=True)
    __mod__ = _operation(np.remainder, _remainder)
    __rmod__ = _operation(np.remainder, _remainder, is_swapped=True)

    def __neg__(self) -> Any:
        return as_size(-self.number)

    def __pos__(self) -> Size:
        return self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Any:
        return _traced(np.true_divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _traced(np.true_divide, other, self)

    def __pow__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return _traced(np.power, self, other)
        power: Any = math.prod([self] * abs(other))
        return power if other >= 0 else 1 / power

    def __rpow__(self, other: Any) -> Any:
        return _traced(np.power, other, self)

    def __abs__(self) -> Any:
        return _traced(np.absolute, self)

    __eq__ = _comparison("==", np.equal, equal)
    __ne__ = _comparison("!=", np.not_equal, lambda own, other: negated(equal(own, other)))
    __le__ = _comparison("<=", np.less_equal, at_most)
    __gt__ = _comparison(">", np.greater, lambda own, other: negated(at_most(own, other)))
    __ge__ = _comparison(">=", np.greater_equal, lambda own, other: at_most(other, own))
    __lt__ = _comparison("<", np.less, lambda own, other: negated(at_most(other, own)))

    def __hash__(self) -> int:
        return hash(self.number)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Record a ufunc of an array and a size: the size is then a traced integer."""
        plain = {"add": "add", "subtract": "sub", "multiply": "mul", "remainder": "mod"}
        plain["floor_divide"] = "floordiv"
        if ufunc.__name__ in plain and all(isinstance(x, Size | np.integer) for x in inputs):
            left, right = (x if isinstance(x, Size) else int(x) for x in inputs)
            return getattr(operator, plain[ufunc.__name__])(left, right)
        return hooks.facade("tracing").on_ufunc(ufunc, method, inputs, keywords)

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        number: int | None = hooks.facade("tracing").on_number(self)
        return self._refuse(f"the number {self}") if number is None else number

    __int__ = __index__
    __float__ = __index__

    def __repr__(self) -> str:
        return str(self.number)

    def _refuse(self, question: str) -> NoReturn:
        raise TraceError(
            f"{question} is not known while the function is traced: the size is open",
            where=caller_location(),
            hint="trace it for this size alone (no dynamic=True, a number in the spec), or use "
            "lx.loop and lx.cond",
        )


class Dim(Size):
    """An open dimension, by its name: two of one name have one size.

    >>> n = lx.Dim("n")
    >>> 2 * n + 1
    2*n + 1
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise ArgumentError(
                f"Dim({name!r})", where=caller_location(), expected="the name of a dimension"
            )
        super().__init__(Expression(0, ((Symbol(name, lower=0), 1),)))


def as_number(size: AnySize) -> Number:
    """Return a size as a number of the algebra."""
    return size.number if isinstance(size, Size) else size


def same(left: AnySize, right: AnySize) -> bool | None:
    """Return whether two sizes are equal; None where a call alone tells."""
    return is_eq(as_number(left), as_number(right))


def is_least(left: AnySize, right: AnySize) -> bool | None:
    """Return whether a size is at least another; None where a call alone tells."""
    return is_le(as_number(right), as_number(left))


def value_of(size: AnySize, sizes: Mapping[str, int]) -> int:
    """Return the number that a size is once its dimensions are known."""
    number = size.substitute(sizes) if isinstance(size, Size) else size
    return number if isinstance(number, int) else number.__index__()


def _number(value: Any) -> Number | None:
    """Return the number of a size or an integer; None of any other value."""
    if isinstance(value, Size):
        return value.number
    return int(value) if isinstance(value, int | np.integer) else None


def as_size(number: Number) -> Any:
    """Return a number of the algebra as a size."""
    return number if isinstance(number, int) else Size(number)


def product_of(sizes: Iterable[AnySize]) -> AnySize:
    """Return the product of sizes: of a shape the number of elements."""
    product: AnySize = math.prod(cast(Any, sizes))
    return product


def names_of(*sizes: AnySize) -> frozenset[str]:
    """Return the dimensions that sizes are made of."""
    return frozenset().union(*(size.names for size in sizes if isinstance(size, Size)))


def _traced(ufunc: np.ufunc, *operands: Any) -> Any:
    """Return a number that is not a size, traced; arrays have operators of their own."""
    is_number = all(isinstance(operand, Size | int | float | complex) for operand in operands)
    return ufunc(*operands) if is_number else NotImplemented
