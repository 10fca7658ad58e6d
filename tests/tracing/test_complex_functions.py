"""Complex functions at all pairs of special numbers, beside NumPy's."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.tracing.functions.complex_functions import FUNCTIONS

PARTS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.0, 1e4, 30.0, -25.0]
NUMBERS = np.array([complex(x, y) for x in PARTS for y in PARTS])
EXPONENTS = np.array([0, 1, 2, 3, 5, -1, -2, 0.5, 7, 99, 100, 1j, 1 + 1j, 2.5, math.inf, math.nan])
BINARY = ("divide", "float_power", "power")


def check(function: Any, *operands: Any, steps: int = 16) -> None:
    """NaN, infinities and signs of zeros are where NumPy has them; numbers are near."""
    found = lx.jit(lambda *given: function(*given))(*operands)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _compare(found, function(*operands), operands, steps)


def _compare(found: Any, expected: Any, operands: Any, steps: int) -> None:
    assert found.dtype == expected.dtype
    eps = float(np.finfo(expected.dtype).eps)
    size = np.abs(expected.astype(np.complex128))
    for one, other in ((found.real, expected.real), (found.imag, expected.imag)):
        same = (np.isnan(one) & np.isnan(other)) | (
            (one == other) & (np.signbit(one) == np.signbit(other))
        )
        # Beside a number of both parts: one may be what is left of a difference.
        around = np.where(np.isfinite(size), size, np.abs(other))
        near = np.isfinite(other) & (np.abs(one.astype(float) - other) <= steps * eps * around)
        wrong = ~same & ~(near & (around > 0))
        places = [tuple(place) for place in np.argwhere(wrong)]
        shown = [
            f"{[np.broadcast_to(x, wrong.shape)[place] for x in operands]}: {found[place]}, "
            f"not {expected[place]}"
            for place in places[:5]
        ]
        assert not places, shown


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", [*(name for name in FUNCTIONS if name not in BINARY), "absolute"])
def test_special_numbers(name: str, dtype: Any) -> None:
    check(getattr(np, name), NUMBERS.astype(dtype))


def test_division_of_special_numbers() -> None:
    check(np.divide, NUMBERS[:, None], NUMBERS)


@pytest.mark.parametrize("name", ["power", "float_power"])
def test_powers_of_special_numbers(name: str) -> None:
    # A hundredth power is a hundred times as far off as its base.
    check(getattr(np, name), NUMBERS[np.abs(NUMBERS) < 100][:, None], EXPONENTS, steps=3200)


@pytest.mark.parametrize("name", ["power", "float_power"])
def test_powers_of_infinite_numbers(name: str) -> None:
    is_lost = ~np.isfinite(NUMBERS)
    check(getattr(np, name), NUMBERS[is_lost][:, None], EXPONENTS[:6])


INVERSES = ["arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh"]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", INVERSES)
def test_parts_of_inverses_are_near_by_themselves(name: str, dtype: Any) -> None:
    """Also where the other part is many times as large, and beside the ends of their cuts."""
    rng = np.random.default_rng(0)
    parts = rng.standard_normal((4, 2000)) * 10.0 ** rng.integers(-12, 12, (4, 2000))
    ends = rng.choice([1, -1, 1j, -1j, 0], 2000)
    numbers = np.stack([parts[0] + 1j * parts[1], ends + 1e-12 * (parts[2] + 1j * parts[3])])
    numbers = numbers.astype(dtype)
    result, expected = lx.jit(getattr(np, name))(numbers), getattr(np, name)(numbers)
    rtol = 6 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(result.real, expected.real, rtol=rtol)
    np.testing.assert_allclose(result.imag, expected.imag, rtol=rtol)


@pytest.mark.parametrize("name", INVERSES)
def test_inverses_of_constants(name: str) -> None:
    """Upstream folds functions of constants: the angle of two zeros, too."""
    for point in (0, 1, -1, 1j, -1j):
        check(lambda x, point=point: getattr(np, name)(np.ones_like(x) * point), np.ones(2, "c16"))


OTHERS = ["exp", "sinh", "cosh", "sin", "cos", "sqrt", "log", "absolute"]


@pytest.mark.parametrize("name", [*OTHERS, *INVERSES])
def test_nothing_overflows_on_the_way(name: str) -> None:
    large = [709.5, 1e-310, 5e-324, 1.7e308, -1.7e308]
    numbers = np.array([complex(x, y) for x in large for y in large])
    check(getattr(np, name), numbers)
