"""`lx.from_onnx`: beside ONNX's own evaluator; weights that are held; errors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import errors
from resources import package

onnx: Any = package("onnx", "pip install 'linalg-ext[onnx]'")

from onnx_models import FLOAT, INT32, MODELS, helper, integers, model, normal, one  # noqa: E402


def evaluated(source: Any, given: Any) -> Any:
    from onnx.reference import ReferenceEvaluator

    names = [each.name for each in source.graph.input]
    return ReferenceEvaluator(source).run(None, dict(zip(names, given, strict=True)))


@pytest.mark.parametrize("case", MODELS)
def test_like_onnx(case: str) -> None:
    source, given = MODELS[case]
    expected = evaluated(source, given)
    found = lx.from_onnx(source, opt_level=0)(*given)
    pairs = zip(found if len(expected) > 1 else (found,), expected, strict=True)
    for ours, theirs in pairs:
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_numbers_that_quantized_ones_stand_for() -> None:
    rows, scales, zeros = integers(np.uint8, 2, 3, 4), normal(3) ** 2, integers(np.uint8, 3)
    source, given = one("DequantizeLinear", rows, weights=[scales, zeros], axis=-2)
    expected = (rows.astype(np.int32) - zeros[:, None]).astype(np.float32) * scales[:, None]
    np.testing.assert_allclose(lx.from_onnx(source)(*given), expected, rtol=1e-6)


def test_zero_points_of_rows() -> None:
    a, b, zeros = integers(np.uint8, 3, 5), integers(np.int8, 5, 4), integers(np.uint8, 3)
    source, given = one("MatMulInteger", a, b, zeros, gives=(INT32,))
    wide = a.astype(np.int32) - zeros[:, None]
    np.testing.assert_array_equal(lx.from_onnx(source)(*given), wide @ b.astype(np.int32))


def test_a_pad_that_cuts_as_much_as_it_adds() -> None:
    x = normal(3, 6)
    source, given = one("Pad", x, weights=[np.array([0, -1, 0, 1])])
    expected = np.concatenate([x[:, 1:], np.zeros((3, 1), np.float32)], 1)
    np.testing.assert_array_equal(lx.from_onnx(source)(*given), expected)


@pytest.fixture(scope="module")
def perceptron() -> Any:
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w2"], ["y"]),
    ]
    weights = {"w1": normal(6, 8), "w2": normal(8, 3)}
    return model(nodes, {"x": (weights["w1"], ["N", 6])}, {"y": FLOAT}, weights)


def test_weights_are_arguments_and_rows_are_open(perceptron: Any, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    onnx.save(perceptron, file)
    net = lx.from_onnx(file)
    assert "dense_resource" not in str(net.module)
    assert "dense<[" not in str(net.module)
    for rows in (1, 5):
        x = normal(rows, 6)
        (expected,) = evaluated(perceptron, [x])
        np.testing.assert_allclose(net(x=x), expected, rtol=1e-5, atol=1e-6)
    net.weights["w2"][:] = 0
    np.testing.assert_array_equal(net(x), np.zeros((5, 3)))


def test_calls_that_do_not_fit(perceptron: Any) -> None:
    net, x = lx.from_onnx(perceptron), normal(2, 6)
    with pytest.raises(errors.ArityError, match="input x of the model is missing"):
        net()
    with pytest.raises(errors.ArityError, match=r"2 inputs for a model\n.*expected x"):
        net(x, x)
    with pytest.raises(errors.ArgumentError, match="z is no input"):
        net(z=x)
    with pytest.raises(errors.ArgumentError, match="x is given twice"):
        net(x, x=x)
    with pytest.raises(errors.ShapeError):
        net(x.T)
    with pytest.raises(errors.UnpicklableError):
        pickle.dumps(net)


def test_what_is_no_model(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"this is no protobuf")
    with pytest.raises(errors.ArgumentError, match="there is no file"):
        lx.from_onnx(tmp_path / "absent.onnx")
    with pytest.raises(errors.ModelError, match="no model of ONNX"):
        lx.from_onnx(broken)
    with pytest.raises(errors.ModelError, match="no model of ONNX"):
        lx.from_onnx(b"")
    with pytest.raises(errors.ArgumentError, match="a int is no model"):
        lx.from_onnx(3)


def test_a_node_that_does_not_come_through_is_named() -> None:
    transform, _ = one("DFT", normal(1, 8, 1), axis=1)
    with pytest.raises(errors.ModelError, match=r"(?s)DFT of the model.*node 0, DFT.*makes y0"):
        lx.from_onnx(transform)
    unsigned, _ = one("Div", np.array([200], np.uint8), np.array([3], np.uint8), gives=(2,))
    with pytest.raises(errors.ModelError, match=r"Div of the model.*unsigned"):
        lx.from_onnx(unsigned)


def test_ops_of_others() -> None:
    node = helper.make_node("FusedGelu", ["x"], ["y"], domain="com.example")
    info = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [info("x", FLOAT, [2])], [info("y", FLOAT, [2])])
    without = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    with pytest.raises(errors.ModelError, match=r"com\.example"):
        lx.from_onnx(without)
    own = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    with pytest.raises(errors.ModelError, match=r"FusedGelu of the model(.|\n)*node 0"):
        lx.from_onnx(helper.make_model(graph, opset_imports=own, ir_version=9))
