"""Every op, evaluated by the reference, against a formula that is independent of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linalg_ext
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.opdsl import StructuredOp
from op_calls import reference
from op_formulas import FORMULAS, POSITIVE, SIZES, Formula
from window_formulas import Window, window_of

Array = NDArray[Any]

OPS: dict[str, StructuredOp] = {name: getattr(linalg_ext.ops, name) for name in dir(linalg_ext.ops)}
WINDOWS = [name for name in OPS if "conv_" in name or name.startswith("pooling_")]
OWN_TEST = {"quantize", "dequantize"}

DTYPES = {"f": (np.float32, np.float64), "i": (np.int8, np.int32)}
"""Of inputs and of outputs, where an op lets them differ."""


def test_every_op_has_a_formula() -> None:
    assert {*FORMULAS, *WINDOWS, *OWN_TEST} == set(OPS)


def _numbers(
    shape: tuple[int, ...], dtype: Any, rng: np.random.Generator, *, positive: bool = False
) -> Array:
    if np.dtype(dtype).kind == "f":
        low = 0.25 if positive else -3
        return np.asarray(rng.uniform(low, 3, shape)).astype(dtype)
    numbers = np.asarray(rng.integers(-9, 9, shape)).astype(dtype)
    return np.asarray(np.where(numbers == 0, dtype(3), numbers))


def _dtype_of(op: StructuredOp, position: int, kind: str) -> Any:
    """The dtype of an input: its own where no output shares its type variable."""
    operand = op.definition.inputs[position]
    if str(operand.type_var) in PREDEFINED:
        return np.dtype(PREDEFINED[str(operand.type_var)]).type
    shared = operand.type_var == op.definition.outputs[0].type_var
    return DTYPES[kind][1 if shared else 0]


def _shape(letters: str) -> tuple[int, ...]:
    return tuple(SIZES[letter] for letter in letters)


def _cases() -> list[Any]:
    return [
        pytest.param(name, kind, id=f"{name}-{kind}")
        for name, formula in FORMULAS.items()
        for kind in formula.kinds.split()
    ]


@pytest.mark.parametrize(("name", "kind"), _cases())
def test_value(name: str, kind: str) -> None:
    op, formula = OPS[name], FORMULAS[name]
    rng = np.random.default_rng(0)
    result = DTYPES[kind][1]
    inputs = _inputs(op, formula, kind, rng, positive=name in POSITIVE)
    before = _numbers(_shape(formula.axes.split("->")[1]), result, rng)
    expected = formula.value(*(_as(result, array) for array in inputs))
    if formula.into is not None:
        expected = formula.into(before, expected)
    actual = reference(op, inputs, before)
    np.testing.assert_allclose(actual, np.asarray(expected).astype(result), rtol=1e-6, atol=1e-6)


def _inputs(
    op: StructuredOp, formula: Formula, kind: str, rng: np.random.Generator, *, positive: bool
) -> list[Array]:
    letters = formula.axes.split("->")[0].split(",") if op.definition.inputs else []
    arrays = [
        _numbers(_shape(axes), _dtype_of(op, position, kind), rng, positive=positive)
        for position, axes in enumerate(letters)
    ]
    if op.op_name == "select":
        arrays[0] = arrays[0] > 0
    if op.op_name == "fill_rng_2d":
        arrays[:2] = [np.array(-20.0), np.array(30.0)]
    return arrays


def _as(dtype: Any, array: Array) -> Array:
    return array if array.dtype.kind == "b" else array.astype(dtype)


UNIT = {"d": 1, "h": 1, "w": 1}
STRIDED = ({"d": 1, "h": 2, "w": 3}, {"d": 3, "h": 1, "w": 2})


def _window_cases() -> list[Any]:
    return [
        pytest.param(name, strides, dilations, kind, id=f"{name}-{kind}-{strides['w']}")
        for name in WINDOWS
        for strides, dilations in ((UNIT, UNIT), STRIDED)
        for kind in DTYPES
        if OPS[name].definition.attributes or strides is UNIT
        if kind == "i" or not name.endswith("_unsigned")
    ]


@pytest.mark.parametrize(("name", "strides", "dilations", "kind"), _window_cases())
def test_window(name: str, strides: dict[str, int], dilations: dict[str, int], kind: str) -> None:
    _check_window(OPS[name], window_of(name), strides, dilations, kind)


def _check_window(
    op: StructuredOp,
    window: Window,
    strides: dict[str, int],
    dilations: dict[str, int],
    kind: str,
) -> None:
    rng = np.random.default_rng(0)
    narrow, wide = DTYPES[kind]
    image, kernel, output = window.shapes(strides, dilations)
    arrays = [_numbers(image, narrow, rng), _numbers(kernel, narrow, rng)]
    before = _numbers(output, wide, rng)
    points = [2, -3] if op.op_name.endswith("_q") else [0, 0]
    unsigned = op.op_name.endswith("_unsigned")
    seen = [array.view(np.uint8) if unsigned else array for array in arrays]
    shifted = [array.astype(wide) - wide(point) for array, point in zip(seen, points, strict=True)]
    value = window.value(shifted[0], shifted[1], strides, dilations)
    if window.reduction in ("max", "min"):
        both = (before.view(np.uint32), value.view(np.uint32)) if unsigned else (before, value)
        expected = {"max": np.maximum, "min": np.minimum}[window.reduction](*both).view(wide)
    else:
        expected = before + value
    if op.op_name.endswith("_q"):
        arrays += [np.array(point, np.int32) for point in points]
    attributes = {
        "strides": [strides[letter] for letter in window.spatial],
        "dilations": [dilations[letter] for letter in window.spatial],
    }
    given = attributes if op.definition.attributes else {}
    np.testing.assert_allclose(reference(op, arrays, before, given), expected, rtol=1e-6)


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
