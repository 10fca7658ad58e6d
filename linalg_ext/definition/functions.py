"""The functions of scalar expressions, by name.

Those of upstream's region builder carry its names (`LinalgEnums.td`: `UnaryFn`, `BinaryFn`,
`TernaryFn`, `TypeFn`); the others carry those of the arith, math and complex dialects. Only the
former can be written as upstream's YAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class FunctionKind(Enum):
    """The kind of operands that a function takes; the value is upstream's name for it."""

    UNARY = "unary"
    BINARY = "binary"
    TERNARY = "ternary"
    TYPE = "type"

    @property
    def arity(self) -> int:
        """Number of scalar operands of a function of this kind."""
        return {"unary": 1, "binary": 2, "ternary": 3, "type": 1}[self.value]


@dataclass(frozen=True, slots=True)
class Function:
    """A named scalar function.

    Attributes:
        kind: how many operands it takes (a type function takes a type variable as well).
        name: its name.
        summary: its meaning, for people.
        is_upstream: whether upstream's enumerations, and so its YAML, have it.
        is_predicate: whether its result is a boolean, whatever its operands are.
    """

    kind: FunctionKind
    name: str
    summary: str = ""
    is_upstream: bool = True
    is_predicate: bool = False

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        # There is one of each, and some code asks which it is by identity.
        return _function, (self.kind, self.name)


def _function(kind: FunctionKind, name: str) -> Function:
    return FUNCTIONS[kind][name]


def _table(
    kind: FunctionKind,
    upstream: Mapping[str, str],
    ours: Mapping[str, str] = {},  # never changed
    predicates: Mapping[str, str] = {},
) -> dict[str, Function]:
    return {
        **{name: Function(kind, name, summary) for name, summary in upstream.items()},
        **{name: Function(kind, name, summary, False) for name, summary in ours.items()},
        **{name: Function(kind, name, text, False, True) for name, text in predicates.items()},
    }


UNARY = _table(
    FunctionKind.UNARY,
    {
        "exp": "e to the power of x",
        "log": "natural logarithm",
        "abs": "absolute value; of a complex number, the real number that it is",
        "ceil": "round towards positive infinity",
        "floor": "round towards negative infinity",
        "negf": "negation",
        "reciprocal": "1 / x",
        "round": "round to the nearest integer, halfway cases away from zero",
        "sqrt": "square root",
        "rsqrt": "1 / square root",
        "square": "x * x",
        "tanh": "hyperbolic tangent",
        "erf": "error function",
    },
    {
        "sin": "sine of radians",
        "cos": "cosine of radians",
        "tan": "tangent of radians",
        "asin": "inverse sine, in radians",
        "acos": "inverse cosine, in radians",
        "atan": "inverse tangent, in radians",
        "sinh": "hyperbolic sine",
        "cosh": "hyperbolic cosine",
        "asinh": "inverse hyperbolic sine",
        "acosh": "inverse hyperbolic cosine",
        "atanh": "inverse hyperbolic tangent",
        "exp2": "2 to the power of x",
        "expm1": "exp(x) - 1, exact near 0",
        "log2": "logarithm to base 2",
        "log10": "logarithm to base 10",
        "log1p": "log(1 + x), exact near 0",
        "cbrt": "cube root",
        "erfc": "1 - erf(x)",
        "roundeven": "round to the nearest integer, halfway cases to even",
        "trunc": "round towards zero",
        "conj": "complex conjugate",
        "not": "bitwise not; of booleans, negation",
    },
)

BINARY = _table(
    FunctionKind.BINARY,
    {
        "add": "x + y; `or` on booleans",
        "sub": "x - y",
        "mul": "x * y; `and` on booleans",
        "div": "x / y; on integers signed, towards zero",
        "div_unsigned": "x / y on unsigned integers, towards zero",
        "max_signed": "the larger; integers as signed; NaN if either is",
        "min_signed": "the smaller; integers as signed; NaN if either is",
        "max_unsigned": "the larger of two unsigned integers",
        "min_unsigned": "the smaller of two unsigned integers",
        "powf": "x to the power of y",
    },
    {
        "and": "bitwise and",
        "or": "bitwise or",
        "xor": "bitwise exclusive or",
        "rem": "remainder of x / y, with the sign of x",
        "atan2": "angle of the point (y, x), in radians",
        "copysign": "x with the sign of y",
    },
    {
        "eq": "whether x == y; false if either is NaN",
        "ne": "whether x != y; true if either is NaN",
        "lt": "whether x < y; integers as signed; false if either is NaN",
        "le": "whether x <= y; integers as signed; false if either is NaN",
        "gt": "whether x > y; integers as signed; false if either is NaN",
        "ge": "whether x >= y; integers as signed; false if either is NaN",
    },
)

TERNARY = _table(
    FunctionKind.TERNARY,
    {"select": "y where x is true, else z"},
    {"clamp": "x, but no less than y and no more than z; NaN if any is", "fma": "x * y + z"},
)

TYPE = _table(
    FunctionKind.TYPE,
    {
        "cast_signed": "cast; integers are read as signed",
        "cast_unsigned": "cast; integers are read as unsigned",
    },
)

FUNCTIONS: dict[FunctionKind, dict[str, Function]] = {
    FunctionKind.UNARY: UNARY,
    FunctionKind.BINARY: BINARY,
    FunctionKind.TERNARY: TERNARY,
    FunctionKind.TYPE: TYPE,
}

REDUCTIONS = tuple(
    BINARY[name]
    for name in (
        "add",
        "mul",
        "max_signed",
        "min_signed",
        "max_unsigned",
        "min_unsigned",
        "and",
        "or",
        "xor",
    )
)
"""Functions that a reduction may use: associative, with a neutral element."""
