"""Carry sums and extrema along rows a vector at a time.

before:
    %t = scf.for %i = %c0 to %c8 step %c1 iter_args(%sum = %first) -> (f32) {
      %x = memref.load %a[%i] : memref<8xf32>
      %s = arith.addf %sum, %x : f32
      memref.store %s, %b[%i] : memref<8xf32>
      scf.yield %s : f32
    }
after:
    %firsts = vector.broadcast %first : f32 to vector<4xf32>
    %all = scf.for %i = %c0 to %c8 step %c4 iter_args(%sums = %firsts) -> (vector<4xf32>) {
      %x = vector.load %a[%i] : memref<8xf32>, vector<4xf32>
      %x1 = vector.shuffle %x, %zeros [4, 0, 1, 2] : vector<4xf32>, vector<4xf32>
      %s1 = arith.addf %x1, %x : vector<4xf32>
      %x2 = vector.shuffle %s1, %zeros [4, 4, 0, 1] : vector<4xf32>, vector<4xf32>
      %s2 = arith.addf %x2, %s1 : vector<4xf32>
      %s = arith.addf %sums, %s2 : vector<4xf32>
      vector.store %s, %b[%i] : memref<8xf32>, vector<4xf32>
      %last = vector.shuffle %s2, %s2 [3, 3, 3, 3] : vector<4xf32>, vector<4xf32>
      %next = arith.addf %sums, %last : vector<4xf32>
      scf.yield %next : vector<4xf32>
    }
    %t = vector.extract %all[0] : f32 from vector<4xf32>

One element waits for the one before, some cycles each; of a vector only its total does. Sums of f32
and f64 have another order than one after another then, which depends on the length and the width of
the vectors alone, and rounds less: long ones are added up in blocks, whose totals are added with
compensation, in loops over scalars as well. Products of floats keep theirs: a part of them may be
too large, or too small, for the format where the whole is not. So do sums of f16 and bf16, which
round too much for another. Source: D. Hillis and G. Steele, Data Parallel Algorithms,
Communications of the ACM 29 (1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, scf, vector
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted
from linalg_ext.transforms.analysis.buffers import buffer_of, may_alias
from linalg_ext.transforms.codegen.base.blocked_sums import (
    ADDITIONS,
    add_compensated,
    is_added_in_blocks,
    negative_zero,
)
from linalg_ext.transforms.codegen.base.choices import choices
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.base.payload import obstacle_to_vectors
from linalg_ext.transforms.ir_utils.arithmetic import as_row, known_index, on_rows
from linalg_ext.transforms.ir_utils.generics import inside
from linalg_ext.transforms.ir_utils.walking import ops_of, select

from ._vector_rows import first_lanes, in_blocks, is_same, load_row, store_row, whole_steps
from .loop_nests import BITS_WITH_MASKS, SHORTEST, bits_in_vectors, is_in_rows, memory_obstacle
from .reductions import Combiner, combiner_by

NAME = "linalg-ext-vectorize-scans"

_FOR, _LOAD, _STORE = "scf.for", "memref.load", "memref.store"

_BLOCK = 32
"""Vectors whose totals are added up one after another: each is written, with all that it lost."""

_IN_ORDER = ("arith.mulf",)
"""Combiners of floats that keep their order: a part may overflow where the whole does not."""


@module_pass(NAME, on=_FOR)
def vectorize_scans(module: ir.Operation, *, vector_bits: int = 0) -> Report:
    """Vectorize loops that carry one sum, or extremum, along rows.

    Args:
        vector_bits: the width of a register; 0 for that of the target.
    """
    report = Report(NAME)
    bits = vector_bits or choices().vector_bits or 8 * this_machine().vector_bytes
    for loop in select(module, _carries_one):
        report.matched[_FOR] += 1
        scan = _read(loop)
        if isinstance(scan, _Scan) and scan.emit(bits):
            report.changed[_FOR] += 1
            continue
        report.leave(_FOR, scan if isinstance(scan, str) else "the loop is short")
        _in_blocks(loop)
    return report


def _carries_one(op: Any) -> bool:
    """Return whether an op is a loop that carries one value and stores along memory."""
    if op.name != _FOR or len(op.results) != 1 or known_index(op.operands[2]) != 1:
        return False
    names = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return _STORE in names and _FOR not in names


@dataclass(frozen=True, eq=False)
class _Scan:
    """An `scf.for` that carries a total along rows, and combines it with a value."""

    loop: Any
    combine: Combiner
    total: Any
    value: Any

    @property
    def body(self) -> Any:
        return self.loop.regions[0].blocks[0]

    def emit(self, bits: int) -> bool:
        """Replace the loop; False where it is too short."""
        low, high = (known_index(bound) for bound in list(self.loop.operands)[:2])
        ops = ops_of(self.body)
        count = None if low is None or high is None else high - low
        values = [value for op in ops for value in (*op.operands, *op.results)]
        lanes = max(1, bits // bits_in_vectors(values, values))
        has_masks = bits >= BITS_WITH_MASKS
        if count is not None:
            if count < SHORTEST:
                return False
            power = (count - has_masks).bit_length() - (not has_masks)
            lanes = min(lanes, 1 << power)
        if lanes < SHORTEST:
            return False
        with self.loop.location, ir.InsertionPoint(self.loop):
            self._emit(low, high, lanes, has_masks)
        return True

    def _emit(self, low: int | None, high: int | None, lanes: int, has_masks: bool) -> None:
        start, end, _, carried = self.loop.operands
        if low is None or high is None:
            end = arith.maxsi(end, start)
        first: Any = start if low is None else low
        last: Any = end if low is None or high is None else high
        whole = whole_steps(first, last, lanes)
        if not is_same(whole, first):
            carried = self._vectors(first, whole, lanes, carried)
        if is_same(whole, last):
            self._replace_by(carried)
        elif has_masks:
            left = first_lanes(lanes, arith.subi(end, index(whole)))
            total = self._round(index(whole), as_row(carried, lanes), left)
            self._replace_by(vector.extract(total, [], [0]))
        else:
            self.loop.operands[0], self.loop.operands[3] = index(whole), carried

    def _vectors(self, first: Any, whole: Any, lanes: int, carried: Any) -> Any:
        """Emit the loop over whole vectors, in blocks while there are many; return the total."""
        middle = first
        if self.combine.adds_floats(carried.type):
            middle = whole_steps(first, whole, _BLOCK * lanes)
        if not is_same(middle, first):
            carried = self._blocks(index(first), index(middle), lanes, carried)
        if not is_same(middle, whole):
            carried = self._rounds(index(middle), index(whole), lanes, carried, None)
        return carried

    def _rounds(self, low: Any, high: Any, lanes: int, carried: Any, base: Any | None) -> Any:
        """As `_vectors`, one after another; a base is added to all totals that are written."""
        bases = None if base is None else as_row(base, lanes)
        # LLVM takes minutes for narrow integers that are carried in all lanes.
        in_lanes = self.combine.adds_floats(carried.type)
        first = as_row(carried, lanes) if in_lanes else carried

        def step(at: Any, before: list[Any]) -> list[Any]:
            row = before[0] if in_lanes else as_row(before[0], lanes)
            total = self._round(at, row, None, bases)
            return [total if in_lanes else vector.extract(total, [], [0])]

        (totals,) = counted(low, high, [first], step, lanes)
        return vector.extract(totals, [], [0]) if in_lanes else totals

    def _blocks(self, low: Any, high: Any, lanes: int, carried: Any) -> Any:
        """Emit `_vectors` in blocks, whose sums are added with compensation."""

        def block(begin: Any, end: Any, totals: list[Any]) -> list[Any]:
            start = self.combine.neutral(carried.type)
            return [self._rounds(begin, end, lanes, start, *totals)]

        bounds = low, high, index(_BLOCK * lanes)
        return in_blocks(bounds, [carried], [0], block, is_even=True)[0]

    def _replace_by(self, total: Any) -> None:
        self.loop.results[0].replace_all_uses_with(total)
        self.loop.erase()

    def _round(self, at: Any, carried: Any, mask: Any | None, bases: Any | None = None) -> Any:
        """Emit one vector; return the total with its elements, in all lanes.

        Args:
            at: where it begins.
            carried: the total so far, in all lanes.
            mask: which lanes are in the row; None for all.
            bases: values that are added to the totals that are written, or None.
        """
        lanes = carried.type.shape[0]
        position, before = self.body.arguments
        vectors: dict[Any, Any] = {position: at}
        ops = ops_of(self.body)[:-1]
        waiting = _following(ops, before)
        for op in ops:
            if op not in waiting:
                _emit_on_vectors(op, vectors, lanes, mask)
        elements = as_row(vectors.get(self.value, self.value), lanes)
        sums = self._scanned(elements, mask)
        whole = carried if bases is None else self.combine(bases, carried)
        vectors[self.total] = self.combine(whole, sums)
        vectors[before] = vector.shuffle(vectors[self.total], whole, _shifted(lanes, 1))
        for op in waiting:
            if op != self.total.owner.operation:
                _emit_on_vectors(op, vectors, lanes, mask)
        # The next vector waits for this value alone.
        if self.combine.adds_floats(carried.type.element_type):
            return self.combine(carried, vector.shuffle(sums, sums, [lanes - 1] * lanes))
        last = vector.extract(sums, [], [lanes - 1])
        return as_row(self.combine(vector.extract(carried, [], [0]), last), lanes)

    def _scanned(self, elements: Any, mask: Any | None) -> Any:
        """Return the running totals of the elements of a vector."""
        lanes = elements.type.shape[0]
        neutral = self.combine.neutral(elements.type)
        sums = elements if mask is None else arith.select(mask, elements, neutral)
        distance = 1
        while distance < lanes:
            shifted = vector.shuffle(sums, neutral, _shifted(lanes, distance))
            sums = self.combine(shifted, sums)
            distance *= 2
        return sums


def _shifted(lanes: int, distance: int) -> list[int]:
    """Return the lanes moved up; the lowest ones from a second vector."""
    return [lanes] * distance + list(range(lanes - distance))


def _emit_on_vectors(op: Any, vectors: dict[Any, Any], lanes: int, mask: Any | None) -> None:
    """Emit an op of the body for a vector of positions, and register its results."""
    if op.name == _LOAD:
        source, *indices = (vectors.get(value, value) for value in op.operands)
        vectors[op.results[0]] = load_row(source, indices, lanes, mask)
    elif op.name == _STORE:
        row, target, *indices = (vectors.get(value, value) for value in op.operands)
        store_row(as_row(row, lanes), target, indices, mask, None)
    else:
        vectors.update(zip(op.results, on_rows(op, op.operands, vectors), strict=True))


def _following(ops: Sequence[Any], before: Any) -> list[Any]:
    """Return the ops that depend on the carried value, and those that write."""
    values, waiting = {before}, []
    for op in ops:
        if op.name == _STORE or not values.isdisjoint(op.operands):
            waiting.append(op)
            values.update(op.results)
    return waiting


def _read(loop: Any) -> _Scan | str:
    body = loop.regions[0].blocks[0]
    position, before = body.arguments
    ops = ops_of(body)
    total = ops.pop().operands[0]
    last = inside(total, body)
    combine = None if last is None else combiner_by(last, before)
    if last is None or combine is None:
        return "the carried value is neither a sum nor an extremum"
    if combine.name in _IN_ORDER:
        return "a part of a product may leave the format where the whole does not"
    left, right = last.operands
    value = right if left == before else left
    waiting = _following(ops, before)
    source = inside(value, body)
    if source is None and value != before:
        return "the combined value is made outside of the loop"
    if value == before or source in waiting:
        return "the combined value depends on the carried one"
    reason = _obstacle(ops, position) or _overlap(ops)
    return _Scan(loop, combine, total, value) if reason is None else reason


def _in_blocks(loop: Any) -> None:
    """Have a loop over scalars add up floats in blocks, where it carries a long sum of them."""
    body = loop.regions[0].blocks[0]
    position, before = body.arguments
    ops = ops_of(body)
    last = inside(ops.pop().operands[0], body)
    if last is None or last.name not in ADDITIONS or not is_added_in_blocks(before.type):
        return
    low, high = (known_index(bound) for bound in list(loop.operands)[:2])
    is_short = low is not None and high is not None and high - low <= _BLOCK
    added = [operand for operand in last.operands if operand != before]
    if is_short or len(added) != 1:
        return
    made_by = inside(added[0], body)
    if made_by is not None and made_by in _following(ops, before):
        return
    add = Combiner(last.name)
    with loop.location, ir.InsertionPoint(loop):
        start, end, step, carried = loop.operands
        block = index(_BLOCK)
        outer = scf.ForOp(start, end, block, [carried, negative_zero(carried.type)])
        with ir.InsertionPoint(outer.body):
            begin, (total, error) = outer.induction_variable, outer.inner_iter_args
            until = arith.minsi(arith.addi(begin, block), end)
            inner = scf.ForOp(begin, until, step, [negative_zero(carried.type)])
            with ir.InsertionPoint(inner.body):
                so_far = inner.inner_iter_args[0]
                total_so_far = add(total, so_far)
                added_up = add(so_far, added[0])
                handed_on = scf.YieldOp([added_up]).operation
            scf.YieldOp(list(add_compensated(total, error, inner.results[0])))
        for op in ops:
            if op == last:
                added_up.owner.move_before(handed_on)
                with ir.InsertionPoint(handed_on):
                    last.results[0].replace_all_uses_with(add(total, added_up))
            else:
                op.move_before(handed_on)
        position.replace_all_uses_with(inner.induction_variable)
        before.replace_all_uses_with(total_so_far)
        loop.results[0].replace_all_uses_with(outer.results[0])
    loop.erase()


def _obstacle(ops: Sequence[Any], position: Any) -> str | None:
    """Return why the ops of a body have no form on vectors; None if they have one."""
    body = position.owner
    places = {position}
    for op in ops:
        if op.name in (_LOAD, _STORE):
            reason = _unfit_access(op, places, body)
        elif op.name == "arith.addi" and position in list(op.operands):
            addends = [operand for operand in op.operands if operand != position]
            is_offset = len(addends) == 1 and inside(addends[0], body) is None
            reason = None if is_offset else "the body computes with its position"
            places.add(op.results[0])
        elif not places.isdisjoint(op.operands):
            reason = "the body computes with its position"
        else:
            reason = obstacle_to_vectors(op)
        if reason is not None:
            return reason
    return None


def _unfit_access(op: Any, places: set[Any], body: Any) -> str | None:
    """Return why a load or store has no form on vectors; None if it has one."""
    is_load = op.name == _LOAD
    if not is_load and op.operands[0] in places:
        return "the body computes with its position"
    source, *indices = list(op.operands)[not is_load :]
    reason = memory_obstacle(source.type)
    if reason is not None:
        return reason
    if isinstance(source.type.element_type, ir.IndexType) or inside(source, body) is not None:
        return "memory of indices, or of the loop's own"
    is_row = bool(indices) and indices[-1] in places and is_in_rows(source.type)
    if not is_row or any(value in places or inside(value, body) for value in indices[:-1]):
        return "the access does not run along memory"
    return None


def _overlap(ops: Sequence[Any]) -> str | None:
    """Return why the order of the rounds may matter; None if it does not."""
    stores = [op for op in ops if op.name == _STORE]
    for number, op in enumerate(ops):
        for store in stores if op.name in (_LOAD, _STORE) else ():
            memory, *indices = list(op.operands)[op.name == _STORE :]
            _, target, *target_indices = store.operands
            if op == store or not may_alias(buffer_of(memory), buffer_of(target)):
                continue
            if memory != target or indices != target_indices or number > ops.index(store):
                return "the written memory may be accessed in another iteration"
    return None
