"""Products and convolutions of bytes as those of wider integers; quantization along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from linalg_ext.frameworks.onnx.rewriting.writing import Writer, at
from linalg_ext.frameworks.requirements import onnx


def _matmul_integer(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Zero points are those of rows, and of columns."""
    a, b, *zeros = node.input
    _product(write, a, at(zeros, 0), b, at(zeros, 1), node.output[0])


def _qlinear_matmul(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    a, a_scale, a_zero, b, b_scale, b_zero, *quantum = node.input
    sums = _product(write, a, a_zero, b, b_zero)
    _scaled(write, sums, [_of_rows(write, a_scale), b_scale], quantum, node.output[0])


def _conv_integer(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    x, w, *zeros = node.input
    numbers = _centred(write, x, at(zeros, 0), w, at(zeros, 1))
    _convolved(write, *numbers, "", attributes, node.output[0])


def _qlinear_conv(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    x, x_scale, x_zero, w, w_scale, w_zero, scale, zero, *bias = node.input
    scales = [x_scale, write.along(w_scale, 1, write.ranks[w])]
    numbers = _centred(write, x, x_zero, w, w_zero)
    sums = _convolved(write, *numbers, at(bias, 0), attributes)
    _scaled(write, sums, scales, [scale, zero], node.output[0])


def _product(write: Writer, a: str, a_zero: str, b: str, b_zero: str, gives: str = "") -> str:
    rows = _of_rows(write, a_zero) if a_zero else ""
    return write("MatMul", write.wide(a, rows), write.wide(b, b_zero), gives=gives)


def _centred(write: Writer, x: str, x_zero: str, w: str, w_zero: str) -> tuple[str, str]:
    """Return the operands of a convolution minus their zero points; its padding is then 0, too."""
    filters = write.along(w_zero, 0, write.ranks[w]) if w_zero else ""
    return write.wide(x, x_zero), write.wide(w, filters)


def _convolved(
    write: Writer, x: str, w: str, bias: str, attributes: Mapping[str, Any], gives: str = ""
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


def _of_rows(write: Writer, value: str) -> str:
    """Return the numbers of the rows of a matrix as a column; a scalar for all rows as it is."""
    return write.along(value, 0, 2)


def _scaled(
    write: Writer, sums: str, scales: Sequence[str], quantum: Sequence[str], gives: str
) -> None:
    """Sums of integers as the numbers that they stand for, quantized."""
    found = write("Cast", sums, to=onnx().TensorProto.FLOAT)
    for scale in scales:
        found = write("Mul", found, scale)
    write("QuantizeLinear", found, *quantum, gives=gives)


def _quantize(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Along an axis: to the nearest integer within the type's bounds; the even one of two."""
    x, scale, *zeros = node.input
    zero = at(zeros, 0)
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


def _dequantize(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Along an axis."""
    x, scale, *zeros = node.input
    zero = at(zeros, 0)
    if write.ranks[scale] != 1 or write.dtype(x).kind not in "iu":
        return
    rank, axis = write.ranks[x], attributes.get("axis", 1)
    found = write.wide(x, write.along(zero, axis, rank) if zero else "")
    found = write("Cast", found, to=write.kinds[scale])
    write("Mul", found, write.along(scale, axis, rank), gives=node.output[0])


REWRITES: Mapping[str, Callable[[Writer, Any, Mapping[str, Any]], None]] = MappingProxyType(
    {
        "ConvInteger": _conv_integer,
        "DequantizeLinear": _dequantize,
        "MatMulInteger": _matmul_integer,
        "QLinearConv": _qlinear_conv,
        "QLinearMatMul": _qlinear_matmul,
        "QuantizeLinear": _quantize,
    }
)
