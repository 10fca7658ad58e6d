"""Reshapes of ONNX with several open sizes, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.frameworks.torch_dialect import Group, between
from resources import package

package("onnx", "pip install 'linalg-ext[onnx]'")

from onnx_models import FLOAT, helper, i64, model, normal  # noqa: E402


@pytest.mark.parametrize(
    ("wanted", "shape"),
    [
        ((-1, 12), lambda b, s: (-1, 12)),
        ((0, -1), lambda b, s: (b, -1)),
        ((0, 0, 3, 4), lambda b, s: (b, s, 3, 4)),
        ((0, 0, 3, -1), lambda b, s: (b, s, 3, 4)),
        ((0, 0, 12, 1), lambda b, s: (b, s, 12, 1)),
        ((-1,), lambda b, s: (-1,)),
        ((0, -1, 4), lambda b, s: (b, -1, 4)),
    ],
)
def test_reshapes(wanted: tuple[int, ...], shape: Any) -> None:
    x = normal(2, 3, 12)
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    source = model([node], {"x": (x, ["B", "S", 12])}, {"y": FLOAT}, {"shape": i64(*wanted)})
    net = lx.from_onnx(source)
    for sizes in ((2, 3), (1, 5), (4, 1)):
        x = normal(*sizes, 12)
        np.testing.assert_array_equal(net(x), x.reshape(shape(*sizes)))


@pytest.mark.parametrize(
    ("before", "after", "groups"),
    [
        (("b", "s", 4), (-1, 4), [Group((0, 1), (0,)), Group((2,), (1,))]),
        (("b", "s", 4), ("b", -1), [Group((0,), (0,)), Group((1, 2), (1,))]),
        (("b", "s"), ("b", "s"), [Group((0,), (0,)), Group((1,), (1,))]),
        (("b", "s"), ("b", "s", 1), [Group((0,), (0,)), Group((1,), (1, 2))]),
        (("b", "b"), ("b",), [Group((0, 1), (0,))]),
        ((1, "b"), ("b",), [Group((0, 1), (0,))]),
        (("b",), (), None),
    ],
)
def test_groups_of_axes(before: Any, after: Any, groups: list[Group] | None) -> None:
    assert between(before, after) == groups
