"""Constants in MLIR's own text."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linalg_ext.bindings import ir
from linalg_ext.errors import NotationError
from linalg_ext.ir.context import new_context
from linalg_ext.notations.constants import constant_text

AWKWARD = (
    0.0, -0.0, 1.0, -1.0, 0.1, 2.5, 1e10, 123456.789, 1e-3, 0.001234567891234, 1234567.0,
    12345678.0, 1e300, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 3.141592653589793,
    -2.3283064e-10, 1234.56789012345, 1e17, 123456789012345680.0, 0.012345678912, 9.9999995,
    999999.5,
)  # fmt: skip


def _of_mlir(value: float) -> str:
    return str(ir.FloatAttr.get_f64(value))


@pytest.mark.parametrize("value", AWKWARD)
def test_an_awkward_number(value: float) -> None:
    with new_context():
        assert constant_text(value) == _of_mlir(value)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_float(value: float) -> None:
    with new_context():
        assert constant_text(value) == _of_mlir(value)


def test_many_bit_patterns_and_short_decimals() -> None:
    generator = random.Random(7)
    with new_context():
        for _ in range(4000):
            (bits,) = struct.unpack("d", struct.pack("Q", generator.getrandbits(63)))
            short = round(generator.uniform(-1e5, 1e5), generator.randint(0, 9))
            for value in (bits, short * 10.0 ** generator.randint(-8, 8)):
                if value - value == 0:  # neither infinite nor NaN
                    assert constant_text(value) == _of_mlir(value)


@pytest.mark.parametrize("value", [0, 1, -1, 2**63 - 1, -(2**63)])
def test_integers(value: int) -> None:
    with new_context():
        integer = ir.IntegerType.get_signless(64)
        assert constant_text(value) == str(ir.IntegerAttr.get(integer, value))


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_what_has_no_text(value: float) -> None:
    with pytest.raises(NotationError, match=r"(?s)no portable text.*write a finite number"):
        constant_text(value)
