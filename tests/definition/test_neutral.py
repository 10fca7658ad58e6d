"""Neutral elements, for every dtype that arrays may have."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from core_ops import Array
from linalg_ext.definition.functions import REDUCTIONS
from linalg_ext.definition.initial import neutral_element
from linalg_ext.errors import DTypeError
from linalg_ext.runtime.dtypes import ElementType, element_types, integer_range

COMBINE: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "mul": operator.mul,
    "max_signed": max,
    "min_signed": min,
    "max_unsigned": max,
    "min_unsigned": min,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
ON_BITS = ("and", "or", "xor")
CASES = [(element, dtype) for element in element_types() for dtype in element.dtypes]


def _samples(element: ElementType, dtype: np.dtype[Any]) -> Array:
    if element.kind in ("integer", "index"):
        least, greatest = integer_range(dtype)
        return np.array([dtype.type(value) for value in (least, 0, 1, greatest)])
    values = [1, 0.5, 4] if dtype == ml_dtypes.float8_e8m0fnu else [1, 0.5, 2, 0, -1, -4]
    return np.array(values).astype(dtype)


def _number(value: Any, element: ElementType, *, unsigned: bool) -> Any:
    if element.kind in ("float", "complex"):
        return complex(value) if element.kind == "complex" else float(value)
    return int(value) % 2**element.width if unsigned else int(value)


@pytest.mark.parametrize(("element", "dtype"), CASES, ids=str)
@pytest.mark.parametrize("function", COMBINE)
def test_changes_nothing(function: str, element: ElementType, dtype: np.dtype[Any]) -> None:
    no_order = element.kind == "complex" and function not in ("add", "mul")
    if function in ON_BITS and element.kind in ("float", "complex"):
        with pytest.raises(DTypeError, match="has no meaning for"):
            neutral_element(function, dtype)
        return
    no_zero = dtype == ml_dtypes.float8_e8m0fnu and function == "add"
    if no_order or no_zero:
        with pytest.raises(DTypeError, match="give init="):
            neutral_element(function, dtype)
        return
    neutral = neutral_element(function, dtype)
    assert np.asarray(neutral).dtype == dtype
    unsigned = function.endswith("_unsigned")
    start = _number(neutral, element, unsigned=unsigned)
    for sample in _samples(element, dtype):
        value = _number(sample, element, unsigned=unsigned)
        assert COMBINE[function](start, value) == value


def test_all_reductions_are_tried() -> None:
    assert [str(function) for function in REDUCTIONS] == list(COMBINE)


@pytest.mark.parametrize("function", ["sub", "div", "powf"])
def test_what_has_none(function: str) -> None:
    with pytest.raises(DTypeError, match="give init="):
        neutral_element(function, np.dtype(np.float32))
