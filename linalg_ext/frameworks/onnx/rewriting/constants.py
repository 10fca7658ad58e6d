"""Values of ONNX models that are known beforehand: small results of known values."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from linalg_ext.frameworks.onnx.rewriting.writing import Array, Known, attributes_of
from linalg_ext.frameworks.requirements import onnx

_MOST_ELEMENTS = 1024
"""The greatest number of elements of a value that is computed beforehand."""

_COMPUTED = frozenset(
    {
        *("Abs", "Add", "And", "Cast", "Concat", "Div", "Equal", "Expand", "Floor", "Ceil"),
        *("Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min"),
        *("Mod", "Mul", "Neg", "Not", "Or", "Range", "ReduceMax", "ReduceMin", "ReduceProd"),
        *("ReduceSum", "Reshape", "Slice", "Split", "Sqrt", "Squeeze", "Sub", "Transpose"),
        *(
            "Unsqueeze",
            "Where",
            "ConstantOfShape",
            "CastLike",
            "Tile",
            "NonZero",
            "ScatterElements",
        ),
        *("Xor", "OneHot", "Trilu", "EyeLike", "CumSum"),
    }
)
"""Ops that compute sizes, places and conditions, and are the same on every machine."""


def known_of(model: Any) -> Known:
    """Return the known facts about the values of a model whose shapes were inferred."""
    graph = model.graph
    kinds: dict[str, int] = {}
    shapes: dict[str, tuple[int | None, ...]] = {}
    for each in (*graph.value_info, *graph.input, *graph.output):
        tensor = each.type.tensor_type
        kinds[each.name] = tensor.elem_type
        if tensor.HasField("shape"):
            shapes[each.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim
            )
    constants: dict[str, Array] = {}
    for each in graph.initializer:
        kinds[each.name], shapes[each.name] = each.data_type, tuple(each.dims)
        if _is_small(each.data_type, each.dims):
            constants[each.name] = onnx().numpy_helper.to_array(each)
    for each in graph.input:
        # What a caller may give instead is not known.
        constants.pop(each.name, None)
    opset = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 0)
    return Known(kinds, shapes, constants, opset)


def _is_small(kind: int, dims: Iterable[int]) -> bool:
    """Return whether an initializer stays in the code, rather than being a weight."""
    count = int(np.prod(list(dims), dtype=np.int64))
    types = onnx().TensorProto
    floats = types.FLOAT, types.FLOAT16, types.DOUBLE, types.BFLOAT16
    return count <= (16 if kind in floats else _MOST_ELEMENTS)


def compute(node: Any, known: Known) -> list[Array] | None:
    """The results of a node of a graph, where they are known; else None."""
    if node.domain not in ("", "ai.onnx"):
        return None
    if node.op_type == "Constant":
        return _constant(node)
    if node.op_type in ("Shape", "Size"):
        return _of_shape(node, known)
    if node.op_type not in _COMPUTED or not all(n in known.constants for n in node.input if n):
        return None
    if any(attribute.ref_attr_name for attribute in node.attribute):
        return None
    return _evaluated(node, known)


def _constant(node: Any) -> list[Array] | None:
    value = next(iter(attributes_of(node).values()), None)
    if isinstance(value, onnx().TensorProto):
        value = onnx().numpy_helper.to_array(value)
    elif isinstance(value, int) or (isinstance(value, list) and value and type(value[0]) is int):
        value = np.array(value, np.int64)
    elif isinstance(value, float) or (isinstance(value, list) and value):
        value = np.array(value, np.float32)
    if not isinstance(value, np.ndarray) or value.size > _MOST_ELEMENTS or value.dtype == object:
        return None
    return [value]


def _of_shape(node: Any, known: Known) -> list[Array] | None:
    shape = known.shapes.get(node.input[0])
    if shape is None:
        return None
    said = attributes_of(node)
    part = shape[said.get("start", 0) : said.get("end", len(shape))]
    if any(size is None for size in part):
        return None
    if node.op_type == "Size":
        return [np.array(np.prod(np.array(part, np.int64), dtype=np.int64), np.int64)]
    return [np.array(part, np.int64)]


def _evaluated(node: Any, known: Known) -> list[Array] | None:
    """By ONNX's own evaluator."""
    if any(known.constants[name].dtype.kind not in "biuf" for name in node.input if name):
        return None
    reference = importlib.import_module("onnx.reference")
    helper, names = onnx().helper, [name for name in dict.fromkeys(node.input) if name]
    info = [
        helper.make_tensor_value_info(name, known.kinds.get(name) or _kind(known, name), None)
        for name in names
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "known", info, outputs)
    opset = [helper.make_opsetid("", known.opset)]
    try:
        model = helper.make_model(graph, opset_imports=opset)
        run = reference.ReferenceEvaluator(model).run
        with np.errstate(all="ignore"):
            found = run(None, {name: known.constants[name] for name in names})
    except Exception:
        # Whatever it has no answer for is left to the run.
        return None
    arrays = [np.asarray(each) for each in found]
    if any(a.size > _MOST_ELEMENTS or a.size == 0 or a.dtype == object for a in arrays):
        return None
    return arrays


def _kind(known: Known, name: str) -> int:
    kind: int = onnx().helper.np_dtype_to_tensor_dtype(known.constants[name].dtype)
    return kind
