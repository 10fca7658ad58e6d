"""Distribute loops: each part of a body that holds a loop gets a loop of its own around it.

before:
    scf.for %i = %c0 to %m step %c1 {
      memref.store %zero, %c[%i] : memref<?xf32>
      scf.for %k = %c0 to %n step %c1 {
        %x = memref.load %a[%i, %k] : memref<?x?xf32>
        %y = memref.load %c[%i] : memref<?xf32>
        %z = arith.addf %y, %x : f32
        memref.store %z, %c[%i] : memref<?xf32>
      }
    }
after:
    scf.for %i = %c0 to %m step %c1 {
      memref.store %zero, %c[%i] : memref<?xf32>
    }
    scf.for %i = %c0 to %m step %c1 {
      scf.for %k = %c0 to %n step %c1 {
        %x = memref.load %a[%i, %k] : memref<?x?xf32>
        %y = memref.load %c[%i] : memref<?xf32>
        %z = arith.addf %y, %x : f32
        memref.store %z, %c[%i] : memref<?xf32>
      }
    }

Of a nest that is not perfect this makes perfect ones, wherever no iteration needs a result of a
later part in an earlier iteration; those parts stay together, and `linalg-ext-embed-conditionals`
makes them perfect. Arguments of a function that no other calls are taken not to overlap: calls of
kernels see to that.

Source: "Perfectly Nested Writes To The Whole Output Operands" of MLIR's linalg document; Allen and
Kennedy, "Optimizing Compilers for Modern Architectures", loop distribution.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations

from ._bands import FOR, Access, Memory, computed_from, is_load, is_pure, read_values
from .raising import with_location

NAME = "linalg-ext-distribute-loops"

_NEEDED = "an iteration depends on a later part of an earlier iteration"

Part = list[int]
"""Ops of a body by their places in it, in order."""


@module_pass(NAME, on=FOR)
def distribute_loops(module: ir.Operation) -> Report:
    """Give each part of a loop's body that holds a loop a loop of its own, if legal."""
    report = Report(NAME)
    for loop in reversed(operations(module, [FOR])):
        report.matched[FOR] += 1
        body = _Body(loop)
        if not body.is_mixed:
            continue
        if len(loop.results):
            report.leave(
                FOR, with_location(loop, "the loop carries values from iteration to iteration")
            )
            continue
        parts = body.parts()
        if len(parts) < 2:
            report.leave(FOR, with_location(loop, _NEEDED))
            continue
        report.changed[FOR] += 1
        for part in parts:
            _copy(loop, part)
        loop.erase()
    return report


class _Body:
    """The ops in the body of a loop, and which of them need each other."""

    def __init__(self, loop: ir.Operation) -> None:
        self._loop = loop
        self._ops = [op.operation for op in loop.regions[0].blocks[0].operations][:-1]
        self._places = {op: position for position, op in enumerate(self._ops)}
        self._memory = Memory()

    @property
    def is_mixed(self) -> bool:
        """Return whether there is a loop and something else that has an effect, or another loop."""
        return any(map(_holds_loop, self._ops)) and len(self._statements()) > 1

    def _statements(self) -> list[int]:
        return [
            position for position, op in enumerate(self._ops) if not is_pure(op) and not is_load(op)
        ]

    def parts(self) -> list[Part]:
        """Return the parts in order, each with all that it needs."""
        parts: list[Part] = []
        for position in self._statements():
            is_nest = _holds_loop(self._ops[position])
            if parts and not is_nest and not _holds_loop(self._ops[parts[-1][-1]]):
                parts[-1].append(position)
            else:
                parts.append([position])
        joined = True
        while joined:
            parts, joined = self._joined([self._with_needs(part) for part in parts])
        return parts

    def _joined(self, parts: list[Part]) -> tuple[list[Part], bool]:
        for (first, earlier), (second, later) in itertools.combinations(enumerate(parts), 2):
            if self._must_stay(earlier, later):
                together = sorted(
                    {position for part in parts[first : second + 1] for position in part}
                )
                return [*parts[:first], together, *parts[second + 1 :]], True
        return parts, False

    def _must_stay(self, earlier: Part, later: Part) -> bool:
        """Return whether running one part wholly before another would change the program."""
        if any(self._changes(position) for position in set(earlier) & set(later)):
            return True
        for position, behind in itertools.product(earlier, later):
            # An op further down in the text may conflict with later iterations alone.
            for late, early in itertools.product(self._touched(behind), self._touched(position)):
                if self._memory.may_meet(late, early, self._loop, same=behind < position):
                    return True
        return False

    def _changes(self, position: int) -> bool:
        """Return whether an op that two parts need may have another result the second time."""
        op = self._ops[position]
        if is_pure(op):
            return False
        if not is_load(op):
            return True
        (read,) = self._touched(position)
        # A write before the first read is seen by the second one, too.
        return any(
            access.is_written
            and self._memory.may_meet(read, access, self._loop, same=other > position)
            for other in range(len(self._ops))
            for access in self._touched(other)
        )

    def _touched(self, position: int) -> list[Access]:
        return self._memory.accesses(self._ops[position])

    def _with_needs(self, part: Iterable[int]) -> Part:
        needed = computed_from(read_values(self._ops[position] for position in part), self._places)
        return sorted({*part, *(self._places[op] for op in needed)})


def _holds_loop(op: ir.Operation) -> bool:
    return bool(operations(op, [FOR]))


def _copy(loop: ir.Operation, part: Sequence[int]) -> None:
    """Copy a loop in front of it, with one part of its body."""
    copy = loop.clone(ip=ir.InsertionPoint(loop))
    *inner, _ = [op.operation for op in copy.regions[0].blocks[0].operations]
    for position in reversed(range(len(inner))):
        if position not in part:
            inner[position].erase()
