"""Every op of the library with arrays to call it on and what it gives by its formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linalg_ext
from linalg_ext.definition.model import Operand
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.opdsl import StructuredOp
from op_formulas import FORMULAS, POSITIVE, SIZES, Formula
from op_formulas_wider import UNIT_INTERVAL, WIDER, WIDER_POSITIVE
from window_formulas import Window, window_of

Array = NDArray[Any]

OPS: dict[str, StructuredOp] = {name: getattr(linalg_ext.ops, name) for name in dir(linalg_ext.ops)}
WINDOWS = [name for name in OPS if "conv_" in name or name.startswith("pooling_")]
OWN_TEST = {"quantize", "dequantize", "quantize_to_even", "quantize_rows", "quantize_columns"}
ALL_FORMULAS = {**FORMULAS, **WIDER}

DTYPES = {
    "f": (np.float32, np.float64),
    "i": (np.int8, np.int32),
    "s": (np.float32, np.float32),
}
"""Of inputs and of outputs, where an op lets them differ."""


@dataclass(frozen=True)
class Case:
    """An op on arrays.

    Attributes:
        name: the op.
        inputs: an array for each input; a 0-d one for a scalar.
        before: what each output held.
        attributes: those of the call.
        expected: what each output holds then, by the formula.
    """

    name: str
    inputs: list[Array]
    before: list[Array]
    attributes: Mapping[str, Any]
    expected: list[Array]


def formula_cases() -> list[tuple[str, str]]:
    """The ops with a formula, by the kinds of numbers that they take."""
    return [(n, kind) for n, formula in ALL_FORMULAS.items() for kind in formula.kinds.split()]


def window_cases() -> list[tuple[str, bool, str]]:
    """The ops with a window, with strides and dilations if they have them, by kinds of numbers."""
    return [
        (name, is_strided, kind)
        for name in WINDOWS
        for is_strided in ((False, True) if OPS[name].definition.attributes else (False,))
        for kind in ("f", "i")
        if kind == "i" or not name.endswith("_unsigned")
        if kind == "f" or not name.endswith("_average")
    ]


def numbers(
    shape: tuple[int, ...],
    dtype: Any,
    rng: np.random.Generator,
    *,
    low: float = -3,
    high: float = 3,
) -> Array:
    """Numbers of a dtype; integers that are not zero, for they are divisors too."""
    if np.dtype(dtype) == np.bool_:
        return np.asarray(rng.random(shape) > 0.5)
    if np.dtype(dtype).kind == "f":
        return np.asarray(rng.uniform(low, high, shape)).astype(dtype)
    values = np.asarray(rng.integers(-9 if low < 0 else 1, 9, shape)).astype(dtype)
    return np.asarray(np.where(values == 0, np.dtype(dtype).type(3), values))


def formula_case(name: str, kind: str) -> Case:
    """An op on arrays of one kind of numbers."""
    op, formula = OPS[name], ALL_FORMULAS[name]
    rng = np.random.default_rng(0)
    outputs = op.definition.outputs
    dtypes = [_own_dtype(output, DTYPES[kind][1]) for output in outputs]
    shapes = [_shape(axes) for axes in formula.axes.split("->")[1].split(",")]
    if formula.shape is not None:
        shapes = [formula.shape]
    inputs = _inputs(op, formula, kind, rng)
    if formula.start:
        before = [
            np.full(shape, number, dtype)
            for shape, number, dtype in zip(shapes, formula.start, dtypes, strict=True)
        ]
    else:
        before = [numbers(shapes[0], dtypes[0], rng)]
    is_cast = len({str(o.type_var) for o in outputs} & set(PREDEFINED)) < len(outputs)
    seen = [_as(dtypes[0], array) for array in inputs] if is_cast else inputs
    value = formula.value(*seen)
    expected = [np.asarray(each) for each in (value if isinstance(value, tuple) else (value,))]
    if formula.into is not None:
        expected = [formula.into(before[0], expected[0])]
    return Case(name, inputs, before, formula.attributes, expected)


def _inputs(op: StructuredOp, formula: Formula, kind: str, rng: np.random.Generator) -> list[Array]:
    name = op.op_name
    low, high = -3.0, 3.0
    if name in POSITIVE | WIDER_POSITIVE:
        low = 1.25 if name == "acosh" else 0.25
    elif name in UNIT_INTERVAL:
        low, high = 0.1, 0.9
    letters = formula.axes.split("->")[0].split(",") if op.definition.inputs else []
    arrays: list[Array] = []
    for axes, operand in zip(letters, op.definition.inputs, strict=True):
        if operand.name == "labels":
            arrays.append(rng.integers(-1, 6, _shape(axes)).astype(np.int32))
            continue
        shared = operand.type_var == op.definition.outputs[0].type_var
        dtype = _own_dtype(operand, DTYPES[kind][shared])
        arrays.append(numbers(_shape(axes), dtype, rng, low=low, high=high))
    if name == "select":
        arrays[0] = arrays[0] > 0
    if name == "fill_rng_2d":
        arrays[:2] = [np.array(-20.0), np.array(30.0)]
    return arrays


def _own_dtype(operand: Operand, dtype: Any) -> Any:
    """The dtype of an operand whose type variable is fixed; else the one given."""
    return np.dtype(PREDEFINED.get(str(operand.type_var), dtype)).type


def _shape(letters: str) -> tuple[int, ...]:
    return tuple(SIZES[letter] for letter in letters)


def _as(dtype: Any, array: Array) -> Array:
    return array if array.dtype.kind == "b" else array.astype(dtype)


_UNIT = {"d": 1, "h": 1, "w": 1}
_STRIDES, _DILATIONS = {"d": 1, "h": 2, "w": 3}, {"d": 3, "h": 1, "w": 2}


def window_case(name: str, kind: str, *, is_strided: bool) -> Case:
    """An op with a window on arrays of one kind of numbers."""
    strides, dilations = (_STRIDES, _DILATIONS) if is_strided else (_UNIT, _UNIT)
    op, window = OPS[name], window_of(name)
    rng = np.random.default_rng(0)
    narrow, wide = DTYPES[kind]
    image, kernel, output = window.shapes(strides, dilations)
    arrays = [numbers(image, narrow, rng), numbers(kernel, narrow, rng)]
    before = numbers(output, wide, rng)
    points = [2, -3] if name.endswith("_q") else [0, 0]
    unsigned = name.endswith("_unsigned")
    seen = [array.view(np.uint8) if unsigned else array for array in arrays]
    shifted = [array.astype(wide) - wide(point) for array, point in zip(seen, points, strict=True)]
    value = window.value(shifted[0], shifted[1], strides, dilations)
    if name.endswith("_q"):
        arrays += [np.array(point, np.int32) for point in points]
    given = {
        "strides": [strides[letter] for letter in window.spatial],
        "dilations": [dilations[letter] for letter in window.spatial],
    }
    attributes = given if op.definition.attributes else {}
    expected = _into(window, before, value, wide, unsigned=unsigned)
    return Case(name, arrays, [before], attributes, [expected])


def _into(window: Window, before: Array, value: Array, wide: Any, *, unsigned: bool) -> Array:
    if window.reduction not in ("max", "min"):
        return np.asarray(before + value)
    both = (before.view(np.uint32), value.view(np.uint32)) if unsigned else (before, value)
    combine = {"max": np.maximum, "min": np.minimum}[window.reduction]
    return np.asarray(combine(*both).view(wide))
