"""Constants as MLIR prints and reads their attributes: `2 : i64`, `5.000000e-01 : f64`.

The digits are those of LLVM's `APFloat::toString`, which neither rounds nor lays out a number as C
or Python do; upstream's YAML holds constants in this text.
"""

from __future__ import annotations

import math
import re
import struct

from linalg_ext.errors import NotationError

_SHORT_DIGITS = 6
_ALL_DIGITS = 17
_MAX_PADDING = 3


def constant_text(value: int | float) -> str:
    """The text of an integer as i64, of a float as f64.

    Raises:
        NotationError: infinity and NaN have no portable text.
    """
    if isinstance(value, int):
        return f"{value} : i64"
    if math.isnan(value) or math.isinf(value):
        raise NotationError(
            f"const({value}) has no portable text in MLIR", hint="write a finite number"
        )
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    text = _magnitude(abs(value))
    if "." not in text:
        # It would be read back as an integer: MLIR prints the bits instead.
        return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X} : f64"
    return f"{sign}{text} : f64"


_INTEGER = re.compile(r"\s*(-?\d{1,19})\s*:\s*i64\s*", re.ASCII)
_FLOAT = re.compile(r"\s*(-?\d+\.\d*(?:[eE][-+]?\d+)?)\s*:\s*f64\s*", re.ASCII)
_BITS = re.compile(r"\s*0x([0-9a-fA-F]{16})\s*:\s*f64\s*")


def parse_constant(text: str) -> int | float:
    """The number of an MLIR attribute: `2 : i64`, `5.0e-01 : f64`, `0x3FE0000000000000 : f64`.

    Raises:
        NotationError: the text is no such attribute, or no finite number of 64 bits.
    """
    if match := _INTEGER.fullmatch(text):
        if -(2**63) <= int(match[1]) < 2**63:
            return int(match[1])
        raise NotationError(f"{match[1]} does not fit in 64 bits")
    value = math.nan
    if match := _FLOAT.fullmatch(text):
        value = float(match[1])
    elif match := _BITS.fullmatch(text):
        (value,) = struct.unpack(">d", bytes.fromhex(match[1]))
    else:
        raise NotationError(
            f"`{text}` is not a constant",
            expected="an integer such as `2 : i64`, or a number with a decimal point such as "
            "`5.0e-01 : f64`",
        )
    if not math.isfinite(value):
        raise NotationError(f"`{text}` is not a finite number")
    return value


def _magnitude(value: float) -> str:
    if value == 0:
        return "0.000000e+00"
    digits, exponent = _decimal(value, _SHORT_DIGITS)
    short = f"{digits[0]}.{digits[1:]:0<{_SHORT_DIGITS}}e{exponent + len(digits) - 1:+03d}"
    return short if float(short) == value else _layout(*_decimal(value, _ALL_DIGITS))


def _decimal(value: float, precision: int) -> tuple[str, int]:
    """Decimal digits, `precision` at most, and the exponent of the last one."""
    numerator, denominator = value.as_integer_ratio()
    shift = denominator.bit_length() - 1
    significand, exponent = numerator * 5**shift, -shift
    # A first, truncating step bounds the size of the number, in LLVM's estimate of bits to digits.
    surplus = significand.bit_length() - (precision * 196 + 58) // 59
    if surplus > 0 and (tens := surplus * 59 // 196):
        significand //= 10**tens
        exponent += tens
    digits = str(significand)
    dropped = len(digits) - precision
    if dropped <= 0:
        return digits.rstrip("0") or "0", exponent + len(digits) - len(digits.rstrip("0"))
    rounded = int(digits[:precision]) + (digits[precision] >= "5")
    text = str(rounded).rstrip("0")
    return text, exponent + dropped + len(str(rounded)) - len(text)


def _layout(digits: str, exponent: int) -> str:
    leading = exponent + len(digits) - 1
    if exponent >= 0:
        scientific = exponent > _MAX_PADDING or len(digits) + exponent > _ALL_DIGITS
    else:
        scientific = leading < -_MAX_PADDING
    if scientific:
        return f"{digits[0]}.{digits[1:] or '0'}E{'-' if leading < 0 else '+'}{abs(leading)}"
    if exponent >= 0:
        return digits + "0" * exponent
    if leading >= 0:
        return f"{digits[: leading + 1]}.{digits[leading + 1 :]}"
    return "0." + "0" * (-leading - 1) + digits
