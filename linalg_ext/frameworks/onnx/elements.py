"""Functions of elements, unsigned integers, quantized ops, windows, by other ops of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linalg_ext.frameworks.onnx.writing import Rewrite, Unwritten, Writer, at
from linalg_ext.frameworks.requirements import onnx


def _softsign(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    (x,) = node.input
    size = write("Add", write("Abs", x), write.number(1, x))
    write("Div", x, size, gives=node.output[0])


def _cast(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write casts of floats to bytes by wider integers: torch-mlir clips to signed bytes."""
    types = onnx().TensorProto
    (x,) = node.input
    floats = types.FLOAT, types.FLOAT16, types.BFLOAT16, types.DOUBLE
    if write.kinds[x] in floats and attributes["to"] == types.UINT8:
        integers = write("Cast", x, to=types.INT32)
        write("Cast", integers, gives=node.output[0], to=types.UINT8)


def _matmul(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write the product of a vector and a stack of matrices with a matrix of one row, or column."""
    a, b = node.input
    ranks = write.rank(a), write.rank(b)
    if min(ranks) != 1 or max(ranks) < 3 or write.known.opset < 13:
        return
    if ranks[0] == 1:
        a, lost = write("Unsqueeze", a, write.integers(0)), -2
    else:
        b, lost = write("Unsqueeze", b, write.integers(-1)), -1
    write("Squeeze", write("MatMul", a, b), write.integers(lost), gives=node.output[0])


def _dropout(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write the identity, as `Dropout` is outside of training."""
    x, training = node.input[0], at(node.input, 2)
    if write.known.opset < 7:
        raise Unwritten
    if training and write.known_array(training).item() and not _is_none(write, node):
        raise Unwritten
    write("Identity", x, gives=node.output[0])
    if len(node.output) > 1 and node.output[1]:
        kind = onnx().TensorProto.BOOL if write.known.opset >= 10 else write.kinds[x]
        whole = write("Equal", x, x)
        never = write("Not", whole)
        mask = write("Or", whole, never)
        write("Cast", mask, gives=node.output[1], to=kind)


def _squeeze(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write `Squeeze` and `Unsqueeze` of opsets before 13, whose axes are attributes."""
    shape = write.known.shapes.get(node.output[0])
    if "axes" not in attributes or shape is None or sum(size is None for size in shape) > 1:
        raise Unwritten
    sizes = (-1 if size is None else size for size in shape)
    write("Reshape", node.input[0], write.integers(*sizes), gives=node.output[0])


def _normalized(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write `LpNormalization`: rows of zeros stay zeros."""
    if write.known.opset < 13:
        raise Unwritten
    (x,) = node.input
    axis, order = write.integers(attributes.get("axis", -1)), attributes.get("p", 2)
    sizes = write("Abs", x) if order == 1 else write("Mul", x, x)
    norm = write("ReduceSum", sizes, axis, keepdims=1)
    norm = norm if order == 1 else write("Sqrt", norm)
    is_zero = write("Equal", norm, write.number(0, x))
    divisor = write("Where", is_zero, write.number(1, x), norm)
    write("Div", x, divisor, gives=node.output[0])


def _is_none(write: Writer, node: Any) -> bool:
    ratio = at(node.input, 1)
    return bool(ratio and write.known_array(ratio).item() == 0)


_BY_BITS = frozenset({"Add", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Mul", "Sub"})
"""Ops whose results have the same bits for signed and for unsigned integers."""

_WIDENED = _BY_BITS | frozenset(
    {
        *("Abs", "ArgMax", "ArgMin", "BitShift", "Clip", "Div", "Greater", "GreaterOrEqual"),
        *("Less", "LessOrEqual", "MatMul", "Max", "Min", "Mod", "ReduceMax", "ReduceMin"),
        *("ReduceProd", "ReduceSum", "Sign", "Sum", "TopK"),
    }
)
"""Ops that are exact on wider integers, except for results that overflow the narrow ones."""


def widened(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write a node on unsigned integers as one on wider signed integers, with casts around it."""
    types = onnx().TensorProto
    wide = {
        types.UINT8: types.INT32,
        types.UINT16: types.INT32,
        types.UINT32: types.INT64,
        types.UINT64: types.INT64,
    }
    narrow = [write.kinds[name] for name in node.input if name and write.kinds[name] in wide]
    if not narrow or node.op_type not in _WIDENED:
        return
    if types.UINT64 in narrow and node.op_type not in _BY_BITS:
        return
    inputs = [
        write("Cast", name, to=wide[write.kinds[name]])
        if name and write.kinds[name] in wide
        else name
        for name in node.input
    ]
    # Results have the type of the operands, except for conditions and indices.
    back = [bool(name and write.kinds.get(name) in wide) for name in node.output]
    names = ["" if is_back else name for name, is_back in zip(node.output, back, strict=True)]
    results = write.several(node.op_type, inputs, names, **attributes)
    for name, result, is_back in zip(node.output, results, back, strict=True):
        if is_back:
            write("Cast", result, gives=name, to=write.kinds[name])


def _matmul_integer(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write an integer product, with zero points of rows and of columns."""
    a, b, *zeros = node.input
    _product(write, a, at(zeros, 0), b, at(zeros, 1), node.output[0])


def _qlinear_matmul(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    a, a_scale, a_zero, b, b_scale, b_zero, *quantum = node.input
    sums = _product(write, a, a_zero, b, b_zero)
    _scaled(write, sums, [write.along(a_scale, 0, 2), b_scale], quantum, node.output[0])


def _conv_integer(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    x, w, *zeros = node.input
    numbers = _centred(write, x, at(zeros, 0), w, at(zeros, 1))
    _convolved(write, *numbers, "", attributes, node.output[0])


def _qlinear_conv(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    x, x_scale, x_zero, w, w_scale, w_zero, scale, zero, *bias = node.input
    scales = [x_scale, write.along(w_scale, 1, write.rank(w))]
    numbers = _centred(write, x, x_zero, w, w_zero)
    sums = _convolved(write, *numbers, at(bias, 0), attributes)
    _scaled(write, sums, scales, [scale, zero], node.output[0])


def _product(write: Writer, a: str, a_zero: str, b: str, b_zero: str, gives: str = "") -> str:
    rows = write.along(a_zero, 0, 2) if a_zero else ""
    return write("MatMul", write.wide(a, rows), write.wide(b, b_zero), gives=gives)


def _centred(write: Writer, x: str, x_zero: str, w: str, w_zero: str) -> tuple[str, str]:
    """Return the operands of a convolution minus their zero points, so that padding is 0."""
    filters = write.along(w_zero, 0, write.rank(w)) if w_zero else ""
    return write.wide(x, x_zero), write.wide(w, filters)


def _convolved(
    write: Writer, x: str, w: str, bias: str, attributes: Mapping[str, Any], gives: str = ""
) -> str:
    """Write a convolution of integers; torch-mlir supports only equal padding on both sides."""
    pads = list(attributes.get("pads", ()))
    half = len(pads) // 2
    if pads[:half] != pads[half:]:
        edges = write.constant(np.array([0, 0, *pads[:half], 0, 0, *pads[half:]], np.int64))
        # torch-mlir pads floats alone, which hold these integers of 9 bits.
        x = write("Pad", write("Cast", x, to=onnx().TensorProto.FLOAT), edges)
        x = write("Cast", x, to=onnx().TensorProto.INT32)
        attributes = {**attributes, "pads": [0] * len(pads)}
    return write("Conv", x, w, *filter(None, [bias]), gives=gives, **attributes)


def _scaled(
    write: Writer, sums: str, scales: Sequence[str], quantum: Sequence[str], gives: str
) -> None:
    """Write sums of integers as quantized numbers of their scale."""
    value = write("Cast", sums, to=onnx().TensorProto.FLOAT)
    for scale in scales:
        value = write("Mul", value, scale)
    write("QuantizeLinear", value, *quantum, gives=gives)


def _quantize(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write quantization along an axis: the nearest integer within bounds, ties to even."""
    x, scale, *zeros = node.input
    zero = at(zeros, 0)
    if write.rank(scale) != 1 or not zero or write.dtype(zero).kind not in "iu":
        return
    rank, axis = write.rank(x), attributes.get("axis", 1)
    bounds = np.iinfo(write.dtype(zero))
    value = write("Round", write("Div", x, write.along(scale, axis, rank)))
    shift = write("Cast", write.along(zero, axis, rank), to=write.kinds[x])
    value = write("Max", write("Add", value, shift), write.number(bounds.min, x))
    value = write("Min", value, write.number(bounds.max, x))
    value = write("Cast", value, to=onnx().TensorProto.INT32)
    write("Cast", value, gives=node.output[0], to=write.kinds[zero])


def _dequantize(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    x, scale, *zeros = node.input
    zero = at(zeros, 0)
    if write.rank(scale) != 1 or write.dtype(x).kind not in "iu":
        return
    rank, axis = write.rank(x), attributes.get("axis", 1)
    value = write.wide(x, write.along(zero, axis, rank) if zero else "")
    value = write("Cast", value, to=write.kinds[scale])
    write("Mul", value, write.along(scale, axis, rank), gives=node.output[0])


def _transposed(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    groups = attributes.get("group", 1)
    if groups == 1:
        return
    x, w, bias = node.input[0], node.input[1], at(node.input, 2)
    channels, filters = (write.known.shapes[name] for name in (x, w))
    if channels[1] is None or filters[1] is None:
        return
    own = {name: value for name, value in attributes.items() if name != "group"}
    in_channels, out_channels = channels[1] // groups, filters[1]
    parts = []
    for number in range(groups):
        first, last = number * in_channels, (number + 1) * in_channels
        pair = write.sliced(x, 1, first, last), write.sliced(w, 0, first, last)
        term = (
            [write.sliced(bias, 0, number * out_channels, (number + 1) * out_channels)]
            if bias
            else []
        )
        parts.append(write("ConvTranspose", *pair, *term, **own))
    write("Concat", *parts, gives=node.output[0], axis=1)


REWRITES: Mapping[str, Rewrite] = {
    "Cast": _cast,
    "ConvInteger": _conv_integer,
    "ConvTranspose": _transposed,
    "DequantizeLinear": _dequantize,
    "Dropout": _dropout,
    "LpNormalization": _normalized,
    "MatMul": _matmul,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize,
    "Softsign": _softsign,
    "Squeeze": _squeeze,
    "Unsqueeze": _squeeze,
}
