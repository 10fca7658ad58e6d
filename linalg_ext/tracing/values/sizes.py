"""Sizes that are open while a function is traced: `lx.Dim("n")` and the numbers computed from it.

A size is an integer, or a polynomial of named dimensions with integer coefficients, in one normal
form, so that `2 * n - n` is `n`. Whole divisions and remainders that do not come out even are atoms
of it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, Union

import numpy as np

from linalg_ext.errors import ArgumentError, TraceError, caller_location
from linalg_ext.utils import hooks

Atom = Union[str, "Quotient"]
Terms = dict[tuple[Atom, ...], int]
AnySize = Union[int, "Size"]
Shape = tuple[AnySize, ...]


_COMPARISONS: Mapping[str, tuple[np.ufunc, Callable[[int, int], bool]]] = {
    "==": (np.equal, operator.eq),
    "!=": (np.not_equal, operator.ne),
    "<": (np.less, operator.lt),
    "<=": (np.less_equal, operator.le),
    ">": (np.greater, operator.gt),
    ">=": (np.greater_equal, operator.ge),
}


class Size:
    """A size that only a call tells. Operators: `+ - * // %` and comparisons.

    Quotients, roots and results of floats are traced numbers.

    Raises:
        TraceError: Python asks for the number, or for a comparison that no call decides.
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[tuple[Atom, ...], int]) -> None:
        self.terms = tuple(sorted(((k, v) for k, v in terms.items() if v), key=str))

    @property
    def names(self) -> frozenset[str]:
        """Return the dimensions that it is made of."""
        return frozenset(
            name
            for atoms, _ in self.terms
            for atom in atoms
            for name in ([atom] if isinstance(atom, str) else atom.names)
        )

    @property
    def name(self) -> str | None:
        """Its name where it is one dimension by itself."""
        if len(self.terms) == 1:
            ((atoms, factor),) = self.terms
            if factor == 1 and len(atoms) == 1 and isinstance(atoms[0], str):
                return atoms[0]
        return None

    def substitute(self, sizes: Mapping[str, AnySize]) -> AnySize:
        """Return the size with other sizes in the place of dimensions."""
        total: AnySize = 0
        for atoms, factor in self.terms:
            product: AnySize = factor
            for atom in atoms:
                if isinstance(atom, str):
                    product = product * sizes.get(atom, Dim(atom))
                else:
                    product = product * atom.substitute(sizes)
            total = total + product
        return total

    def __add__(self, other: Any) -> Any:
        return _combine(np.add, self, other)

    def __sub__(self, other: Any) -> Any:
        return _combine(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _combine(np.subtract, other, self)

    def __neg__(self) -> Any:
        return _normalized({atoms: -factor for atoms, factor in self.terms})

    def __pos__(self) -> Size:
        return self

    def __mul__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return _number(np.multiply, self, other)
        product: Terms = {}
        for left, x in self.terms:
            for right, y in terms.items():
                atoms = tuple(sorted((*left, *right), key=str))
                product[atoms] = product.get(atoms, 0) + x * y
        return _normalized(product)

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return _divided(np.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _divided(np.floor_divide, other, self)

    def __mod__(self, other: Any) -> Any:
        return _divided(np.remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _divided(np.remainder, other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Any:
        return _number(np.true_divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _number(np.true_divide, other, self)

    def __pow__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return _number(np.power, self, other)
        power: Any = math.prod([self] * abs(other))
        return power if other >= 0 else 1 / power

    def __rpow__(self, other: Any) -> Any:
        return _number(np.power, other, self)

    def __abs__(self) -> Any:
        return _number(np.absolute, self)

    def __eq__(self, other: object) -> bool:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        return self._compare("==", other)

    def __hash__(self) -> int:
        return hash(self.terms)

    def __lt__(self, other: Any) -> bool:
        return self._compare("<", other)

    def __le__(self, other: Any) -> bool:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> bool:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> bool:
        return self._compare(">=", other)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Record a ufunc of an array and a size: the size is then a traced integer."""
        plain = {"add": "add", "subtract": "sub", "multiply": "mul", "remainder": "mod"}
        plain["floor_divide"] = "floordiv"
        if ufunc.__name__ in plain and all(isinstance(x, Size | np.integer) for x in inputs):
            left, right = (x if isinstance(x, Size) else int(x) for x in inputs)
            return getattr(operator, plain[ufunc.__name__])(left, right)
        return hooks.facade("tracing").on_ufunc(ufunc, method, inputs, keywords)

    def _compare(self, sign: str, other: Any) -> bool:
        ufunc, relation = _COMPARISONS[sign]
        terms = _terms(other)
        if terms is None:
            return _number(ufunc, self, other)  # type: ignore[no-any-return]
        difference = self - other
        if isinstance(difference, int):
            return relation(difference, 0)
        answer: bool | None = hooks.facade("tracing").on_comparison(self, sign, other)
        return self._refuse(f"whether {self} {sign} {other}") if answer is None else answer

    def __ne__(self, other: object) -> bool:
        return NotImplemented if _terms(other) is None else self._compare("!=", other)

    def __bool__(self) -> bool:
        return self._compare("!=", 0)

    def __index__(self) -> NoReturn:
        self._refuse(f"the number {self}")

    __int__ = __index__
    __float__ = __index__

    def __repr__(self) -> str:
        shown = " + ".join(_show(atoms, factor) for atoms, factor in self.terms)
        return shown.replace("+ -", "- ") or "0"

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
        super().__init__({(name,): 1})


class Quotient:
    """A whole division or a remainder that does not come out even."""

    __slots__ = ("left", "right", "sign")

    def __init__(self, sign: str, left: AnySize, right: AnySize) -> None:
        self.sign, self.left, self.right = sign, left, right

    @property
    def names(self) -> Iterator[str]:
        """Return the dimensions that it is made of."""
        for side in (self.left, self.right):
            if isinstance(side, Size):
                yield from side.names

    def substitute(self, sizes: Mapping[str, AnySize]) -> AnySize:
        """Return the quotient of other sizes."""
        left, right = (
            side.substitute(sizes) if isinstance(side, Size) else side
            for side in (self.left, self.right)
        )
        return left // right if self.sign == "//" else left % right

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quotient) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"({self.left} {self.sign} {self.right})"


def same(left: AnySize, right: AnySize) -> bool | None:
    """Return whether two sizes are equal; None where a call alone tells."""
    difference = left - right
    return None if isinstance(difference, Size) else difference == 0


def value_of(size: AnySize, sizes: Mapping[str, int]) -> int:
    """Return the number that a size is once its dimensions are known."""
    number = size.substitute(sizes) if isinstance(size, Size) else size
    return number if isinstance(number, int) else number.__index__()


def _terms(value: Any) -> Terms | None:
    if isinstance(value, Size):
        return dict(value.terms)
    if isinstance(value, int | np.integer):
        return {(): int(value)} if value else {}
    return None


def _normalized(terms: Terms) -> Any:
    terms = {atoms: factor for atoms, factor in terms.items() if factor}
    if not terms:
        return 0
    return terms[()] if set(terms) == {()} else Size(terms)


def _combine(ufunc: np.ufunc, left: Any, right: Any) -> Any:
    """Return the sum or the difference of two sizes."""
    mine, terms = _terms(left), _terms(right)
    if terms is None or mine is None:
        return _number(ufunc, left, right)
    sign = 1 if ufunc is np.add else -1
    return _normalized({k: mine.get(k, 0) + sign * terms.get(k, 0) for k in {**mine, **terms}})


def _divided(ufunc: np.ufunc, left: Any, right: Any) -> Any:
    """Return the whole quotient of two sizes, or the remainder."""
    terms, divisor = _terms(left), _terms(right)
    if terms is None or divisor is None:
        return _number(ufunc, left, right)
    sign = "//" if ufunc is np.floor_divide else "%"
    quotient = _exact(terms, divisor)
    if quotient is not None:
        return _normalized(quotient) if sign == "//" else 0
    return Size({(Quotient(sign, _normalized(terms), _normalized(divisor)),): 1})


def _number(ufunc: np.ufunc, *operands: Any) -> Any:
    """Return a number that is not a size, traced; arrays have operators of their own."""
    is_number = all(isinstance(operand, Size | int | float | complex) for operand in operands)
    return ufunc(*operands) if is_number else NotImplemented


def _exact(terms: Terms, divisor: Terms) -> Terms | None:
    """Return the quotient by one term, where it comes out even."""
    if len(divisor) != 1:
        return {(): 1} if terms == divisor and terms else None
    ((atoms, factor),) = divisor.items()
    quotient: Terms = {}
    for own, number in terms.items():
        left = list(own)
        for atom in atoms:
            if atom not in left:
                return None
            left.remove(atom)
        if number % factor:
            return None
        quotient[tuple(left)] = number // factor
    return quotient


def _show(atoms: tuple[Atom, ...], factor: int) -> str:
    parts = [str(factor)] if abs(factor) != 1 or not atoms else []
    sign = "-" if factor == -1 and atoms else ""
    return sign + "*".join(parts + [str(atom) for atom in atoms])
