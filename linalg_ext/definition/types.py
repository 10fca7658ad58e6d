"""Type variables, names for element types that a call binds, and element types by MLIR's names."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, Literal


@dataclass(frozen=True, slots=True)
class TypeVar:
    """A type variable; equal to any other of the same name. `TV.T` makes one."""

    name: str

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"TypeVar({self.name})"


_Named = typing.TypeVar("_Named")


class Namespace(Generic[_Named]):
    """Objects by their names, each made when it is first asked for: `TV.T`, `D.m`, `S.M`."""

    def __init__(self, make: Callable[[str], _Named]) -> None:
        self.__make = make

    def __getattr__(self, name: str) -> _Named:
        if name.startswith("__"):
            raise AttributeError(name)
        # One object for each name, as in upstream's OpDSL: the next look-up finds it here.
        named: _Named = vars(self).setdefault(name, self.__make(name))
        return named


TV = Namespace(TypeVar)

PREDEFINED = MappingProxyType(
    {
        "I1": "bool",
        "I8": "int8",
        "I16": "int16",
        "I32": "int32",
        "I64": "int64",
        "U8": "uint8",
        "U16": "uint16",
        "U32": "uint32",
        "U64": "uint64",
        "F16": "float16",
        "BF16": "bfloat16",
        "F32": "float32",
        "F64": "float64",
        "C64": "complex64",
        "C128": "complex128",
    }
)
"""Type variables with a fixed meaning, and the names of their dtypes (bfloat16 is ml_dtypes').

The signed integers stand before the unsigned ones: both are one type of MLIR, named by the first.
"""

_COMPLEX_ELEMENTS = {"C64": "complex<f32>", "C128": "complex<f64>"}

PREDEFINED_ELEMENTS = MappingProxyType(
    {name: _COMPLEX_ELEMENTS.get(name) or name.lower().replace("u", "i") for name in PREDEFINED}
)
"""The element types of these variables, as MLIR spells them."""

UNSIGNED = frozenset(name for name, dtype in PREDEFINED.items() if dtype.startswith("uint"))
"""Those whose integers are unsigned."""

PREDEFINED_UPSTREAM = frozenset({"I32", "I64", "F32", "F64"})
"""Those of them that upstream's generator knows; to it any other name is a free variable."""

BOOLEAN = TypeVar("I1")
"""The type of comparisons."""


Family = Literal["float", "integer", "boolean", "index", "complex"]

_FORMATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "f32": (8, 23), "f64": (11, 52)}
"""Bits of exponent and mantissa, where the name does not say."""
_NARROW = re.compile(r"f\d+E(\d+)M(\d+)\w*")
_INTEGER = re.compile(r"i(\d+)")
_COMPLEX = re.compile(r"complex<(.*)>")

_ALGEBRA = frozenset(
    (
        *("add", "mul", "max_signed", "max_unsigned", "min_signed", "min_unsigned"),
        *("clamp", "conj", "fma"),
    )
)
_ARITHMETIC = frozenset(("sub", "div", "square", "negf"))
_BITS = frozenset(("and", "or", "xor", "not"))
_UNSIGNED = frozenset(("div_unsigned", "max_unsigned", "min_unsigned"))
_EQUALITY = frozenset(("eq", "ne"))
_ORDER = frozenset(("lt", "le", "gt", "ge"))
_BOOLEAN = _ALGEBRA | _BITS | _EQUALITY | _ORDER
_WHOLE = _BOOLEAN | _ARITHMETIC | {"abs", "rem", "div_unsigned"}
_ANALYTIC = frozenset(
    (
        *("exp", "log", "sqrt", "rsqrt", "tanh", "sin", "cos", "tan", "expm1", "log1p"),
        *("log2", "log10", "powf", "atan2", "reciprocal"),
    )
)
_ON_COMPLEX = _ANALYTIC | _ARITHMETIC | _EQUALITY | {"add", "mul", "conj", "fma"}
"""Without `abs`, which gives a real number and no complex one."""


def family(element: str) -> Family | None:
    """The family of an element type; None for types that no scalar function computes on."""
    if _float_format(element) is not None:
        return "float"
    if element == "i1":
        return "boolean"
    if _INTEGER.fullmatch(element):
        return "integer"
    if element == "index":
        return "index"
    part = _COMPLEX.fullmatch(element)
    return "complex" if part and _float_format(part[1]) else None


def is_integer(element: str) -> bool:
    """Return whether it is an integer of more than one bit, or an index."""
    return family(element) in ("integer", "index")


def is_integer_or_boolean(element: str) -> bool:
    """Return whether it is an integer of any width, or an index."""
    return family(element) in ("integer", "index", "boolean")


def width(element: str) -> int:
    """Bits of an integer; those of an index are 64."""
    match = _INTEGER.fullmatch(element)
    return int(match[1]) if match else 64


def holds(wide: str, narrow: str) -> bool:
    """Return whether one element type holds every value of another, infinities excepted."""
    if wide == narrow or family(narrow) == "boolean":
        return True
    if part := _COMPLEX.fullmatch(wide):
        inner = _COMPLEX.fullmatch(narrow)
        return holds(part[1], inner[1] if inner else narrow)
    to_float, from_float = _float_format(wide), _float_format(narrow)
    if _NARROW.fullmatch(wide) and from_float:
        return False  # formats of 8 bits differ in bias and in the code of infinity
    if to_float and from_float:
        return to_float[0] >= from_float[0] and to_float[1] >= from_float[1]
    if to_float and is_integer(narrow):
        exponent, mantissa = to_float
        # The sign has a bit of its own; the leading bit of the mantissa is not stored.
        largest = (1 << (exponent - 1)) - 1
        return width(narrow) - 1 <= min(mantissa + 1, largest)
    return is_integer(wide) and is_integer(narrow) and width(wide) >= width(narrow)


def has_function(element: str, function: str) -> bool:
    """Return whether a function that is not a cast has a meaning for an element type."""
    match family(element):
        case "float":
            return function == "select" or function not in _BITS | _UNSIGNED
        case "integer" | "index":
            return function == "select" or function in _WHOLE
        case "boolean":
            return function == "select" or function in _BOOLEAN
        case "complex":
            return function == "select" or function in _ON_COMPLEX
        case _:
            return False


def _float_format(element: str) -> tuple[int, int] | None:
    """Bits of the exponent and of the mantissa."""
    if element in _FORMATS:
        return _FORMATS[element]
    match = _NARROW.fullmatch(element)
    return (int(match[1]), int(match[2])) if match else None
