"""A writer of MLIR text, op by op, that folds arithmetic on static indices.

A static index is an `int`, and a dynamic one the name of an SSA value: one generator then writes
the code for static and for open sizes. Text is as quick to parse as ops are to build one by one,
and can be read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

Index: TypeAlias = "int | str"
"""A number, or the name of an SSA value of type `index`."""


def divides(tile: int, size: Index) -> bool:
    """Return whether a size is known to be a multiple of a tile's."""
    return isinstance(size, int) and size % tile == 0


def edge(tile: int, size: Index) -> Index | None:
    """Return the limit of indices in tiles: their size, or None if all tiles are whole."""
    return None if divides(tile, size) else size


class Writer:
    """The body of a function, line by line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._constants: dict[tuple[str, str], str] = {}
        self._count = 0

    def text(self) -> str:
        """Return the text written so far, the constants first."""
        constants = [
            f"{name} = arith.constant {value} : {type_}"
            for (value, type_), name in self._constants.items()
        ]
        return "\n".join([*constants, *self._lines])

    def function(self, name: str, signature: str) -> str:
        """Return the text written so far, as the body of a private function without results."""
        return f"func.func private @{name}({signature}) {{\n{self.text()}\nreturn\n}}"

    def name(self) -> str:
        """Return a new name for a value."""
        self._count += 1
        return f"%{self._count}"

    def line(self, text: str) -> None:
        """Write a line."""
        self._lines.append(text)

    def op(self, text: str) -> str:
        """Write an op with one result, and name it."""
        name = self.name()
        self.line(f"{name} = {text}")
        return name

    def constant(self, value: str, type_: str) -> str:
        """Return the name of a constant, which stands at the head of the function."""
        key = value, type_
        if key not in self._constants:
            self._constants[key] = f"%c{len(self._constants)}"
        return self._constants[key]

    def splat(self, number: str, type_: str) -> str:
        """Return a constant scalar, or a vector all of whose elements are a number."""
        return self.constant(f"dense<{number}>" if type_.startswith("vector") else number, type_)

    def broadcast(self, value: str, element: str, vector: str) -> str:
        """Write a vector all of whose elements are a value."""
        return self.op(f"vector.broadcast {value} : {element} to {vector}")

    def shuffle(self, first: str, second: str, picks: list[int], vector: str) -> str:
        """Write a vector of elements of two vectors of a type, by their numbers in both."""
        return self.op(f"vector.shuffle {first}, {second} {picks} : {vector}, {vector}")

    def value(self, index: Index) -> str:
        """Return an index as a value."""
        return self.constant(str(index), "index") if isinstance(index, int) else index

    # Arithmetic on indices of 64 bits; none but strides is negative.

    def add(self, *terms: Index) -> Index:
        """Return the sum of indices."""
        constant = sum(term for term in terms if isinstance(term, int))
        values = [term for term in terms if isinstance(term, str)]
        if not values:
            return constant
        total: Index = values[0]
        for value in values[1:]:
            total = self._binary("addi", operator.add, total, value)
        return self._binary("addi", operator.add, total, constant) if constant else total

    def sub(self, left: Index, right: Index) -> Index:
        """Return `left - right`."""
        return left if right == 0 else self._binary("subi", operator.sub, left, right)

    def mul(self, left: Index, right: Index) -> Index:
        """Return `left * right`."""
        if 0 in (left, right):
            return 0
        if 1 in (left, right):
            return right if left == 1 else left
        return self._binary("muli", operator.mul, left, right)

    def min(self, left: Index, right: Index) -> Index:
        """Return the lesser of two indices."""
        return self._binary("minsi", min, left, right)

    def max(self, left: Index, right: Index) -> Index:
        """Return the greater of two indices."""
        return self._binary("maxsi", max, left, right)

    def div(self, left: Index, right: Index) -> Index:
        """Return `left // right`, neither of them negative."""
        return left if right == 1 else self._binary("divui", operator.floordiv, left, right)

    def rem(self, left: Index, right: Index) -> Index:
        """Return `left % right`, neither of them negative."""
        return 0 if right == 1 else self._binary("remui", operator.mod, left, right)

    def within(self, index: Index, size: Index, tile: int) -> Index:
        """Return an index, or the last one if the index is beyond the edge of whole tiles."""
        return index if divides(tile, size) else self.min(index, self.sub(size, 1))

    def part(self, block: int, whole: Index, first: Index) -> Index:
        """Return the size of the block that begins at `first`: the last block may be shorter."""
        return block if divides(block, whole) else self.min(block, self.sub(whole, first))

    def ceil_div(self, left: Index, right: int) -> Index:
        """Return `left / right`, rounded up."""
        return self.div(self.add(left, right - 1), right)

    def compare(self, predicate: str, left: Index, right: Index) -> str:
        """Return the i1 of a comparison."""
        return self.op(f"arith.cmpi {predicate}, {self.value(left)}, {self.value(right)} : index")

    def select(self, condition: str, left: Index, right: Index) -> Index:
        """Return `left` where a condition holds, else `right`."""
        values = f"{self.value(left)}, {self.value(right)}"
        return self.op(f"arith.select {condition}, {values} : index")

    def _binary(self, op: str, fold: Callable[[int, int], int], left: Index, right: Index) -> Index:
        if isinstance(left, int) and isinstance(right, int):
            return fold(left, right)
        return self.op(f"arith.{op} {self.value(left)}, {self.value(right)} : index")

    # Control flow.

    @contextmanager
    def loop(self, start: Index, stop: Index, step: int = 1) -> Iterator[Index]:
        """Write a loop around the lines of the `with` block, or its one round alone."""
        if isinstance(start, int) and isinstance(stop, int) and start < stop <= start + step:
            yield start
            return
        index = self.name()
        low, high, by = self.value(start), self.value(stop), self.value(step)
        self.line(f"scf.for {index} = {low} to {high} step {by} {{")
        yield index
        self.line("}")

    @contextmanager
    def carrying_loop(
        self, stop: Index, step: int, initial: Sequence[str], type_: str
    ) -> Iterator[tuple[str, list[str], list[str], list[str]]]:
        """Write a loop from 0 with values of one type that each round hands to the next.

        Yields:
            The index, the values of the round, a list to fill with those of the next round, and
            the values after the loop.
        """
        index, after = self.name(), self.name()
        carried = [self.name() for _ in initial]
        bound = ", ".join(f"{c} = {i}" for c, i in zip(carried, initial, strict=True))
        types = ", ".join([type_] * len(initial))
        self.line(
            f"{after}:{len(initial)} = scf.for {index} = {self.value(0)} to {self.value(stop)} "
            f"step {self.value(step)} iter_args({bound}) -> ({types}) {{"
        )
        handed_on: list[str] = []
        yield index, carried, handed_on, [f"{after}#{at}" for at in range(len(initial))]
        self.line(f"scf.yield {', '.join(handed_on)} : {types}\n}}")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Write the lines of the `with` block under a condition."""
        self.line(f"scf.if {condition} {{")
        yield
        self.line("}")

    @contextmanager
    def when_below(self, index: Index, limit: Index | None) -> Iterator[None]:
        """Write the lines of the `with` block for an index below a limit; None means no limit."""
        if limit is None:
            yield
            return
        with self.when(self.compare("slt", index, limit)):
            yield

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Write the lines of the `with` block as the else branch of the preceding `when`."""
        self._lines[-1] = "} else {"
        yield
        self.line("}")

    def either(self, condition: str | bool, write: Callable[[bool], None]) -> None:
        """Write code for both outcomes of a condition, or for the one that is known."""
        if isinstance(condition, bool):
            write(condition)
            return
        with self.when(condition):
            write(True)
        with self.otherwise():
            write(False)
