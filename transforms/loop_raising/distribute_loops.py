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

Of a nest that is not perfect this makes perfect ones, wherever no iteration needs what a later part
did in an iteration before; those parts stay together, and `linalg-ext-embed-conditionals` makes
them perfect. Arguments of a function that no other calls are taken not to overlap: calls of kernels
see to that.

Source: "Perfectly Nested Writes To The Whole Output Operands" of MLIR's linalg document; Allen and
Kennedy, "Optimizing Compilers for Modern Architectures", loop distribution.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations
from linalg_ext.transforms.loop_raising._bands import computed_from, read_values

from ._bands import FOR, Access, Memory, is_load, is_pure
from .raising import told

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
            report.leave(FOR, told(loop, "the loop carries values from iteration to iteration"))
            continue
        parts = body.parts()
        if len(parts) < 2:
            report.leave(FOR, told(loop, _NEEDED))
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
        self._ops = [each.operation for each in loop.regions[0].blocks[0].operations][:-1]
        self._places = {op: place for place, op in enumerate(self._ops)}
        self._memory = Memory()

    @property
    def is_mixed(self) -> bool:
        """Return whether there is a loop and something else that has an effect, or another loop."""
        return any(map(_holds_loop, self._ops)) and len(self._statements()) > 1

    def _statements(self) -> list[int]:
        return [at for at, op in enumerate(self._ops) if not is_pure(op) and not is_load(op)]

    def parts(self) -> list[Part]:
        """The parts in order, each with all that it needs."""
        found: list[Part] = []
        for at in self._statements():
            is_nest = _holds_loop(self._ops[at])
            if found and not is_nest and not _holds_loop(self._ops[found[-1][-1]]):
                found[-1].append(at)
            else:
                found.append([at])
        joined = True
        while joined:
            found, joined = self._joined([self._with_needs(part) for part in found])
        return found

    def _joined(self, parts: list[Part]) -> tuple[list[Part], bool]:
        for (first, one), (second, other) in itertools.combinations(enumerate(parts), 2):
            if self._must_stay(one, other):
                together = sorted({at for part in parts[first : second + 1] for at in part})
                return [*parts[:first], together, *parts[second + 1 :]], True
        return parts, False

    def _must_stay(self, one: Part, other: Part) -> bool:
        """Return whether all of one part before all of another would be another program."""
        if any(self._changes(at) for at in set(one) & set(other)):
            return True
        for at, behind in itertools.product(one, other):
            # What stands behind in the text may reach into later iterations only.
            for late, early in itertools.product(self._touched(behind), self._touched(at)):
                if self._memory.may_meet(late, early, self._loop, same=behind < at):
                    return True
        return False

    def _changes(self, at: int) -> bool:
        """Return whether an op that two parts need is one that may give something else the second
        time.
        """
        op = self._ops[at]
        if is_pure(op):
            return False
        if not is_load(op):
            return True
        (read,) = self._touched(at)
        # What was written before the first time is there the second time, too.
        return any(
            access.is_written and self._memory.may_meet(read, access, self._loop, same=other > at)
            for other in range(len(self._ops))
            for access in self._touched(other)
        )

    def _touched(self, at: int) -> list[Access]:
        return self._memory.accesses(self._ops[at])

    def _with_needs(self, part: Iterable[int]) -> Part:
        needed = computed_from(read_values(self._ops[at] for at in part), self._places)
        return sorted({*part, *(self._places[op] for op in needed)})


def _holds_loop(op: ir.Operation) -> bool:
    return bool(operations(op, [FOR]))


def _copy(loop: ir.Operation, part: Sequence[int]) -> None:
    """A copy of a loop in front of it, with one part of its body."""
    copy = loop.clone(ip=ir.InsertionPoint(loop))
    *inner, _ = [each.operation for each in copy.regions[0].blocks[0].operations]
    for at in reversed(range(len(inner))):
        if at not in part:
            inner[at].erase()
