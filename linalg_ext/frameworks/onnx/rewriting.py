"""Nodes of ONNX written as others, where torch-mlir has no way for them.

Each rewrite says what a node gives by ONNX's own ops, in words that every opset since 13 has:
products of 8-bit integers as products of 32-bit ones, quantization along an axis as arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from linalg_ext.frameworks.onnx.requirements import onnx


def rewritten(model: Any) -> Any:
    """A model, its shapes inferred, without nodes that do not come through as they are.

    The model itself is changed.
    """
    graph = model.graph
    values = (*graph.value_info, *graph.input, *graph.output)
    known = {each.name: each.type.tensor_type for each in values}
    kinds = {name: found.elem_type for name, found in known.items()}
    ranks = {n: len(t.shape.dim) for n, t in known.items() if t.HasField("shape")}
    for each in graph.initializer:
        kinds[each.name], ranks[each.name] = each.data_type, len(each.dims)
    nodes = list(graph.node)
    written = [_written(node, ranks, kinds) for node in nodes]
    if written == [[node] for node in nodes]:
        return model
    del graph.node[:]
    graph.node.extend(each for some in written for each in some)
    return onnx().shape_inference.infer_shapes(model, data_prop=True)


def _written(node: Any, ranks: Mapping[str, int], kinds: Mapping[str, int]) -> Sequence[Any]:
    rewrite = _REWRITES.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    is_known = all(not name or (name in ranks and kinds.get(name)) for name in node.input)
    if rewrite is None or not is_known:
        return [node]
    write = _Writer(f"{node.output[0]}/{node.op_type}", ranks, kinds)
    attributes = {each.name: onnx().helper.get_attribute_value(each) for each in node.attribute}
    rewrite(write, node, attributes)
    for each in write.nodes:
        each.name = node.name
    return write.nodes or [node]


@dataclass
class _Writer:
    """Writes the nodes that stand for one.

    Attributes:
        prefix: what the names of their values begin with.
        ranks: of the graph's values.
        kinds: of the graph's values: numbers of ONNX's element types.
        nodes: what was written.
    """

    prefix: str
    ranks: Mapping[str, int]
    kinds: Mapping[str, int]
    nodes: list[Any] = field(default_factory=list)

    def __call__(self, op: str, *inputs: str, gives: str = "", **attributes: Any) -> str:
        """Write a node, and name what it gives."""
        name = gives or f"{self.prefix}/{len(self.nodes)}"
        self.nodes.append(onnx().helper.make_node(op, inputs, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """An array."""
        return self("Constant", value=onnx().numpy_helper.from_array(np.asarray(value)))

    def number(self, value: float, like: str) -> str:
        """A number of the element type of a value."""
        return self.constant(np.array(value, self.dtype(like)))

    def dtype(self, value: str) -> np.dtype[Any]:
        """NumPy's type of a value's elements."""
        found: np.dtype[Any] = onnx().helper.tensor_dtype_to_np_dtype(self.kinds[value])
        return found

    def along(self, vector: str, axis: int, rank: int) -> str:
        """A vector as a tensor that goes along one axis of others; a scalar as it is."""
        if self.ranks[vector] == 0:
            return vector
        shape = np.ones(rank, np.int64)
        shape[axis] = -1
        return self("Reshape", vector, self.constant(shape))

    def wide(self, value: str, zero: str) -> str:
        """Integers as 32-bit ones, less their zero point where there is one."""
        found = self("Cast", value, to=onnx().TensorProto.INT32)
        if not zero:
            return found
        return self("Sub", found, self("Cast", zero, to=onnx().TensorProto.INT32))


def _softsign(write: _Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    (x,) = node.input
    size = write("Add", write("Abs", x), write.number(1, x))
    write("Div", x, size, gives=node.output[0])


def _cast(write: _Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Floats to bytes by wider integers: torch-mlir would take the bounds of signed bytes."""
    types = onnx().TensorProto
    (x,) = node.input
    floats = types.FLOAT, types.FLOAT16, types.BFLOAT16, types.DOUBLE
    if write.kinds[x] in floats and attributes["to"] == types.UINT8:
        integers = write("Cast", x, to=types.INT32)
        write("Cast", integers, gives=node.output[0], to=types.UINT8)


def _matmul_integer(write: _Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Zero points are those of rows, and of columns."""
    a, b, *zeros = node.input
    _product(write, a, _at(zeros, 0), b, _at(zeros, 1), node.output[0])


def _qlinear_matmul(write: _Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    a, a_scale, a_zero, b, b_scale, b_zero, *quantum = node.input
    sums = _product(write, a, a_zero, b, b_zero)
    _scaled(write, sums, [_of_rows(write, a_scale), b_scale], quantum, node.output[0])


def _conv_integer(write: _Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    x, w, *zeros = node.input
    numbers = _centred(write, x, _at(zeros, 0), w, _at(zeros, 1))
    _convolved(write, *numbers, "", attributes, node.output[0])


def _qlinear_conv(write: _Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    x, x_scale, x_zero, w, w_scale, w_zero, scale, zero, *bias = node.input
    scales = [x_scale, write.along(w_scale, 1, write.ranks[w])]
    numbers = _centred(write, x, x_zero, w, w_zero)
    sums = _convolved(write, *numbers, _at(bias, 0), attributes)
    _scaled(write, sums, scales, [scale, zero], node.output[0])


def _product(write: _Writer, a: str, a_zero: str, b: str, b_zero: str, gives: str = "") -> str:
    rows = _of_rows(write, a_zero) if a_zero else ""
    return write("MatMul", write.wide(a, rows), write.wide(b, b_zero), gives=gives)


def _centred(write: _Writer, x: str, x_zero: str, w: str, w_zero: str) -> tuple[str, str]:
    """What a convolution reads: its zeros are zeros, those that it is padded with, too."""
    filters = write.along(w_zero, 0, write.ranks[w]) if w_zero else ""
    return write.wide(x, x_zero), write.wide(w, filters)


def _convolved(
    write: _Writer, x: str, w: str, bias: str, attributes: Mapping[str, Any], gives: str = ""
) -> str:
    """A convolution of integers, which torch-mlir pads on both sides alike, if at all."""
    pads = list(attributes.get("pads", ()))
    half = len(pads) // 2
    if pads[:half] != pads[half:]:
        edges = write.constant(np.array([0, 0, *pads[:half], 0, 0, *pads[half:]], np.int64))
        # It pads floats alone: these are of 9 bits, which floats hold.
        x = write("Pad", write("Cast", x, to=onnx().TensorProto.FLOAT), edges)
        x = write("Cast", x, to=onnx().TensorProto.INT32)
        attributes = {**attributes, "pads": [0] * len(pads)}
    return write("Conv", x, w, *filter(None, [bias]), gives=gives, **attributes)


def _of_rows(write: _Writer, value: str) -> str:
    """What each row of a matrix has of its own, or all have."""
    return write.along(value, 0, 2)


def _scaled(
    write: _Writer, sums: str, scales: Sequence[str], quantum: Sequence[str], gives: str
) -> None:
    """Sums of integers as the numbers that they stand for, quantized."""
    found = write("Cast", sums, to=onnx().TensorProto.FLOAT)
    for scale in scales:
        found = write("Mul", found, scale)
    write("QuantizeLinear", found, *quantum, gives=gives)


def _quantize(write: _Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Along an axis: to the nearest integer within the type's bounds; the even one of two."""
    x, scale, *zeros = node.input
    zero = _at(zeros, 0)
    if write.ranks[scale] != 1 or not zero or write.dtype(zero).kind not in "iu":
        return
    rank, axis = write.ranks[x], attributes.get("axis", 1)
    bounds = np.iinfo(write.dtype(zero))
    found = write("Round", write("Div", x, write.along(scale, axis, rank)))
    shift = write("Cast", write.along(zero, axis, rank), to=write.kinds[x])
    found = write("Max", write("Add", found, shift), write.number(bounds.min, x))
    found = write("Min", found, write.number(bounds.max, x))
    found = write("Cast", found, to=onnx().TensorProto.INT32)
    write("Cast", found, gives=node.output[0], to=write.kinds[zero])


def _dequantize(write: _Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Along an axis."""
    x, scale, *zeros = node.input
    zero = _at(zeros, 0)
    if write.ranks[scale] != 1 or write.dtype(x).kind not in "iu":
        return
    rank, axis = write.ranks[x], attributes.get("axis", 1)
    found = write.wide(x, write.along(zero, axis, rank) if zero else "")
    found = write("Cast", found, to=write.kinds[scale])
    write("Mul", found, write.along(scale, axis, rank), gives=node.output[0])


def _at(names: Sequence[str], place: int) -> str:
    """The name of an input that may be left out; none is no name."""
    return names[place] if place < len(names) else ""


_REWRITES: Mapping[str, Callable[[_Writer, Any, Mapping[str, Any]], None]] = MappingProxyType(
    {
        "Cast": _cast,
        "ConvInteger": _conv_integer,
        "DequantizeLinear": _dequantize,
        "MatMulInteger": _matmul_integer,
        "QLinearConv": _qlinear_conv,
        "QLinearMatMul": _qlinear_matmul,
        "QuantizeLinear": _quantize,
        "Softsign": _softsign,
    }
)
