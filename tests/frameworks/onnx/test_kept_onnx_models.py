"""Models of ONNX that were compiled once: found again, and run with their own weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from resources import package

onnx: Any = package("onnx", "pip install 'linalg-ext[onnx]'")

X = np.linspace(-1, 1, 40, dtype=np.float32).reshape(2, 20)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path))


def _model(weight: Any, kind: str) -> Any:
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(kind, ["x", "w"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", float32, [2, 20])],
        [helper.make_tensor_value_info("y", float32, [2, 20])],
        [onnx.numpy_helper.from_array(weight.astype(np.float32), "w")],
    )
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def test_a_model_is_found_by_its_nodes_and_with_its_own_weights(made: list[Any]) -> None:
    weight, small = np.linspace(1, 2, 20), np.full(1, 2)
    for kind, values, count in (
        ("Mul", weight, 1),
        ("Mul", weight * 2, 1),  # an argument
        ("Add", weight, 2),
        ("Mul", small, 3),
        ("Mul", small * 2, 4),  # in the code
        ("Mul", small, 4),
    ):
        net = lx.from_onnx(_model(values, kind))
        expected = X * values if kind == "Mul" else X + values
        np.testing.assert_allclose(net(X), expected, rtol=1e-6)
        assert "linalg." in str(net.module)
        assert len(made) == count
