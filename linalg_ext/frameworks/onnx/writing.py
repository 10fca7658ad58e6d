"""Nodes that replace another one, and the values of a model that are known before a run."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linalg_ext.frameworks.requirements import onnx

Array = np.ndarray[Any, Any]

DOMAIN = "linalg_ext"
"""The domain of this library's own nodes, whose attributes state the type and shape of results."""


@dataclass(frozen=True)
class Known:
    """Known facts about the values of a graph.

    Attributes:
        kinds: the number of ONNX's element type of each value.
        shapes: the sizes of each value, None for open ones; no entry if the rank is open.
        constants: the arrays of small values that are known.
        opset: the version of ONNX's own ops.
    """

    kinds: Mapping[str, int]
    shapes: Mapping[str, tuple[int | None, ...]]
    constants: Mapping[str, Array]
    opset: int

    def sizes(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of a value, if all of it is known."""
        shape = self.shapes.get(name, (None,))
        known = tuple(size for size in shape if size is not None)
        return known if len(known) == len(shape) else None


class Unwritten(Exception):
    """A rewrite does not apply to a node."""


Rewrite = Callable[["Writer", Any, Mapping[str, Any]], None]
"""Writes the nodes that replace a node; it gets the node's attributes, too."""


@dataclass
class Writer:
    """Writes the nodes that replace a node.

    Attributes:
        prefix: that of the names of their values.
        known: of the graph's values.
        nodes: the nodes so far.
    """

    prefix: str
    known: Known
    nodes: list[Any] = field(default_factory=list)

    def __call__(self, op: str, *inputs: str, gives: str = "", **attributes: Any) -> str:
        """Write a node; returns the name of its result, by default a new one."""
        return self.several(op, inputs, [gives], **attributes)[0]

    def several(
        self, op: str, inputs: Sequence[str], gives: Sequence[str], **attributes: Any
    ) -> list[str]:
        """Write a node with several results; returns their names, new ones for empty ones."""
        names = [
            name or f"{self.prefix}/{len(self.nodes)}{f'.{index}' if index else ''}"
            for index, name in enumerate(gives)
        ]
        operands = list(inputs)
        while operands and not operands[-1]:
            operands.pop()
        self.nodes.append(onnx().helper.make_node(op, operands, names, **attributes))
        return names

    @property
    def kinds(self) -> Mapping[str, int]:
        """Return the number of ONNX's element type of each of the graph's values."""
        return self.known.kinds

    def rank(self, value: str) -> int:
        """Return the rank of a value of the graph."""
        return len(self.known.shapes[value])

    def constant(self, value: Any, gives: str = "") -> str:
        """Write an array as a constant."""
        array = onnx().numpy_helper.from_array(np.asarray(value))
        return self("Constant", gives=gives, value=array)

    def integers(self, *values: int) -> str:
        """Write a vector of integers of 64 bits: sizes, axes, indices."""
        return self.constant(np.array(values, np.int64))

    def number(self, value: float, like: str) -> str:
        """Write a number of the element type of a value."""
        return self.constant(np.array(value, self.dtype(like)))

    def dtype(self, value: str) -> np.dtype[Any]:
        """Return NumPy's type of a value's elements."""
        dtype: np.dtype[Any] = onnx().helper.tensor_dtype_to_np_dtype(self.kinds[value])
        return dtype

    def sizes(self, value: str) -> tuple[int, ...]:
        """Return the shape of a value of the graph.

        Raises:
            Unwritten: a size of it is open.
        """
        sizes = self.known.sizes(value)
        if sizes is None or math.prod(sizes) == 0:
            raise Unwritten
        return sizes

    def known_array(self, value: str) -> Array:
        """Return a value of the graph.

        Raises:
            Unwritten: it is not known before the model runs.
        """
        if value not in self.known.constants:
            raise Unwritten
        return self.known.constants[value]

    def along(self, vector: str, axis: int, rank: int) -> str:
        """Write a vector as a tensor along one axis of a rank; a scalar stays as it is."""
        if self.rank(vector) == 0:
            return vector
        shape = np.ones(rank, np.int64)
        shape[axis] = -1
        return self("Reshape", vector, self.constant(shape))

    def sliced(self, value: str, axis: int, start: int, stop: int) -> str:
        """Write a slice along an axis."""
        bounds = self.integers(start), self.integers(stop), self.integers(axis)
        return self("Slice", value, *bounds)

    def wide(self, value: str, zero: str) -> str:
        """Write integers as 32-bit ones, minus their zero point, if any."""
        wide = self("Cast", value, to=onnx().TensorProto.INT32)
        return self("Sub", wide, self.wide(zero, "")) if zero else wide


def at(names: Sequence[str], index: int) -> str:
    """Return the name of an optional input; empty if it is absent."""
    return names[index] if index < len(names) else ""


def put(field: Any, values: Sequence[Any]) -> None:
    """Replace the values of a repeated field of a proto."""
    del field[:]
    field.extend(values)


def attributes_of(node: Any) -> dict[str, Any]:
    """Return the attributes of a node: text as such."""
    values = {a.name: onnx().helper.get_attribute_value(a) for a in node.attribute}
    return {
        name: value.decode() if isinstance(value, bytes) else value
        for name, value in values.items()
    }


_MOST_ELEMENTS = 1024
"""The greatest number of elements of a value that is computed before a run."""

_MOST_FLOATS = 16
"""The same for floats: those of more elements are weights."""

_COMPUTED = frozenset(
    {
        *("Abs", "Add", "And", "Cast", "Concat", "Div", "Equal", "Expand", "Floor", "Ceil"),
        *("Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min"),
        *("Mod", "Mul", "Neg", "Not", "Or", "Range", "ReduceMax", "ReduceMin", "ReduceProd"),
        *("ReduceSum", "Reshape", "Slice", "Split", "Sqrt", "Squeeze", "Sub", "Transpose"),
        *("Unsqueeze", "Where", "ConstantOfShape", "CastLike", "Tile", "NonZero"),
        *("ScatterElements", "Xor", "OneHot", "Trilu", "EyeLike", "CumSum"),
    }
)
"""Ops that compute sizes, indices and conditions, and are the same on every machine."""


def known_of(model: Any) -> Known:
    """Return the known facts about the values of a model whose shapes were inferred."""
    graph = model.graph
    kinds: dict[str, int] = {}
    shapes: dict[str, tuple[int | None, ...]] = {}
    for value in (*graph.value_info, *graph.input, *graph.output):
        tensor = value.type.tensor_type
        kinds[value.name] = tensor.elem_type
        if tensor.HasField("shape"):
            shapes[value.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim
            )
    constants: dict[str, Array] = {}
    # A caller may replace an initializer that is an input, too.
    inputs = {value.name for value in graph.input}
    for tensor in graph.initializer:
        kinds[tensor.name], shapes[tensor.name] = tensor.data_type, tuple(tensor.dims)
        is_small = not is_weight(tensor) and math.prod(tensor.dims) <= _MOST_ELEMENTS
        if is_small and tensor.name not in inputs:
            constants[tensor.name] = onnx().numpy_helper.to_array(tensor)
    return Known(kinds, shapes, constants, opset_of(model))


def opset_of(model: Any) -> int:
    """Return the version of ONNX's own ops in a model."""
    own = (opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx"))
    return max(own, default=0)


def is_weight(initializer: Any) -> bool:
    """Return True for an initializer that becomes an argument of the kernel."""
    types = onnx().TensorProto
    floats = types.FLOAT, types.FLOAT16, types.DOUBLE, types.BFLOAT16
    return initializer.data_type in floats and math.prod(initializer.dims) > _MOST_FLOATS


def compute(node: Any, known: Known) -> list[Array] | None:
    """Return the results of a node, if they are known; else None."""
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
    attributes = attributes_of(node)
    part = shape[attributes.get("start", 0) : attributes.get("end", len(shape))]
    if any(size is None for size in part):
        return None
    if node.op_type == "Size":
        return [np.array(np.prod(np.array(part, np.int64), dtype=np.int64), np.int64)]
    return [np.array(part, np.int64)]


def _evaluated(node: Any, known: Known) -> list[Array] | None:
    if any(known.constants[name].dtype.kind not in "biuf" for name in node.input if name):
        return None
    reference = importlib.import_module("onnx.reference")
    helper, names = onnx().helper, [name for name in dict.fromkeys(node.input) if name]
    info = [
        helper.make_tensor_value_info(
            name,
            known.kinds.get(name) or helper.np_dtype_to_tensor_dtype(known.constants[name].dtype),
            None,
        )
        for name in names
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "known", info, outputs)
    opset = [helper.make_opsetid("", known.opset)]
    try:
        model = helper.make_model(graph, opset_imports=opset)
        run = reference.ReferenceEvaluator(model).run
        with np.errstate(all="ignore"):
            results = run(None, {name: known.constants[name] for name in names})
    except Exception:
        # The run computes a node that the evaluator does not support.
        return None
    arrays = [np.asarray(result) for result in results]
    if any(a.size > _MOST_ELEMENTS or a.size == 0 or a.dtype == object for a in arrays):
        return None
    return arrays
