"""The floating-point formats narrower than 32 bits, as numbers that an algorithm can use.

Source: the type descriptions in upstream's `BuiltinTypes.td`; the `f8E...` names read exponent
bits, mantissa bits, then F (finite: no infinities), N (NaN has one bit pattern), U (unsigned) or
UZ (unsigned zero: no negative one).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format with a sign bit and subnormal numbers.

    Attributes:
        name: MLIR's name of the type.
        exponent: the width of the exponent field, in bits.
        mantissa: the width of the stored mantissa, in bits.
        bias: the number that is subtracted from the exponent field.
        nan: the bits of the (quiet) NaN, without its sign.
        largest: the bits of the largest finite number; all magnitudes above are special.
        overflow: the bits that a number beyond `largest` rounds to: infinity, or NaN.
        signed_zero: whether there is a -0; else its bits are the NaN.
    """

    name: str
    exponent: int
    mantissa: int
    bias: int
    nan: int
    largest: int
    overflow: int
    signed_zero: bool = True

    @property
    def width(self) -> int:
        """The width of a number in bits."""
        return 1 + self.exponent + self.mantissa

    @property
    def has_infinity(self) -> bool:
        """Return whether the exponent of all ones holds infinity and the NaNs, as in IEEE 754."""
        return self.overflow != self.nan


def _ieee(name: str, exponent: int, mantissa: int) -> FloatFormat:
    infinity = ((1 << exponent) - 1) << mantissa
    return FloatFormat(
        name=name,
        exponent=exponent,
        mantissa=mantissa,
        bias=(1 << (exponent - 1)) - 1,
        nan=infinity | 1 << (mantissa - 1),
        largest=infinity - 1,
        overflow=infinity,
    )


def _finite(name: str, exponent: int, mantissa: int, bias: int) -> FloatFormat:
    """No infinity, no negative zero; the bits of negative zero are the one NaN."""
    sign = 1 << (exponent + mantissa)
    return FloatFormat(name, exponent, mantissa, bias, sign, sign - 1, sign, signed_zero=False)


F32 = _ieee("f32", 8, 23)
F64 = _ieee("f64", 11, 52)

WIDE: Mapping[str, FloatFormat] = MappingProxyType({"f32": F32, "f64": F64})
"""The formats that every machine computes in, by MLIR's name of the type."""

NARROW: Mapping[str, FloatFormat] = MappingProxyType(
    {
        format_.name: format_
        for format_ in (
            _ieee("bf16", 8, 7),
            _ieee("f16", 5, 10),
            _ieee("f8E5M2", 5, 2),
            _ieee("f8E4M3", 4, 3),
            _ieee("f8E3M4", 3, 4),
            FloatFormat("f8E4M3FN", 4, 3, 7, nan=0x7F, largest=0x7E, overflow=0x7F),
            _finite("f8E5M2FNUZ", 5, 2, 16),
            _finite("f8E4M3FNUZ", 4, 3, 8),
            _finite("f8E4M3B11FNUZ", 4, 3, 11),
        )
    }
)
"""The signed narrow formats, by MLIR's name of the type."""

FLOATS: Mapping[str, FloatFormat] = MappingProxyType({**NARROW, **WIDE})
"""The signed formats, by MLIR's name of the type."""

EXPONENT_ONLY = "f8E8M0FNU"
"""MLIR's name of the format of bare powers of two: no sign, no zero, 255 is NaN."""
