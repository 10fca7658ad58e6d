"""Functions of elements, and of rows of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from linalg_ext.frameworks.onnx.rewriting.writing import Unwritten, Writer, at
from linalg_ext.frameworks.requirements import onnx


def _softsign(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    (x,) = node.input
    size = write("Add", write("Abs", x), write.number(1, x))
    write("Div", x, size, gives=node.output[0])


def _cast(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Floats to bytes by wider integers: torch-mlir would take the bounds of signed bytes."""
    types = onnx().TensorProto
    (x,) = node.input
    floats = types.FLOAT, types.FLOAT16, types.BFLOAT16, types.DOUBLE
    if write.kinds[x] in floats and attributes["to"] == types.UINT8:
        integers = write("Cast", x, to=types.INT32)
        write("Cast", integers, gives=node.output[0], to=types.UINT8)


def _matmul(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """A vector with a stack of matrices, as a matrix of one row, or column."""
    a, b = node.input
    ranks = write.ranks[a], write.ranks[b]
    if min(ranks) != 1 or max(ranks) < 3 or write.known.opset < 13:
        return
    place = 0 if ranks[0] == 1 else -1
    axis = write.integers(place)
    pair = (write("Unsqueeze", a, axis), b) if place == 0 else (a, write("Unsqueeze", b, axis))
    found = write("MatMul", *pair)
    write("Squeeze", found, write.integers(-2 if place == 0 else -1), gives=node.output[0])


def _dropout(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Outside of training all elements stay."""
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
        ones = write("Or", whole, never)
        write("Cast", ones, gives=node.output[1], to=kind)


def _squeeze(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """`Squeeze` and `Unsqueeze` by axes that are attributes, as they were before opset 13."""
    shape = write.known.shapes.get(node.output[0])
    if "axes" not in attributes or shape is None or sum(size is None for size in shape) > 1:
        raise Unwritten
    sizes = (-1 if size is None else size for size in shape)
    write("Reshape", node.input[0], write.integers(*sizes), gives=node.output[0])


def _normalized(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """`LpNormalization`: rows of zeros stay zeros."""
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
    """Return whether no element is dropped at all."""
    ratio = at(node.input, 1)
    return bool(ratio and write.known_array(ratio).item() == 0)


REWRITES: Mapping[str, Callable[[Writer, Any, Mapping[str, Any]], None]] = MappingProxyType(
    {
        "Cast": _cast,
        "Dropout": _dropout,
        "LpNormalization": _normalized,
        "MatMul": _matmul,
        "Softsign": _softsign,
        "Squeeze": _squeeze,
        "Unsqueeze": _squeeze,
    }
)
