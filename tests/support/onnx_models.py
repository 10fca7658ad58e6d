"""Small models of ONNX, made here: a node each, with its weights as initializers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from resources import package

onnx: Any = package("onnx", "pip install 'linalg-ext[onnx]'")
helper, FLOAT, INT64, INT32, UINT8, INT8 = onnx.helper, 1, 7, 6, 2, 3

_rng = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    """Random numbers of float32."""
    return _rng.standard_normal(shape).astype(np.float32)


def i64(*values: int) -> Any:
    """A vector of int64."""
    return np.array(values, np.int64)


def model(
    nodes: Sequence[Any],
    inputs: Mapping[str, tuple[Any, Sequence[int | str]]],
    outputs: Mapping[str, int],
    weights: Mapping[str, Any] | None = None,
) -> Any:
    """A model of opset 17: its inputs as examples and shapes, its outputs as element types."""
    info = helper.make_tensor_value_info
    kind = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [info(name, kind(a.dtype), list(shape)) for name, (a, shape) in inputs.items()],
        [info(name, element, None) for name, element in outputs.items()],
        [onnx.numpy_helper.from_array(value, name) for name, value in (weights or {}).items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=opset, ir_version=9)
    )


def one(
    op: str, *inputs: Any, weights: Sequence[Any] = (), gives: Sequence[int] = (FLOAT,), **more: Any
) -> tuple[Any, tuple[Any, ...]]:
    """A model of one node, and what to call it with."""
    names = [f"x{place}" for place in range(len(inputs))]
    held = {f"w{place}": value for place, value in enumerate(weights)}
    outputs = {f"y{place}": element for place, element in enumerate(gives)}
    node = helper.make_node(op, [*names, *held], list(outputs), **more)
    given = {name: (a, a.shape) for name, a in zip(names, inputs, strict=True)}
    return model([node], given, outputs, held), inputs


def integers(dtype: Any, *shape: int) -> Any:
    """Random integers of 8 bits, of their whole range."""
    bounds = np.iinfo(dtype)
    return _rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)


def quantum(scale: float, zero: int, dtype: Any) -> list[Any]:
    """What quantized numbers stand for: a scale, and a zero point."""
    return [np.float32(scale), dtype(zero)]


x, image = normal(2, 6), normal(2, 3, 8, 8)

MODELS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "gemm": one("Gemm", x, weights=[normal(5, 6), normal(5)], transB=1, alpha=0.5),
    "conv": one(
        "Conv", image, weights=[normal(4, 3, 3, 3), normal(4)], pads=[1] * 4, strides=[2, 2]
    ),
    "groups": one("Conv", image, weights=[normal(6, 1, 3, 3)], group=3),
    "transposed": one("ConvTranspose", image, weights=[normal(3, 4, 3, 3)], strides=[2, 2]),
    "max pool": one("MaxPool", image, kernel_shape=[2, 2], strides=[2, 2]),
    "average pool": one("AveragePool", image, kernel_shape=[3, 3], pads=[1] * 4),
    "batch norm": one("BatchNormalization", image, weights=[normal(3) ** 2 for _ in range(4)]),
    "layer norm": one("LayerNormalization", x, weights=[normal(6), normal(6)]),
    "softmax": one("Softmax", x),
    "hard swish": one("HardSwish", x),
    "clip": one("Clip", x, weights=[np.float32(-1), np.float32(1)]),
    "reshape": one("Reshape", x, weights=[i64(3, -1)]),
    "split": one("Split", x, weights=[i64(2, 4)], gives=(FLOAT, FLOAT), axis=1),
    "slice": one("Slice", x, weights=[i64(1), i64(5), i64(1), i64(2)]),
    "gather": one("Gather", x, i64(0, 3, 5), axis=1),
    "scatter": one("ScatterElements", x, i64(1, 2).reshape(2, 1), normal(2, 1), axis=1),
    "argmax": one("ArgMax", x, axis=1, gives=(INT64,)),
    "top k": one("TopK", x, weights=[i64(3)], gives=(FLOAT, INT64)),
    "cumsum": one("CumSum", x, weights=[np.array(1, np.int64)]),
    "einsum": one("Einsum", x, normal(6, 3), equation="ij,jk->ik"),
    "lstm": one(
        "LSTM",
        normal(5, 2, 3),
        weights=[normal(1, 16, 3), normal(1, 16, 4), normal(1, 32)],
        gives=(FLOAT,) * 3,
        hidden_size=4,
    ),
    "softsign": one("Softsign", x),
    "quantized product": one(
        "QLinearMatMul",
        *(a := integers(np.uint8, 3, 5), *quantum(0.02, 120, np.uint8)),
        *(integers(np.int8, 5, 4), *quantum(0.01, -9, np.int8), *quantum(0.05, 100, np.uint8)),
        gives=(UINT8,),
    ),
    "quantized convolution": one(
        "QLinearConv",
        integers(np.uint8, 1, 2, 7, 6),
        weights=[
            *quantum(0.02, 120, np.uint8),
            *(integers(np.int8, 3, 2, 3, 3), normal(3) ** 2, integers(np.int8, 3)),
            *(*quantum(0.3, 100, np.uint8), np.array([100, -200, 3000], np.int32)),
        ],
        gives=(UINT8,),
        pads=[1, 1, 0, 2],
    ),
    "product of bytes": one(
        "MatMulInteger",
        a,
        integers(np.int8, 5, 4),
        np.uint8(12),
        integers(np.int8, 4),
        gives=(INT32,),
    ),
    "convolution of bytes": one(
        "ConvInteger",
        integers(np.uint8, 1, 2, 5, 6),
        integers(np.int8, 4, 1, 3, 2),
        gives=(INT32,),
        group=2,
    ),
    "quantized rows": one(
        "QuantizeLinear",
        9 * x,
        np.array([0.02, 0.03], np.float32),
        np.array([1, 200], np.uint8),
        gives=(UINT8,),
        axis=0,
    ),
    "bytes": one("Cast", np.array([0, 1.7, 127, 128.5, 255], np.float32), to=UINT8, gives=(UINT8,)),
    "cast": one("Cast", x, to=INT32, gives=(INT32,)),
}
"""By what they try: a model, and its inputs."""
