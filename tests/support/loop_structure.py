"""What loops do, apart from how a text spells it: kinds, bounds, and which elements are touched."""

from __future__ import annotations

from collections.abc import Iterator

from linalg_ext.bindings import ir
from linalg_ext.module import Module

Line = tuple[str, ...]


def structure(module: Module, name: str = "example") -> list[Line]:
    """The ops of a function in order, each by its name and what it is given.

    Values are told by what they are: `arg0` an argument of the function, `i1` the induction
    variable of the second loop inwards, `dim(arg0, 1)` a size, 8 a constant, `memref.load 0` the
    first load. An indentation of two spaces is the inside of a loop.
    """
    module.run("canonicalize,cse")
    for op in module.ir.body.operations:
        if ir.StringAttr(op.operation.attributes["sym_name"]).value == name:
            return list(_Reader().lines(op.operation.regions[0].blocks[0], 0))
    raise LookupError(name)


class _Reader:
    def __init__(self) -> None:
        self._known: dict[ir.Value, str] = {}
        self._counts: dict[str, int] = {}

    def lines(self, block: ir.Block, depth: int) -> Iterator[Line]:
        letter = "i" if depth else "arg"
        for number, argument in enumerate(block.arguments):
            self._known[argument] = f"{letter}{number if not depth else depth - 1 + number}"
        for each in block.operations:
            op = each.operation
            if op.name in ("arith.constant", "memref.dim"):
                self._known[op.results[0]] = self._described(op)
                continue
            yield ("  " * depth + op.name, *(self._known[value] for value in op.operands))
            count = self._counts[op.name] = self._counts.get(op.name, -1) + 1
            for place, result in enumerate(op.results):
                self._known[result] = f"{op.name} {count}" + (f"#{place}" if place else "")
            for region in op.regions:
                for inner in region.blocks:
                    yield from self.lines(inner, depth + 1)

    def _described(self, op: ir.Operation) -> str:
        if op.name == "arith.constant":
            return str(op.attributes["value"]).partition(" : ")[0]
        source, axis = op.operands
        return f"dim({self._known[source]}, {self._known[axis]})"
