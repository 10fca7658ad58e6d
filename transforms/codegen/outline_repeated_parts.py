"""Parts of an entry that are alike, such as the layers of a model, become calls of one function.

before:
    func.func @entry(%x: memref<8x8xf32>, %w: memref<8x8xf32>, %v: memref<8x8xf32>,
        %out: memref<8x8xf32>, %status: memref<1xi64>) attributes {linalg_ext.status} {
      %y = memref.alloc() : memref<8x8xf32>
      linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
          affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%x, %w : memref<8x8xf32>, memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
        ^bb0(%p: f32, %q: f32, %s: f32):
          %t = arith.mulf %p, %q : f32
          %u = arith.addf %s, %t : f32
          linalg.yield %u : f32
      }
      linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
          affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%y, %v : memref<8x8xf32>, memref<8x8xf32>) outs(%out : memref<8x8xf32>) {
        ^bb0(%p: f32, %q: f32, %s: f32):
          %t = arith.mulf %p, %q : f32
          %u = arith.addf %s, %t : f32
          linalg.yield %u : f32
      }
      memref.dealloc %y : memref<8x8xf32>
      return
    }
after:
    func.func @entry(%x: memref<8x8xf32>, %w: memref<8x8xf32>, %v: memref<8x8xf32>,
        %out: memref<8x8xf32>, %status: memref<1xi64>) attributes {linalg_ext.status} {
      %y = memref.alloc() : memref<8x8xf32>
      call @linalg_ext_part_0(%x, %w, %y)
        : (memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) -> ()
      call @linalg_ext_part_0(%y, %v, %out)
        : (memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>) -> ()
      memref.dealloc %y : memref<8x8xf32>
      return
    }
    func.func private @linalg_ext_part_0(%x: memref<8x8xf32>, %w: memref<8x8xf32>,
        %out: memref<8x8xf32>) attributes {linalg_ext.apart} {
      linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
          affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%x, %w : memref<8x8xf32>, memref<8x8xf32>) outs(%out : memref<8x8xf32>) {
        ^bb0(%p: f32, %q: f32, %s: f32):
          %t = arith.mulf %p, %q : f32
          %u = arith.addf %s, %t : f32
          linalg.yield %u : f32
      }
      return
    }

The example is with `least=1`. The passes that come after, the most expensive ones, and LLVM then
see one layer. All buffers are chosen by now, and stay. A part ends where nests and loops end
anyway: one buffer alone is written before and read behind. A contraction, or an op on its result,
wrote it, and several ops read it, or one that is not element-wise. The arguments of a
call do not overlap: the function says so to alias analysis.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from linalg_ext.bindings import func, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.payload import reaches_outside_memory
from linalg_ext.transforms.analysis.buffers import (
    TOUCH_NOTHING,
    Aliases,
    Buffer,
    buffer_of,
    is_memory,
    may_write,
    uses_of,
)
from linalg_ext.transforms.ir_utils.generics import input_count, is_contraction, parallel_loops
from linalg_ext.transforms.ir_utils.module_functions import (
    APART,
    THREADS,
    Functions,
    entry_with_status,
)
from linalg_ext.transforms.ir_utils.outlining import part_of_ops
from linalg_ext.transforms.ir_utils.repeats import (
    Line,
    Run,
    is_repeated,
    may_repeat,
    repeated_runs,
    shape_of,
)
from linalg_ext.transforms.ir_utils.walking import ancestor_in, first_of, ops_of, producer

NAME = "linalg-ext-outline-repeated-parts"

STEM = "linalg_ext_part"
"""The prefix of the names of the functions."""

_DEALLOC = "memref.dealloc"


@module_pass(NAME, on="linalg.generic")
def outline_repeated_parts(module: ir.Operation, *, least: int = 6) -> Report:
    """Make parts that are alike, in the entry that takes a status, one function.

    Args:
        module: on buffers, with an entry whose work is not cut into slices.
        least: the number of ops of a part that is worth a call, allocations not counted.
    """
    report = Report(NAME)
    entry = entry_with_status(module)
    if entry is None or THREADS in entry.attributes or len(entry.regions[0].blocks) != 1:
        return report
    block = entry.regions[0].blocks[0]
    if not may_repeat(_ordered(block), least):
        return report
    report.changed["linalg.generic"] += _sink_fills(block)
    line = Line(_ordered(block))
    reached = _Reached(line)
    functions = Functions(module, STEM)
    # All parts before one is outlined: a new op may have the address of an erased one.
    groups = [
        [_part(line, run, reached) for run in runs]
        for runs in repeated_runs(line, reached.is_seam, least=least)
    ]
    for group in groups:
        report.matched[entry.name] += len(group)
        parts: dict[Hashable, list[_Part]] = {}
        for part in filter(None, group):
            parts.setdefault(part.private, []).append(part)
        for equal in parts.values():
            report.changed[entry.name] += _outline(equal, functions)
    return report


def _outline(parts: list[_Part], functions: Functions) -> int:
    """Replace equal parts by calls of one function; return the number of calls."""
    first = parts[0]
    outlined = part_of_ops(first.ops, first.operands, stem=STEM) if len(parts) > 1 else None
    if outlined is None:
        return 0
    outlined.function.attributes[APART] = ir.UnitAttr.get()
    name = functions.adopt(None, outlined.function)
    for part in parts:
        _call(name, part)
    return len(parts)


def _ordered(block: Any) -> list[Any]:
    """Return the ops of a block without allocations and deallocations, whose order is arbitrary."""
    *ops, _ = ops_of(block)
    return [op for op in ops if op.name != _DEALLOC and not _is_allocation(op)]


def _sink_fills(block: Any) -> int:
    """Move each op that only fills an allocation to before the op that reaches that next.

    Bufferization leaves them in no order that says anything. The result is the number of moves.
    """
    moved = 0
    for fill in ops_of(block):
        is_fill = fill.name == "linalg.generic" and len(fill.operands) == 1
        if not is_fill or reaches_outside_memory(fill):
            continue
        buffer = buffer_of(fill.operands[0])
        if not buffer.is_fresh:
            continue
        users = (ancestor_in(block, use.owner.operation) for use in uses_of(buffer.value))
        reaching = {op for op in users if op is not None and op.name not in TOUCH_NOTHING}
        behind = [op for op in reaching if fill.is_before_in_block(op)]
        if behind:
            fill.move_before(first_of(behind))
            moved += 1
    return moved


class _Part(NamedTuple):
    """A run that can be a function.

    Attributes:
        private: its private buffers, by their numbers among the values from outside.
        ops: the ops of the run, with its private buffers.
        operands: the values from outside, constants included.
        first: the first op of the run.
    """

    private: Hashable
    ops: list[Any]
    operands: list[Any]
    first: Any


def _part(line: Line, run: Run, reached: _Reached) -> _Part | None:
    """Return a run as a part; None if a value of its own leaves it, or buffers may overlap."""
    ops = line.ops[run.start : run.stop]
    own = set(ops)
    if any(_users(value, op) - own for op in ops for value in op.results):
        return None
    outside = line.outside(run)
    frees: list[Any] = []
    inside: dict[int, Any] = {}
    for at, value in enumerate(outside):
        op = producer(value)
        if (
            op is not None
            and _is_allocation(op)
            and len(other_users := _users(value, op) - own) == 1
        ):
            (free,) = other_users
            if free.name == _DEALLOC and free.block == op.block:
                inside[at] = op
                frees.append(free)
    operands = [value for at, value in enumerate(outside) if at not in inside]
    if reached.may_overlap(run, operands):
        return None
    private = tuple((at, shape_of(op)) for at, op in inside.items())
    return _Part(private, [*inside.values(), *ops, *frees], operands, ops[0])


def _is_allocation(op: Any) -> bool:
    return op.name == "memref.alloc" and not len(op.operands)


def _users(value: Any, op: Any) -> set[Any]:
    """Return the ops in the block of `op` that use a value, also in their regions."""
    block = op.block
    return {ancestor_in(block, use.owner.operation) for use in value.uses}


def _call(name: str, part: _Part) -> None:
    """Replace a part by the call of a function."""
    with part.first.location, ir.InsertionPoint(part.first):
        operands = [value for value in part.operands if not is_repeated(value)]
        call = func.CallOp([], ir.FlatSymbolRefAttr.get(name), operands).operation
    # Only an allocation may stand behind the first op.
    for op in map(producer, operands):
        if op is not None and _is_allocation(op) and call.is_before_in_block(op):
            op.move_before(call)
    for op in reversed(part.ops):
        op.erase()


class _Access(NamedTuple):
    """An op of a line that reaches a buffer."""

    position: int
    is_written: bool


class _Reached:
    """The accesses of a line to buffers."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._accesses: dict[Buffer, list[_Access]] = {}
        self._aliases = Aliases()
        self._by_value: dict[Any, list[_Access]] = {}
        for position, (op, values) in enumerate(zip(line.ops, line.taken, strict=True)):
            if op.name in TOUCH_NOTHING:
                continue
            count = len(op.operands)
            for at, value in enumerate(values):
                if is_memory(value):
                    access = _Access(position, at >= count or may_write(op, at))
                    self._accesses_to(value).append(access)
        self._across: list[list[list[_Access]]] = [[] for _ in range(len(line.ops) + 1)]
        for accesses in self._accesses.values():
            first = next(iter(_writes(accesses)), len(line.ops))
            for position in range(first + 1, accesses[-1].position + 1):
                self._across[position].append(accesses)

    def _accesses_to(self, value: Any) -> list[_Access]:
        """Return the accesses to the buffer of a value: those of all its views are one list."""
        accesses = self._by_value.get(value)
        if accesses is None:
            accesses = self._accesses.setdefault(buffer_of(value), [])
            self._by_value[value] = accesses
        return accesses

    def is_seam(self, position: int) -> bool:
        """Return whether no nest and no loop reaches across a position, that before an op."""
        if position in (0, len(self._line.ops)):
            return True
        if len(across := self._across[position]) != 1:
            return False
        (accesses,) = across
        readers = [access.position for access in accesses if access.position >= position]
        is_fused = len(readers) == 1 and _is_elementwise(self._line.ops[readers[0]])
        return not is_fused and self._is_of_contraction(accesses, position)

    def _is_of_contraction(self, accesses: Sequence[_Access], position: int) -> bool:
        """Return whether a contraction, or ops on its result, last wrote a buffer before an op."""
        writer = max(number for number in _writes(accesses) if number < position)
        op = self._line.ops[writer]
        if not _is_elementwise(op):
            return is_contraction(op)
        inputs = [value for value in op.operands[: input_count(op)] if is_memory(value)]
        return any(
            self._is_of_contraction(read, writer)
            for read in map(self._accesses_to, inputs)
            if any(number < writer for number in _writes(read))
            and len(read) - len(_writes(read)) == 1
        )

    def may_overlap(self, run: Run, operands: Sequence[Any]) -> bool:
        """Return whether two operands of a run may be the same memory, one of which it writes."""
        buffers = [buffer_of(value) for value in operands if is_memory(value)]
        own = range(run.start, run.stop)
        written = {
            buffer
            for buffer in buffers
            if any(number in own for number in _writes(self._accesses[buffer]))
        }
        return any(
            self._aliases.may_alias(buffer, other)
            for buffer, other in combinations(buffers, 2)
            if buffer in written or other in written
        )


def _writes(accesses: Sequence[_Access]) -> list[int]:
    return [access.position for access in accesses if access.is_written]


def _is_elementwise(op: Any) -> bool:
    return op.name == "memref.copy" or (op.name == "linalg.generic" and all(parallel_loops(op)))
