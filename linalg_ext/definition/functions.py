"""The functions of scalar expressions: what upstream's region builder knows, by its names.

Source: upstream's `LinalgEnums.td` (`UnaryFn`, `BinaryFn`, `TernaryFn`, `TypeFn`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FunctionKind(Enum):
    """What a function takes; the value is upstream's word for it."""

    UNARY = "unary"
    BINARY = "binary"
    TERNARY = "ternary"
    TYPE = "type"

    @property
    def arity(self) -> int:
        """How many scalar operands such a function takes."""
        return {"unary": 1, "binary": 2, "ternary": 3, "type": 1}[self.value]


@dataclass(frozen=True, slots=True)
class Function:
    """A named scalar function.

    Attributes:
        kind: how many operands it takes (a type function takes a type variable as well).
        name: upstream's name.
        summary: what it computes, for people.
    """

    kind: FunctionKind
    name: str
    summary: str = ""

    def __str__(self) -> str:
        return self.name


def _table(kind: FunctionKind, entries: dict[str, str]) -> dict[str, Function]:
    return {name: Function(kind, name, summary) for name, summary in entries.items()}


UNARY = _table(
    FunctionKind.UNARY,
    {
        "exp": "e to the power of x",
        "log": "natural logarithm",
        "abs": "absolute value",
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
        "max_unsigned": "the larger of two unsigned integers; on floats as max_signed",
        "min_unsigned": "the smaller of two unsigned integers; on floats as min_signed",
        "powf": "x to the power of y",
    },
)

TERNARY = _table(FunctionKind.TERNARY, {"select": "y where x is true, else z"})

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
    for name in ("add", "mul", "max_signed", "min_signed", "max_unsigned", "min_unsigned")
)
"""Functions that a reduction may use: associative, with a neutral element."""
