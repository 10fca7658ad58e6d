"""Rows shorter than a few registers, added to one row: as many at a time as fill whole registers.

Rows of n elements that lie one after another are one long row in which every n-th element is of the
same column. As many registers as hold a multiple of n go along it, each lane
with its partial result; at the end they are combined to n elements, and these with the old result:

    %sums = scf.for %at = 0 to N * n step R * lanes {      R registers, R * lanes a multiple of n
      ...                                                  each adds the elements of its own lanes
    }                                                      in blocks, where there are many rounds
    the rest of the rows, under masks
    %row = the R * lanes / n parts of n elements of %sums, combined
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, memref, vector
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted, either
from linalg_ext.transforms.codegen.base.blocked_sums import BLOCK

from ._vector_rows import (
    Member,
    Pass,
    computed,
    first_lanes,
    in_blocks,
    is_same,
    load_row,
    row_type,
    size_of,
    store_row,
    whole_steps,
)
from .loop_nests import Access, Collapser, Nest, widest_bits
from .reductions import Combiner, combiners_of, part

_MOST_REGISTERS, _MOST_OF_NARROW = 12, 6
"""The most registers of partial results, on machines with 32 registers and on those with 16."""

_BITS_OF_MANY = 512
_FEW_REGISTERS = 4
"""Fewer would wait for each other: an addition takes some cycles."""


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """A nest that adds short rows to one.

    Attributes:
        nest: it has two loops below those around it, over the rows and along them.
        depth: the loop over the rows.
        combiners: how each output takes a new element.
        row: elements of a row.
        lanes: of a register.
        period: the number of registers after which a column is in the same lane again.
        registers: the number of registers, a multiple of the period.
        views: of the operands that have rows, with the rows as one.
    """

    nest: Nest
    depth: int
    combiners: tuple[Combiner, ...]
    row: int
    lanes: int
    period: int
    registers: int
    views: dict[int, Any]

    def emit(self, ivs: tuple[Any, ...]) -> None:
        """Emit the loop at the current insertion point, inside of loops at `ivs`."""
        member = Member(self.nest, (*ivs, index(0), index(0)))
        known = [self._before(member, at) for at in range(len(self.nest.operands))]
        rows = self.nest.static_extent(self.depth)
        if rows is None:
            total: Any = arith.muli(size_of(self.nest, self.depth), index(self.row))
        else:
            total = rows * self.row
        partial = self._start()
        whole = whole_steps(0, total, self._step)
        if not is_same(whole, 0):
            partial = self._all_rounds(member, known, whole, partial)
        if not is_same(whole, total):
            left = total - whole if rows is not None else arith.subi(total, whole)
            partial = self._round(member, known, index(whole), partial, left)
        self._after(member, partial)

    @property
    def _step(self) -> int:
        return self.registers * self.lanes

    def _all_rounds(
        self, member: Member, known: Sequence[Any], whole: Any, start: list[Any]
    ) -> list[Any]:
        """Return the results of whole rounds, in blocks where there are many."""

        def one_block() -> list[Any]:
            return self._rounds(member, known, index(0), index(whole), start)

        def blocks() -> list[Any]:
            return self._blocks(member, known, whole, start)

        block = BLOCK * self._step
        if not any(map(self._adds_floats, range(len(self.combiners)))):
            return one_block()
        if isinstance(whole, int):
            return blocks() if whole > block else one_block()
        are_many = arith.cmpi(arith.CmpIPredicate.ugt, whole, index(block))
        return either(are_many, blocks, one_block, start)

    def _adds_floats(self, output: int) -> bool:
        return self.combiners[output].adds_floats(self.nest.writes[output].memref.type.element_type)

    def _rounds(
        self, member: Member, known: Sequence[Any], low: Any, high: Any, carried: list[Any]
    ) -> list[Any]:
        def step(at: Any, before: list[Any]) -> list[Any]:
            return self._round(member, known, at, before, None)

        return counted(low, high, carried, step, self._step)

    def _blocks(
        self, member: Member, known: Sequence[Any], whole: Any, start: list[Any]
    ) -> list[Any]:
        """Return the results of `_rounds` in blocks, whose sums are added with compensation."""
        adding = [at for at in range(len(self.combiners)) if self._adds_floats(at)]
        sums = [at * self.registers + register for at in adding for register in range(self.period)]

        def block(begin: Any, end: Any, totals: list[Any]) -> list[Any]:
            before = [
                start[at] if at // self.registers in adding else totals[at]
                for at in range(len(start))
            ]
            values = self._rounds(member, known, begin, end, before)
            for output in adding:
                place = output * self.registers
                own = values[place : place + self.registers]
                rest = start[place + self.period : place + self.registers]
                values[place : place + self.registers] = [*self._periods(output, own), *rest]
            return values

        return in_blocks((0, whole, BLOCK * self._step), start, sums, block)

    def _periods(self, output: int, registers: Sequence[Any]) -> list[Any]:
        """Return the registers of an output, those whose lanes are of the same columns as one."""
        own = list(registers)
        for register in range(self.period, self.registers):
            place = register % self.period
            own[place] = self.combiners[output](own[place], own[register])
        return own[: self.period]

    def _start(self) -> list[Any]:
        return [
            combine.neutral(row_type(self.lanes, access.memref.type.element_type))
            for combine, access in zip(self.combiners, self.nest.writes, strict=True)
            for _ in range(self.registers)
        ]

    def _before(self, member: Member, at: int) -> Any | None:
        """Return an operand that all rows share: a scalar, or a vector for each register."""
        operand = self.nest.operands[at]
        if not isinstance(operand, Access):
            return operand
        if at in self.views or at >= self.nest.inputs or not self.nest.is_read[at]:
            return None
        where = operand.indices(member.ivs)
        if self.depth + 1 not in operand.dims:
            return memref.load(operand.memref, where)
        row = load_row(operand.memref, where, self.row, None)
        return [
            vector.shuffle(row, row, [(first + lane) % self.row for lane in range(self.lanes)])
            for first in range(0, self.registers * self.lanes, self.lanes)
        ]

    def _round(
        self, member: Member, known: Sequence[Any], at: Any, carried: list[Any], left: Any | None
    ) -> list[Any]:
        """Emit one round: each lane combines one more element; return the new partial results.

        Args:
            known: the operands that do not change.
            at: the index of the first register's elements among those of all rows.
            carried: the partial results so far.
            left: the number of elements that are left, where they do not fill all lanes.
        """
        partial = list(carried)
        count = self.registers
        if isinstance(left, int):
            count = -(-left // self.lanes)
        for register in range(count):
            first = register * self.lanes
            mask = None
            if left is not None and not (isinstance(left, int) and left >= first + self.lanes):
                mask = first_lanes(self.lanes, arith.subi(index(left), index(first)))
            pass_ = Pass(self.lanes, arith.addi(at, index(first)), mask, False)
            places = range(register, len(carried), self.registers)
            old = [carried[place] for place in places]
            shared = [value[register] if isinstance(value, list) else value for value in known]
            values = [
                self._operand(member, number, value, pass_, old)
                for number, value in enumerate(shared)
            ]
            new = computed(member, self.depth + 1, values, pass_)
            for place, before, value in zip(places, old, new, strict=True):
                partial[place] = value if mask is None else arith.select(mask, value, before)
        return partial

    def _operand(
        self, member: Member, at: int, known: Any | None, pass_: Pass, old: Sequence[Any]
    ) -> Any | None:
        if at >= self.nest.inputs:
            return old[at - self.nest.inputs]
        if at not in self.views or not self.nest.is_read[at]:
            return known
        operand = self.nest.operands[at]
        where = [*operand.indices(member.ivs)[:-2], pass_.at]
        return load_row(self.views[at], where, pass_.lanes, pass_.mask)

    def _after(self, member: Member, partial: Sequence[Any]) -> None:
        """Combine the registers to rows, and these with the old elements of the outputs."""
        for number, (combine, access) in enumerate(
            zip(self.combiners, self.nest.writes, strict=True)
        ):
            own = partial[number * self.registers : (number + 1) * self.registers]
            lanes, *later_registers = self._periods(number, own)
            for register in later_registers:
                size = lanes.type.shape[0] + self.lanes
                lanes = vector.shuffle(lanes, register, list(range(size)))
            rows = [
                part(lanes, start, self.row)
                for start in range(0, self.period * self.lanes, self.row)
            ]
            row = _in_pairs(combine, rows)
            where = access.indices(member.ivs)
            old = load_row(access.memref, where, self.row, None)
            store_row(combine(old, row), access.memref, where, None, None)


def joined_rows(
    nests: Sequence[Nest], depth: int, vector_bits: int, collapser: Collapser
) -> JoinedRows | None:
    """Return the plan to add short rows to one, for a nest inside the loops around `depth`.

    None where it does not do so.

    Args:
        nests: the nests that share these loops; None is returned for more than one.
        depth: the loop over the rows.
        vector_bits: of a register.
        collapser: makes the views.
    """
    (first, *siblings) = nests
    if siblings or first.rank < depth + 2 or first.is_parallel[depth] or first.loads:
        return None
    nest = with_one_row(first, depth, collapser)
    if nest is None:
        return None
    row, rows = nest.static_extent(depth + 1), nest.static_extent(depth)
    if not nest.is_parallel[depth + 1] or row is None or row < 1:
        return None
    lanes = max(1, vector_bits // widest_bits([nest]))
    period = row // math.gcd(row, lanes)
    most = _MOST_REGISTERS if vector_bits >= _BITS_OF_MANY else _MOST_OF_NARROW
    most //= len(nest.writes)
    if lanes == 1 or period > most or row >= _FEW_REGISTERS * lanes:
        return None
    registers = period * max(1, min(-(-_FEW_REGISTERS // period), most // period))
    if rows is not None and rows * row < 2 * registers * lanes:
        return None
    combiners = _combiners(nest)
    if combiners is None or not _is_in_rows(nest, depth):
        return None
    views: dict[int, Any] = {}
    for at, access in enumerate(nest.operands[: nest.inputs]):
        if isinstance(access, Access) and depth in access.dims:
            view = collapser.flattened(access, depth)
            if view is None:
                return None
            views[at] = view
    if not views:
        return None
    return JoinedRows(nest, depth, combiners, row, lanes, period, registers, views)


def with_one_row(nest: Nest, depth: int, collapser: Collapser) -> Nest | None:
    """Return the nest with all loops inside of loop `depth` as one; None where that cannot be."""
    while nest.rank > depth + 2:
        collapsed = collapser.collapsed([nest], depth + 1)
        if collapsed is None:
            return None
        (nest,) = collapsed
    return nest


def _combiners(nest: Nest) -> tuple[Combiner, ...] | None:
    if any(op.operation.name == "linalg.index" for op in nest.body.operations):
        return None
    return combiners_of(list(nest.body.arguments)[nest.inputs :], nest.yielded)


def _is_in_rows(nest: Nest, depth: int) -> bool:
    """Return whether all reads are of rows of the loop over rows, of one row, or of an element.

    No write may depend on the loop over rows.
    """
    for access in nest.accesses:
        if depth in access.dims and access.dims[-2:] != (depth, depth + 1):
            return False
    return all(depth not in access.dims for access in nest.writes)


def _in_pairs(combine: Combiner, rows: Sequence[Any]) -> Any:
    if len(rows) == 1:
        return rows[0]
    half = len(rows) // 2
    return combine(_in_pairs(combine, rows[:half]), _in_pairs(combine, rows[half:]))
