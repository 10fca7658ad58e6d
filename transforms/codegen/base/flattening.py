"""Arguments of a function as flat memory, their elements cast where they are of another type there.

Truth values are such elements: a byte each in memory, where a vector of them would be bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from .flat_memory import FlatOperand, Memory
from .operand_types import Argument
from .writer import Index, Writer


def flattened(
    w: Writer, name: str, argument: Argument, lanes: int, sizes: dict[str, Index]
) -> FlatOperand:
    """An argument as flat memory from its first element on.

    Args:
        w: where the code is written.
        name: of the argument.
        argument: what its type tells.
        lanes: of a vector.
        sizes: of each dimension; what is not known yet, or not as a number, is put in.
    """
    element, rank = argument.element, len(argument.dimensions)
    parts = [f"%{name}_base", f"%{name}_offset"]
    parts += [f"%{name}_sizes:{rank}", f"%{name}_strides:{rank}"] if rank else []
    w.line(
        f"{', '.join(parts)} = memref.extract_strided_metadata %{name} : {argument.type} -> "
        + ", ".join([f"memref<{element}>", *["index"] * (1 + 2 * rank)])
    )
    strides: dict[str, Index] = {}
    for axis, dimension in enumerate(argument.dimensions):
        size, stride = argument.sizes[axis], argument.strides[axis]
        if size is not None or dimension not in sizes:
            sizes[dimension] = f"%{name}_sizes#{axis}" if size is None else size
        strides[dimension] = f"%{name}_strides#{axis}" if stride is None else stride
    type_ = _flat(element)
    # More than any memory holds: nothing asks for the size, and nothing is folded by it.
    flat = w.op(
        f"memref.reinterpret_cast %{name}_base to offset: [%{name}_offset], "
        f"sizes: [{w.value(1 << 62)}], strides: [1] : memref<{element}> to {type_}"
    )
    if element == "i1":
        # The descriptors of both are one: the cast is gone when both are LLVM's.
        seen = _flat("i8")
        flat = w.op(f"builtin.unrealized_conversion_cast {flat} : {type_} to {seen}")
        casts = "arith.trunci", "arith.extui"
        memory: Memory = ConvertedMemory(w, flat, seen, element, lanes, "i8", *casts)
    elif argument.cast is not None:
        read_as = argument.read_as
        memory = ConvertedMemory(w, flat, type_, read_as, lanes, element, argument.cast)
    else:
        memory = Memory(w, flat, type_, element, lanes)
    return FlatOperand(memory, 0, strides)


def _flat(element: str) -> str:
    return f"memref<?x{element}, strided<[1], offset: ?>>"


@dataclass(frozen=True)
class ConvertedMemory(Memory):
    """A memory whose elements are cast when they are loaded, and when they are stored.

    Attributes:
        source: the type of the elements that lie there.
        cast: the op that makes values of type `element` of them.
        back: the op that makes them of such values; none where they are only read.
    """

    source: str = ""
    cast: str = ""
    back: str = ""

    def load(self, index: Index) -> str:
        """An element, cast."""
        raw = self.raw.load(index)
        return self.writer.op(f"{self.cast} {raw} : {self.source} to {self.element}")

    def load_vector(self, index: Index, mask: str | None = None, rest: str | None = None) -> str:
        """A vector, cast; where the mask is off, the lane is that of `rest`, or 0."""
        raw = self.raw
        vector = self.writer.op(
            f"{self.cast} {raw.load_vector(index, mask)} : {raw.vector} to {self.vector}"
        )
        if mask is None or rest is None:
            return vector
        return self.writer.op(f"arith.select {mask}, {vector}, {rest} : {self.mask}, {self.vector}")

    def store(self, value: str, index: Index) -> None:
        """Write an element, cast."""
        self.raw.store(self._cast_back(value, self.element, self.source), index)

    def store_vector(self, value: str, index: Index, mask: str | None = None) -> None:
        """Write a vector, cast, where the mask is on."""
        self.raw.store_vector(self._cast_back(value, self.vector, self.raw.vector), index, mask)

    def stream_vector(self, value: str, index: Index) -> None:
        """Write a vector, cast, past the caches; it is aligned to its own size."""
        self.raw.stream_vector(self._cast_back(value, self.vector, self.raw.vector), index)

    @property
    def raw(self) -> Memory:
        """The memory with the elements as they are stored, without casts."""
        return Memory(self.writer, self.name, self.type, self.source, self.lanes)

    def _cast_back(self, value: str, given: str, stored: str) -> str:
        return self.writer.op(f"{self.back} {value} : {given} to {stored}")
