"""Parts of an entry that are alike, such as the layers of a model, become calls of one function.

before:
    func.func @entry(%x: memref<8x8xf32>, %w: memref<8x8xf32>, %v: memref<8x8xf32>, ...)
        attributes {linalg_ext.status} {
      %y = memref.alloc() : memref<8x8xf32>
      linalg.generic ... ins(%x, %w : ...) outs(%y : ...)
      %z = memref.alloc() : memref<8x8xf32>
      linalg.generic ... ins(%y, %v : ...) outs(%z : ...)
      ...
after:
    func.func @entry(%x: memref<8x8xf32>, %w: memref<8x8xf32>, %v: memref<8x8xf32>, ...)
        attributes {linalg_ext.status} {
      %y = memref.alloc() : memref<8x8xf32>
      call @linalg_ext_part_0(%x, %w, %y) : ...
      %z = memref.alloc() : memref<8x8xf32>
      call @linalg_ext_part_0(%y, %v, %z) : ...
      ...
    func.func private @linalg_ext_part_0(%a: memref<8x8xf32>, %b: ..., %c: ...)
        attributes {linalg_ext.apart} {
      linalg.generic ... ins(%a, %b : ...) outs(%c : ...)
      return
    }

What comes after, the most expensive passes and LLVM, then sees one layer. All buffers are chosen by
now, and stay. A part ends where nests and loops end anyway: one buffer alone is written before and
read behind, by a contraction or what is computed on its result, and several ops, or no element-wise
one, read it. The arguments of a call do not overlap: the function says so, for passes that ask.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from linalg_ext.bindings import func, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.buffers import (
    TOUCH_NOTHING,
    Aliases,
    Buffer,
    buffer_of,
    is_memory,
    may_write,
)
from linalg_ext.transforms.ir_utils.entry_status import APART, THREADS, entry_with_status
from linalg_ext.transforms.ir_utils.generics import (
    input_count,
    is_contraction,
    parallel_loops,
)
from linalg_ext.transforms.ir_utils.outlining import part_of_ops
from linalg_ext.transforms.ir_utils.plan_functions import Functions
from linalg_ext.transforms.ir_utils.repeats import Line, Run, is_repeated, repeated_runs

NAME = "linalg-ext-outline-repeated-parts"

STEM = "linalg_ext_part"
"""The prefix of the names of the functions."""

_DEALLOC = "memref.dealloc"


@module_pass(NAME, on="linalg.generic")
def outline_repeated_parts(module: ir.Operation, *, least: int = 12) -> Report:
    """Make parts that are alike, in the entry that takes a status, one function.

    Args:
        module: on buffers, with an entry whose work is not cut into slices.
        least: the number of ops of a part that is worth a call.
    """
    report = Report(NAME)
    entry = entry_with_status(module)
    if entry is None or THREADS in entry.attributes or len(entry.regions[0].blocks) != 1:
        return report
    *ops, _ = [op.operation for op in entry.regions[0].blocks[0].operations]
    line = Line([op for op in ops if op.name != _DEALLOC])
    reached = _Reached(line)
    functions = Functions(module, STEM)
    parts: dict[Hashable, list[_Part]] = {}
    for run in (run for runs in repeated_runs(line, reached.is_seam, least=least) for run in runs):
        report.matched[entry.name] += 1
        if (part := _part(line, run, reached)) is not None:
            parts.setdefault(part.key, []).append(part)
    for key, equal in parts.items():
        if len(equal) > 1 and (made := part_of_ops(equal[0].ops, equal[0].operands, stem=STEM)):
            made.function.attributes[APART] = ir.UnitAttr.get()
            name = functions.adopt(key, made.function)
            for part in equal:
                report.changed[entry.name] += 1
                _call(name, part)
    return report


class _Part(NamedTuple):
    """A run that can be a function.

    Attributes:
        key: equal for runs that are equal.
        ops: those of the run, and the deallocations of the buffers that it has for itself.
        operands: the values from outside, constants included, and the buffers of `hoisted`.
        hoisted: allocations of the run that are reached behind it.
    """

    key: Hashable
    ops: list[Any]
    operands: list[Any]
    hoisted: list[Any]


def _part(line: Line, run: Run, reached: _Reached) -> _Part | None:
    """Return a run as a part; None where a value of its own leaves it, or buffers may overlap."""
    ops = line.ops[run.start : run.stop]
    own = set(ops)
    frees: list[Any] = []
    hoisted: dict[int, Any] = {}
    for at, op in enumerate(ops):
        users = {_above(use.owner.operation, op) for value in op.results for use in value.uses}
        mine = [user for user in users if user.name == _DEALLOC and user.block == op.block]
        is_allocation = op.name == "memref.alloc"
        if users <= own.union(mine) and len(mine) == int(is_allocation):
            frees += mine
        elif is_allocation and all(line.place_of(size) is None for size in op.operands):
            hoisted[at] = op
        else:
            return None
    operands = [*line.outside(run), *(op.results[0] for op in hoisted.values())]
    if reached.may_overlap(run, operands):
        return None
    kept = [op for at, op in enumerate(ops) if at not in hoisted]
    key = line.key_of(run), tuple(hoisted)
    return _Part(key, [*kept, *frees], operands, list(hoisted.values()))


def _above(op: Any, beside: Any) -> Any:
    """Return the op in the block of `beside` that is an op, or has it in its regions."""
    while op.block != beside.block:
        op = op.parent.operation
    return op


def _call(name: str, part: _Part) -> None:
    """Put the call of a function in the place of a part."""
    with part.ops[0].location, ir.InsertionPoint(part.ops[0]):
        operands = [value for value in part.operands if not is_repeated(value)]
        call = func.CallOp([], ir.FlatSymbolRefAttr.get(name), operands)
    for op in part.hoisted:
        op.move_before(call.operation)
    for op in reversed(part.ops):
        op.erase()


class _Access(NamedTuple):
    """An op of a line that reaches a buffer."""

    place: int
    is_written: bool


class _Reached:
    """The accesses of a line to buffers."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._accesses: dict[Buffer, list[_Access]] = {}
        self._aliases = Aliases()
        for place, (op, taken) in enumerate(zip(line.ops, line.taken, strict=True)):
            if op.name in TOUCH_NOTHING:
                continue
            for at, value in enumerate(taken):
                if is_memory(value):
                    found = self._accesses.setdefault(buffer_of(value), [])
                    found.append(_Access(place, at >= len(op.operands) or may_write(op, at)))

    def is_seam(self, place: int) -> bool:
        """Return whether no nest and no loop reaches across the place before an op."""
        if place in (0, len(self._line.ops)):
            return True
        across = [
            accesses
            for accesses in self._accesses.values()
            if accesses[-1].place >= place > next((a.place for a in accesses if a.is_written), place)
        ]
        if len(across) != 1:
            return False
        readers = [access.place for access in across[0] if access.place >= place]
        is_fused = len(readers) == 1 and _is_elementwise(self._line.ops[readers[0]])
        return not is_fused and self._is_of_contraction(across[0], place)

    def _is_of_contraction(self, accesses: Sequence[_Access], place: int) -> bool:
        """Return whether a contraction wrote a buffer last before a place, or ops on its result."""
        writer = max(each.place for each in accesses if each.is_written and each.place < place)
        op = self._line.ops[writer]
        if not _is_elementwise(op):
            return is_contraction(op)
        read = [self._accesses[buffer_of(v)] for v in op.operands[: input_count(op)] if is_memory(v)]
        return any(
            self._is_of_contraction(each, writer)
            for each in read
            if any(access.is_written and access.place < writer for access in each)
            and sum(not access.is_written for access in each) == 1
        )

    def may_overlap(self, run: Run, operands: Sequence[Any]) -> bool:
        """Return whether two operands of a run may be the same memory, one of which it writes."""
        buffers = [buffer_of(value) for value in operands if is_memory(value)]
        written = {
            buffer
            for buffer in buffers
            if any(a.is_written and run.start <= a.place < run.stop for a in self._accesses[buffer])
        }
        return any(
            self._aliases.may_alias(one, other)
            for one, other in combinations(buffers, 2)
            if one in written or other in written
        )


def _is_elementwise(op: Any) -> bool:
    return op.name == "memref.copy" or (op.name == "linalg.generic" and all(parallel_loops(op)))
