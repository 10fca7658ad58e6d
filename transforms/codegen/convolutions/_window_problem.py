"""A reduction over windows: loops, and a stride of each operand along each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from linalg_ext.transforms.codegen.base.operand_types import Argument
from linalg_ext.transforms.codegen.base.payload import Elementwise, Payload


@dataclass(frozen=True)
class Loop:
    """A loop of the iteration space.

    Attributes:
        name: of it.
        size: its rounds; None where only the run tells.
        is_parallel: whether each round has its own results.
    """

    name: str
    size: int | None
    is_parallel: bool


@dataclass(frozen=True)
class WindowProblem:
    """A reduction over windows.

    Attributes:
        loops: of the op, in order.
        arguments: the buffers by their places, the result's with them: among the operands of the
            body, and after those among the operands of the epilogue.
        output: the place of the result.
        windows: the places of what is read through windows.
        body: what is done for each element of a window.
        start: the constant that the results start from; None where they add to what is there.
        epilogue: what is done to each result at the end.
    """

    loops: tuple[Loop, ...]
    arguments: Mapping[int, Argument]
    output: int
    windows: frozenset[int]
    body: Payload
    start: str | None
    epilogue: Elementwise | None = None

    def stride(self, place: int, loop: str) -> int | None:
        """Elements between two rounds of a loop in an operand; None where only the run tells."""
        argument = self.arguments[place]
        if loop not in argument.dimensions:
            return 0
        return argument.strides[argument.dimensions.index(loop)]

    def size(self, loop: str) -> int | None:
        """The rounds of a loop."""
        return next(each.size for each in self.loops if each.name == loop)

    @property
    def inputs(self) -> list[int]:
        """The buffers that the body reads, but for the result."""
        count = self.body.inputs
        return [p for p in self.arguments if p != self.output and p < count and self.body.reads(p)]

    @property
    def finishing(self) -> list[int]:
        """The buffers that the results meet at the end."""
        count = 0 if self.epilogue is None else len(self.epilogue.arguments)
        return list(range(self.body.inputs, self.body.inputs + count))

    @property
    def parallel(self) -> list[str]:
        """The loops over results, in the order of their memory; those of one round left out."""
        loops = [each for each in self.loops if each.is_parallel and each.size != 1]
        strides = {each.name: self.stride(self.output, each.name) for each in loops}
        far = 1 << 62
        return sorted(strides, key=lambda n: -far if strides[n] is None else -abs(strides[n] or 0))

    @property
    def reduced(self) -> list[str]:
        """The loops over the elements of a window."""
        return [each.name for each in self.loops if not each.is_parallel]

    def collapsed(self) -> WindowProblem:
        """The same with consecutive loops over a window made one, where all memory is evenly so."""
        loops: list[Loop] = []
        for loop in reversed(self.loops):
            inner = loops[0] if loops else None
            if inner is not None and self._is_even(loop, inner):
                size = (loop.size or 0) * (inner.size or 0)
                loops[0] = replace(inner, size=size)
            else:
                loops.insert(0, loop)
        return replace(self, loops=tuple(loops))

    def _is_even(self, outer: Loop, inner: Loop) -> bool:
        """Return whether a step of the outer loop over a window is all steps of the inner one."""
        if outer.is_parallel or inner.is_parallel or None in (outer.size, inner.size):
            return False
        for place in self.arguments:
            stride, step = self.stride(place, outer.name), self.stride(place, inner.name)
            if stride is None or step is None or stride != step * (inner.size or 0):
                return False
        return True
