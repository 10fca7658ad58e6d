"""The base class of kernel generators: writers of a nest as a function on memrefs and scalars."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .flat_memory import FlatOperand, Memory, flattened
from .problem import Argument, Group
from .writer import Index, Writer


class Nest(ABC):
    """The writer of a nest as a private function, with its parameters and its scratch memory."""

    def __init__(self, lanes: int) -> None:
        self._w = Writer()
        self._lanes = lanes
        self._sizes: dict[str, Index] = {}
        self._parameters: list[str] = []
        self._scratch: list[Memory] = []

    def function(self, name: str) -> str:
        """Return the function as text."""
        self._write()
        for memory in self._scratch:
            self._w.line(f"memref.dealloc {memory.name} : {memory.type}")
        return self._w.function(name, ", ".join(self._parameters))

    @abstractmethod
    def _write(self) -> None:
        """Write the body."""

    def _scalar(self, name: str, type_: str) -> None:
        self._parameters.append(f"%{name}: {type_}")

    def _operand(self, name: str, argument: Argument) -> FlatOperand:
        """Add a memref to the parameters, and its sizes to those that are known."""
        self._parameters.append(f"%{name}: {argument.type}")
        return flattened(self._w, name, argument, self._lanes, self._sizes)

    def _extent(self, group: Group) -> Index:
        total: Index = 1
        for dimension in group.dimensions:
            total = self._w.mul(total, self._sizes[dimension.name])
        return total

    def _allocated(self, size: Index, element: str) -> Memory:
        """Allocate memory until the end of the function."""
        is_static = isinstance(size, int)
        type_ = f"memref<{size if is_static else '?'}x{element}>"
        name = self._w.op(f"memref.alloc({'' if is_static else size}) {{alignment = 64}} : {type_}")
        self._scratch.append(Memory(self._w, name, type_, element, self._lanes))
        return self._scratch[-1]
