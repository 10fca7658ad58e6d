"""Every op, evaluated by the reference, against a formula that is independent of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from op_calls import reference, references
from op_cases import (
    ALL_FORMULAS,
    OPS,
    OWN_TEST,
    WINDOWS,
    formula_case,
    formula_cases,
    window_case,
    window_cases,
)
from op_formulas import FORMULAS
from op_formulas_wider import WIDER

Array = NDArray[Any]


def test_every_op_has_a_formula() -> None:
    assert {*ALL_FORMULAS, *WINDOWS, *OWN_TEST} == set(OPS)
    assert not FORMULAS.keys() & WIDER.keys()


@pytest.mark.parametrize(("name", "kind"), formula_cases())
def test_value(name: str, kind: str) -> None:
    case = formula_case(name, kind)
    actual = references(OPS[name], case.inputs, case.before, case.attributes)
    for one, other in zip(actual, case.expected, strict=True):
        np.testing.assert_allclose(one, other.astype(one.dtype), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "is_strided", "kind"), window_cases())
def test_window(name: str, is_strided: bool, kind: str) -> None:
    case = window_case(name, kind, is_strided=is_strided)
    actual = references(OPS[name], case.inputs, case.before, case.attributes)
    np.testing.assert_allclose(actual[0], case.expected[0], rtol=1e-6)


def test_quantize_and_back() -> None:
    floats = np.array([-9.0, -1.25, -0.2, 0.0, 0.25, 0.3, 40.0])
    scalars = [np.array(value) for value in (0.5, 3.0, -8.0, 7.0)]
    result = reference(OPS["quantize"], [floats, *scalars], np.zeros(7, np.int8))
    # -2.5 and 0.5 are rounded away from zero; -15 and 83 are outside of [-8, 7].
    np.testing.assert_array_equal(result, [-8, 0, 3, 3, 4, 4, 7])
    back = reference(OPS["dequantize"], [result, np.array(0.5), np.array(3, np.int32)], np.zeros(7))
    np.testing.assert_array_equal(back, [-5.5, -1.5, 0, 0, 0.5, 0.5, 2])


@pytest.mark.parametrize("name", ["sigmoid", "log_sigmoid", "softplus", "relu", "elu", "tanh"])
def test_an_activation_does_not_overflow(name: str) -> None:
    x = np.array([-1e4, -90.0, 90.0, 1e4], np.float32)
    alpha = [np.array(1, np.float32)] if name == "elu" else []
    with np.errstate(over="ignore"):  # exp(1e4) is inf, of which nothing may remain
        actual = reference(OPS[name], [x, *alpha], np.zeros(4, np.float32))
        exact = FORMULAS[name].value(x.astype(np.float64), *alpha)
    np.testing.assert_allclose(actual, exact, rtol=1e-6, atol=1e-30)


def test_one_hot_of_labels_out_of_range() -> None:
    labels = np.array([-(2**63), -1, 0, 2, 3, 2**63 - 1])
    result = reference(OPS["one_hot"], [labels], np.zeros((6, 3), np.int32))
    np.testing.assert_array_equal(result, labels[:, None] == np.arange(3))


@pytest.mark.parametrize("function", ["tanh", "abs", "square"])
def test_the_function_attributes_choose(function: str) -> None:
    x = np.array([-1.5, 0.5])
    actual = reference(OPS["elemwise_unary"], [x], np.zeros(2), {"fun": function})
    np.testing.assert_allclose(actual, getattr(np, function)(x))


def test_the_cast_attribute_chooses_how_integers_are_read() -> None:
    x = np.array([[-1, 2]], np.int8)
    for name in ("copy", "matmul"):
        inputs = [x] if name == "copy" else [x, np.eye(2, dtype=np.int8)]
        for cast, expected in (("cast_signed", [[-1, 2]]), ("cast_unsigned", [[255, 2]])):
            actual = reference(OPS[name], inputs, np.zeros((1, 2), np.int32), {"cast": cast})
            np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_tri_at_an_offset(offset: int) -> None:
    result = reference(OPS["tri"], [np.array(offset)], np.zeros((4, 5)))
    np.testing.assert_array_equal(result, np.tri(4, 5, offset))
