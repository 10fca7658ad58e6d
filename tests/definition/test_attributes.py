"""The attributes of a call: defaults filled in, wrong values refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core_ops import core_ops
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.errors import ArgumentError, ArityError
from linalg_ext.opdsl import (
    BinaryFn,
    BinaryFnAttrDef,
    D,
    S,
    T,
    TensorDef,
    TypeFn,
    structured_op,
)

# an operand is declared by a call as a default
# mypy: allow-untyped-defs

CONV = core_ops()["conv_2d"].definition
POOL = core_ops()["pooling_nhwc_sum"].definition
COPY = core_ops()["copy"].definition


@structured_op
def reduce(
    A=TensorDef(T, S.M), C=TensorDef(T, output=True), fn=BinaryFnAttrDef(default=BinaryFn.add)
):
    C[None] = fn[D.m](A[D.m])


def test_defaults() -> None:
    attributes = resolve_attributes(POOL, {})
    assert attributes.symbols == {"SH": 1, "SW": 1, "DH": 1, "DW": 1}
    assert attributes.changed == {}
    assert resolve_attributes(COPY, {}).functions["cast"].name == "cast_signed"


@pytest.mark.parametrize("value", [2, np.int64(2), [2, 2], (2, 2), np.array([2, 2])])
def test_index_attributes(value: Any) -> None:
    attributes = resolve_attributes(POOL, {"strides": value})
    assert (attributes.symbols["SH"], attributes.symbols["SW"]) == (2, 2)
    assert attributes.changed == {"strides": (2, 2)}
    assert all(type(number) is int for number in attributes.changed["strides"])


def test_what_is_given_as_its_default_is_not_given() -> None:
    assert resolve_attributes(POOL, {"strides": [1, 1]}).changed == {}


@pytest.mark.parametrize(
    "value", [TypeFn.cast_unsigned, "cast_unsigned", TypeFn.cast_unsigned.function]
)
def test_function_attributes(value: Any) -> None:
    assert resolve_attributes(COPY, {"cast": value}).functions["cast"].name == "cast_unsigned"


def test_the_key_tells_calls_apart() -> None:
    keys = [resolve_attributes(POOL, {"strides": value}).key for value in (1, 2, [1, 2], [2, 1])]
    assert len(set(keys)) == 4


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"strides": [1]}, "attribute strides cannot be [1]"),
        ({"strides": [1.0, 1.0]}, "2 integers for (SH, SW)"),
        ({"strides": "11"}, "2 integers"),
        ({"strides": True}, "cannot be True"),
        ({"strides": None}, "cannot be None"),
        ({"strides": 0}, "[0, 0] is not positive"),
        ({"dilations": [1, -1]}, "[1, -1] is not positive"),
    ],
)
def test_wrong_indices(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        resolve_attributes(POOL, values)
    assert words in str(raised.value)


@pytest.mark.parametrize("value", ["add", BinaryFn.add, None, 3, len])
def test_wrong_functions(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"(?s)cast cannot be.*a type function: cast_"):
        resolve_attributes(COPY, {"cast": value})


def test_a_reduction_needs_a_reduction() -> None:
    assert resolve_attributes(reduce.definition, {"fn": "mul"}).functions["fn"].name == "mul"
    with pytest.raises(ArgumentError, match=r"(?s)fn cannot be 'sub'.*a reduction function: add"):
        resolve_attributes(reduce.definition, {"fn": "sub"})


def test_unknown_names() -> None:
    with pytest.raises(ArityError, match=r"(?s)no argument 'stride'.*did you mean strides\?"):
        resolve_attributes(POOL, {"stride": 2})
    with pytest.raises(ArityError, match="there are none"):
        resolve_attributes(CONV, {"strides": 2})
