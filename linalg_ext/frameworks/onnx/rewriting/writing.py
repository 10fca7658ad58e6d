"""Nodes that stand for another one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linalg_ext.frameworks.requirements import onnx

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Known:
    """Known facts about the values of a graph.

    Attributes:
        kinds: the number of ONNX's element type of each value.
        shapes: the sizes of each value, None for one that is open; no entry where the rank is open.
        constants: the values themselves, where they are known and small.
        opset: the version of ONNX's own ops.
    """

    kinds: Mapping[str, int]
    shapes: Mapping[str, tuple[int | None, ...]]
    constants: Mapping[str, Array]
    opset: int

    @property
    def ranks(self) -> Mapping[str, int]:
        """The rank of each value."""
        return {name: len(shape) for name, shape in self.shapes.items()}

    def sizes(self, name: str) -> tuple[int, ...] | None:
        """The shape of a value, where all of it is known."""
        shape = self.shapes.get(name)
        if shape is None:
            return None
        found = tuple(size for size in shape if size is not None)
        return found if len(found) == len(shape) else None


class Unwritten(Exception):
    """A node stays as it is: this way of writing it does not hold for it."""


@dataclass
class Writer:
    """Writes the nodes that stand for one.

    Attributes:
        prefix: what the names of their values begin with.
        known: of the graph's values.
        nodes: what was written.
    """

    prefix: str
    known: Known
    nodes: list[Any] = field(default_factory=list)

    def __call__(self, op: str, *inputs: str, gives: str = "", **attributes: Any) -> str:
        """Write a node, and name what it gives."""
        return self.several(op, inputs, [gives], **attributes)[0]

    def several(
        self, op: str, inputs: Sequence[str], gives: Sequence[str], **attributes: Any
    ) -> list[str]:
        """Write a node, and name all that it gives; those without a name get one."""
        names = [
            name or f"{self.prefix}/{len(self.nodes)}{f'.{place}' if place else ''}"
            for place, name in enumerate(gives)
        ]
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        self.nodes.append(onnx().helper.make_node(op, given, names, **attributes))
        return names

    @property
    def kinds(self) -> Mapping[str, int]:
        """The number of ONNX's element type of each of the graph's values."""
        return self.known.kinds

    @property
    def ranks(self) -> Mapping[str, int]:
        """The rank of each of the graph's values."""
        return self.known.ranks

    def constant(self, value: Any, gives: str = "") -> str:
        """An array."""
        array = onnx().numpy_helper.from_array(np.asarray(value))
        return self("Constant", gives=gives, value=array)

    def integers(self, *values: int) -> str:
        """A vector of integers of 64 bits: sizes, axes, places."""
        return self.constant(np.array(values, np.int64))

    def number(self, value: float, like: str) -> str:
        """A number of the element type of a value."""
        return self.constant(np.array(value, self.dtype(like)))

    def dtype(self, value: str) -> np.dtype[Any]:
        """NumPy's type of a value's elements."""
        found: np.dtype[Any] = onnx().helper.tensor_dtype_to_np_dtype(self.kinds[value])
        return found

    def sizes(self, value: str) -> tuple[int, ...]:
        """The shape of a value of the graph.

        Raises:
            Unwritten: a size of it is open.
        """
        found = self.known.sizes(value)
        if found is None or math.prod(found) == 0:
            raise Unwritten
        return found

    def known_array(self, value: str) -> Array:
        """A value of the graph.

        Raises:
            Unwritten: it is not known before the model runs.
        """
        if value not in self.known.constants:
            raise Unwritten
        return self.known.constants[value]

    def along(self, vector: str, axis: int, rank: int) -> str:
        """A vector as a tensor that goes along one axis of others; a scalar as it is."""
        if self.ranks[vector] == 0:
            return vector
        shape = np.ones(rank, np.int64)
        shape[axis] = -1
        return self("Reshape", vector, self.constant(shape))

    def sliced(self, value: str, axis: int, start: int, stop: int, gives: str = "") -> str:
        """A part along an axis."""
        places = self.integers(start), self.integers(stop), self.integers(axis)
        return self("Slice", value, *places, gives=gives)

    def reversed(self, value: str, axis: int) -> str:
        """Backwards along an axis."""
        ends = self.integers(-1), self.integers(-(1 << 63) + 1)
        return self("Slice", value, *ends, self.integers(axis), self.integers(-1))

    def wide(self, value: str, zero: str) -> str:
        """Integers as 32-bit ones, less their zero point where there is one."""
        found = self("Cast", value, to=onnx().TensorProto.INT32)
        if not zero:
            return found
        return self("Sub", found, self("Cast", zero, to=onnx().TensorProto.INT32))


def at(names: Sequence[str], place: int) -> str:
    """The name of an input that may be left out; none is no name."""
    return names[place] if place < len(names) else ""


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes of a node: text as such."""
    found = {a.name: onnx().helper.get_attribute_value(a) for a in node.attribute}
    return {
        name: value.decode() if isinstance(value, bytes) else value for name, value in found.items()
    }
