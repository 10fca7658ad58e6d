"""Unsigned integers as wider ones, with whose sign torch-mlir computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linalg_ext.frameworks.onnx.rewriting.writing import Writer
from linalg_ext.frameworks.requirements import onnx

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
    """A node on unsigned integers, on signed ones that hold them, and back again."""
    types = onnx().TensorProto
    wide = {
        types.UINT8: types.INT32,
        types.UINT16: types.INT32,
        types.UINT32: types.INT64,
        types.UINT64: types.INT64,
    }
    found = [write.kinds[name] for name in node.input if name and write.kinds[name] in wide]
    if not found or node.op_type not in _WIDENED:
        return
    if types.UINT64 in found and node.op_type not in _BY_BITS:
        return
    inputs = [
        write("Cast", name, to=wide[write.kinds[name]])
        if name and write.kinds[name] in wide
        else name
        for name in node.input
    ]
    # What comes out of it has the type of what goes in, but for conditions and places.
    back = [bool(name and write.kinds.get(name) in wide) for name in node.output]
    names = ["" if is_back else name for name, is_back in zip(node.output, back, strict=True)]
    made = write.several(node.op_type, inputs, names, **attributes)
    for name, result, is_back in zip(node.output, made, back, strict=True):
        if is_back:
            write("Cast", result, gives=name, to=write.kinds[name])
