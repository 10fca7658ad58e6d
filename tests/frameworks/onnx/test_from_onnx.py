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

import onnx_rewritten  # noqa: E402
from onnx_models import FLOAT, INT32, MODELS, helper, integers, model, normal, one  # noqa: E402


def evaluated(source: Any, given: Any) -> Any:
    from onnx.reference import ReferenceEvaluator

    names = [each.name for each in source.graph.input]
    return ReferenceEvaluator(source).run(None, dict(zip(names, given, strict=True)))


@pytest.mark.parametrize("case", [*MODELS, *onnx_rewritten.MODELS])
def test_like_onnx(case: str) -> None:
    source, given = {**MODELS, **onnx_rewritten.MODELS}[case]
    expected = evaluated(source, given)
    found = lx.from_onnx(source, opt_level=0)(*given)
    pairs = zip(found if len(expected) > 1 else (found,), expected, strict=True)
    for ours, theirs in pairs:
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_sequences_of_lengths(op: str, gates: int, direction: str) -> None:
    """Each row is as if it had been alone, and as long as it says."""
    lengths = np.array([5, 2], np.int32)
    source, (rows,) = onnx_rewritten.layer(op, gates, lengths, direction=direction)
    found = lx.from_onnx(source, opt_level=0)(rows)
    held = [onnx.numpy_helper.to_array(each) for each in source.graph.initializer][:3]
    for row, length in enumerate(lengths):
        alone, given = one(
            *(op, rows[:length, row : row + 1]),
            weights=held,
            gives=(FLOAT,) * len(found),
            hidden_size=4,
            direction=direction,
        )
        states, *last = evaluated(alone, given)
        np.testing.assert_allclose(found[0][:length, :, row], states[:, :, 0], rtol=1e-4, atol=1e-5)
        assert not found[0][length:, :, row].any()
        for ours, theirs in zip(found[1:], last, strict=True):
            np.testing.assert_allclose(ours[:, row], theirs[:, 0], rtol=1e-4, atol=1e-5)


def test_functions_of_the_model() -> None:
    source, (x,) = onnx_rewritten.function()
    bent = np.where(x < 0, 0.5 * x, 2 * x)
    expected = np.where(bent < 0, bent, 2 * bent)
    np.testing.assert_allclose(lx.from_onnx(source)(x), expected, rtol=1e-6)


def test_loops_of_known_lengths() -> None:
    source, (x,) = onnx_rewritten.loop()
    states = [x]
    for step in range(4):
        states.append(states[-1] * np.float32(0.5) + step)
    last, every = lx.from_onnx(source)(x)
    np.testing.assert_allclose(last, states[-1], rtol=1e-5)
    np.testing.assert_allclose(every, np.maximum(states[1:], 0), rtol=1e-5)


def test_scan_backwards() -> None:
    source, (x, rows) = onnx_rewritten.scan()
    states = x[:, None] + np.cumsum(rows[:, ::-1], 1)
    last, every = lx.from_onnx(source)(x, rows)
    np.testing.assert_allclose(last, states[:, -1], rtol=1e-5)
    np.testing.assert_allclose(every, -states[:, ::-1], rtol=1e-5)


def test_transposed_convolutions_of_groups() -> None:
    x, filters = normal(1, 4, 5, 5), normal(4, 3, 3, 3)
    source, given = one("ConvTranspose", x, weights=[filters], group=2, strides=[2, 2])
    parts = [
        evaluated(*one("ConvTranspose", x[:, part], weights=[filters[part]], strides=[2, 2]))[0]
        for part in (slice(0, 2), slice(2, 4))
    ]
    expected = np.concatenate(parts, axis=1)
    np.testing.assert_allclose(lx.from_onnx(source)(*given), expected, rtol=1e-4, atol=1e-5)


def test_norms_of_an_older_opset() -> None:
    x, held = normal(2, 3, 4), [normal(3) ** 2 for _ in range(4)]
    source, _ = onnx_rewritten.of_opset(9, one("BatchNormalization", x, weights=held))
    scale, bias, mean, variance = (each[:, None] for each in held)
    expected = (x - mean) / np.sqrt(variance + 1e-5) * scale + bias
    np.testing.assert_allclose(lx.from_onnx(source)(x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_layers_of_open_sizes(op: str, gates: int) -> None:
    """One kernel for any number of steps and of rows: nothing is written step by step."""
    source, (rows,) = onnx_rewritten.layer(op, gates, direction="bidirectional", directions=2)
    states, *last = source.graph.output
    for value, axes in (
        (source.graph.input[0], {0: "steps", 1: "rows"}),
        (states, {0: "steps", 2: "rows"}),
        *((state, {1: "rows"}) for state in last),
    ):
        for axis, name in axes.items():
            value.type.tensor_type.shape.dim[axis].dim_param = name
    net = lx.from_onnx(source, opt_level=0)
    for given in (rows, normal(7, 3, 3)):
        for ours, theirs in zip(net(given), evaluated(source, (given,)), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_clipped_states() -> None:
    source, (rows,) = onnx_rewritten.layer("RNN", 1, clip=0.5, activations=["Relu"])
    w, r, b = (onnx.numpy_helper.to_array(each)[0] for each in source.graph.initializer)
    state = np.zeros((2, 4), np.float32)
    for row in rows:
        state = np.clip(row @ w.T + state @ r.T + b[:4] + b[4:], 0, 0.5)
    np.testing.assert_allclose(lx.from_onnx(source)(rows)[1][0], state, rtol=1e-4, atol=1e-5)


def test_slopes_of_channels_before_opset_7() -> None:
    x, slopes = normal(2, 3, 3), normal(3)
    source, _ = onnx_rewritten.of_opset(6, one("PRelu", x, weights=[slopes]))
    expected = np.where(x < 0, x * slopes[:, None], x)
    np.testing.assert_allclose(lx.from_onnx(source)(x), expected, rtol=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_rows_of_zeros_have_no_length(order: int) -> None:
    x = normal(3, 4)
    x[1] = 0
    source, _ = one("LpNormalization", x, p=order, axis=1)
    sizes = np.linalg.norm(x, order, axis=1, keepdims=True)
    np.testing.assert_allclose(lx.from_onnx(source)(x), x / (sizes + (sizes == 0)), rtol=1e-5)


def test_modes_that_would_differ() -> None:
    source, _ = one("GridSample", normal(1, 1, 4, 4), normal(1, 2, 2, 2), mode="nearest")
    with pytest.raises(errors.ModelError, match=r"(?s)GridSample of the model.*mode.*node 0"):
        lx.from_onnx(source)


@pytest.mark.parametrize("declared", [[2, 3], [4], ["n", 4, 1]])
def test_a_result_that_is_declared_of_another_shape(declared: list[Any]) -> None:
    source, _ = one("Relu", normal(2, 4))
    model = onnx.load_model_from_string(source) if isinstance(source, bytes) else source
    result = model.graph.output[0]
    result.CopyFrom(
        onnx.helper.make_tensor_value_info(result.name, onnx.TensorProto.FLOAT, declared)
    )
    with pytest.raises(errors.ModelError, match=r"declared shape differ in .*\n.*node 0.*\n.*mend"):
        lx.from_onnx(model)


def test_factors_that_only_the_run_tells() -> None:
    node = helper.make_node(
        *("Resize", ["x", "", "s"], ["y"]),
        mode="linear",
        coordinate_transformation_mode="align_corners",
    )
    inputs = {"x": (normal(1, 1, 4, 4), [1, 1, 4, 4]), "s": (normal(4), [4])}
    open_scale = model([node], inputs, {"y": FLOAT})
    del open_scale.graph.output[0].type.tensor_type.shape.dim[:]
    for _ in range(4):
        open_scale.graph.output[0].type.tensor_type.shape.dim.add()
    with pytest.raises(errors.ModelError, match=r"(?s)Resize of the model.*corners.*node 0"):
        lx.from_onnx(open_scale)


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
    with pytest.raises(errors.ArgumentError, match="z is not an input"):
        net(z=x)
    with pytest.raises(errors.ArgumentError, match="x is given twice"):
        net(x, x=x)
    with pytest.raises(errors.ShapeError):
        net(x.T)
    with pytest.raises(errors.UnpicklableError):
        pickle.dumps(net)


def test_what_is_no_model(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"this is not a protobuf")
    with pytest.raises(errors.ArgumentError, match="does not exist"):
        lx.from_onnx(tmp_path / "absent.onnx")
    with pytest.raises(errors.ModelError, match="no model of ONNX"):
        lx.from_onnx(broken)
    with pytest.raises(errors.ModelError, match="no model of ONNX"):
        lx.from_onnx(b"")
    with pytest.raises(errors.ArgumentError, match="an int is not a model"):
        lx.from_onnx(3)


def test_a_node_that_does_not_come_through_is_named() -> None:
    transform, _ = one("DFT", normal(1, 8, 1), axis=1)
    with pytest.raises(errors.ModelError, match=r"(?s)DFT of the model.*node 0, DFT.*makes y0"):
        lx.from_onnx(transform)
    unsigned, _ = one("Div", np.array([200], np.uint64), np.array([3], np.uint64), gives=(13,))
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
