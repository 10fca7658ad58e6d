"""The innermost loop of a group of nests, over vectors.

    for j = 0 to n - n mod W step W:  whole vectors of W = unroll x lanes elements
    for j up to n - n mod lanes step lanes:  whole vectors of `lanes` elements
    for the rest:  a vector of `lanes` elements under a mask, or the last of the row once more

LLVM splits a vector of W elements into as many registers, whose operations do not wait for each
other. Nothing is read or written outside of an operand: masked lanes touch no memory. Results that
the last-level cache cannot hold are written past the caches; the whole vectors then begin where the
result is aligned, and a masked vector stands before them: a store to a line that is not in a cache
reads the line first, a non-temporal store of whole lines does not. Source: U. Drepper, What Every
Programmer Should Know About Memory, 2007, section 6.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from linalg_ext.bindings import arith, ir, memref
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted, either
from linalg_ext.transforms.analysis.buffers import may_alias
from linalg_ext.transforms.codegen.base.blocked_sums import BLOCK
from linalg_ext.transforms.codegen.base.choices import choices
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.ir_utils.arithmetic import as_row, constant

from ._vector_rows import (
    Key,
    Member,
    Pass,
    computed,
    first_lanes,
    in_blocks,
    is_same,
    is_truth,
    load_across,
    load_row,
    of_body,
    row_type,
    size_of,
    store_row,
    whole_steps,
)
from .loop_nests import BITS_WITH_MASKS, Access, Nest, lies_across, widest_bits
from .reductions import Combiner, FirstBest, Reduction, Sums

_UNROLL, _UNROLL_FUNCTIONS = 4, 2
"""Registers for each value; elementary functions, and indices, need more of them for themselves."""


class VectorLoop:
    """Emits the loop at the current insertion point.

    Args:
        members: nests that share loop `depth`, their last; those with fewer loops are done once,
            before it. One nest may stand here several times, at several positions.
        vector_bits: of a register.
        unused: memory that is read only from a register of the same round.
        most_lanes: of a vector, where inputs lie across; then all members are one nest, at
            positions that are neighbours along these inputs.
        added: outputs that all members, one nest at several positions, add to: the values are
            added up before they are added to the old elements.
    """

    def __init__(
        self,
        members: Sequence[Member],
        depth: int,
        *,
        vector_bits: int,
        unused: frozenset[Any] = frozenset(),
        most_lanes: int | None = None,
        added: Mapping[int, Combiner] = MappingProxyType({}),
    ) -> None:
        self._vector_bits = vector_bits
        self._most_lanes = most_lanes
        self._added = added
        self._members = members
        self._depth = depth
        self._unused = unused
        self._loops = [member.nest for member in members if member.nest.rank > depth]
        self._scalars: dict[tuple[int, int], Any] = {}
        self._lanes = 1
        self.streams = False
        """True where the loop has non-temporal stores."""

    def emit(self) -> None:
        for number, member in enumerate(self._members):
            self._before(number, member)
        if not self._loops:
            return
        static = self._loops[0].static_extent(self._depth)
        lanes, unroll = self._shape(static)
        self._lanes = lanes
        size = size_of(self._loops[0], self._depth)
        start = self._first_aligned(size, lanes)
        self.streams = start is not None
        carried: list[Any] | None = None
        low, high = 0, size if static is None else static
        if start is not None:
            carried = self._loop(0, start, lanes, masked=start, carried=None)
            low, high = start, size
        for step in dict.fromkeys([lanes * unroll, lanes]):
            whole = whole_steps(low, high, step)
            if static is None and step > lanes and any(self._reductions()):
                carried = self._wide(size, whole, step, lanes)
            elif not is_same(whole, low):
                carried = self._loop(low, whole, step, masked=None, carried=carried)
            low = whole
        if not is_same(low, high):
            carried = self._rest(index(low), size, lanes, carried, static)
        # An empty row has no loop.
        self._after(self._start(1) if carried is None else carried)

    def _shape(self, static: int | None) -> tuple[int, int]:
        """Return the lanes of a register, and the number of registers in a round."""
        lanes = max(1, self._vector_bits // widest_bits(self._loops))
        functions = any(nest.has_functions for nest in self._loops)
        looks_up = any(nest.loads for nest in self._loops)
        unroll = _UNROLL_FUNCTIONS if functions or looks_up else _UNROLL
        if any(is_truth(access.memref.type) for nest in self._loops for access in nest.accesses):
            unroll = max(1, min(unroll, self._vector_bits // 8 // lanes))
        if self._most_lanes is not None:
            return self._most_lanes, 1
        if static is None:
            return lanes, unroll
        lanes = min(lanes, 1 << max(0, static - 1).bit_length())
        while unroll > 1 and static < lanes * unroll:
            unroll //= 2
        return lanes, unroll

    def _first_aligned(self, size: Any, lanes: int) -> Any | None:
        """Return the first aligned position of the non-temporal stores; None without any."""
        if any(not nest.is_parallel[self._depth] for nest in self._loops):
            return None
        for member in self._members:
            for access in member.nest.writes:
                if self._is_streamed(access, lanes):
                    where = access.indices((*member.ivs, index(0)))
                    return _elements_before_aligned(access.memref, where, size, self._vector_bits)
        return None

    def _is_streamed(self, access: Access, lanes: int) -> bool:
        """Return whether an access has the loop's non-temporal stores; only one may have them."""
        if self._most_lanes is not None and not _rows_are_aligned_alike(access, lanes):
            return False
        if not self._is_row(access) or not _is_beyond_caches(access, lanes, self._vector_bits):
            return False
        if any(read.memref == access.memref for nest in self._loops for read in nest.reads):
            return False
        return {write.memref for nest in self._loops for write in nest.writes} == {access.memref}

    def _before(self, number: int, member: Member) -> None:
        """Load the values that are invariant in the loop; emit the nests that have no loop."""
        nest = member.nest
        values: list[Any] = []
        for at, operand in enumerate(nest.operands):
            if not isinstance(operand, Access):
                values.append(operand)
            elif not self._is_loaded_before(nest, at, operand):
                values.append(None)
            else:
                values.append(memref.load(operand.memref, operand.indices((*member.ivs, None))))
                self._scalars[number, at] = values[-1]
        if nest.rank > self._depth:
            return
        results = computed(member, self._depth, values, None)
        for access, value in zip(nest.writes, results, strict=True):
            memref.store(value, access.memref, access.indices((*member.ivs, None)))

    def _is_row(self, access: Access) -> bool:
        return self._depth in access.dims

    def _is_loaded_before(self, nest: Nest, at: int, access: Access) -> bool:
        """Return whether the element of an operand is loaded once, before the loop."""
        if not nest.is_read[at] or self._is_row(access):
            return False
        # Sums are added to the old elements after the loop.
        is_sum = nest.rank > self._depth and isinstance(nest.reduction, Sums)
        return at < nest.inputs or not is_sum

    def _reductions(self) -> Iterator[tuple[int, Member, Reduction]]:
        for number, member in enumerate(self._members):
            if member.nest.rank > self._depth and member.nest.reduction is not None:
                yield number, member, member.nest.reduction

    def _start(self, lanes: int) -> list[Any]:
        values: list[Any] = []
        for number, member, reduction in self._reductions():
            nest = member.nest
            places = range(nest.inputs, len(nest.operands))
            is_sum = isinstance(reduction, Sums)
            old = [] if is_sum else [self._scalars[number, at] for at in places]
            types = [access.memref.type.element_type for access in nest.writes]
            values += reduction.start(types, old, lanes)
        return values

    def _narrowed(self, carried: Sequence[Any], lanes: int) -> list[Any]:
        """Return the partial reductions with `lanes` elements to a vector."""
        rest, values = list(carried), []
        for _, member, reduction in self._reductions():
            count = len(member.nest.writes)
            values += reduction.narrowed(rest[:count], lanes)
            rest = rest[count:]
        return values

    def _loop(
        self, low: Any, high: Any, lanes: int, *, masked: Any | None, carried: list[Any] | None
    ) -> list[Any]:
        """Emit one loop; return the partial reductions, vectors of `lanes` elements at most.

        Args:
            low, high: where it begins and ends: a number if known.
            masked: where the row ends for this loop, if its vectors may reach beyond.
        """
        is_first = carried is None
        carried = self._start(lanes) if carried is None else self._narrowed(carried, lanes)
        is_known = isinstance(low, int) and isinstance(high, int)
        is_short = is_known and high - low <= BLOCK * lanes
        if is_first and not is_short and any(self._are_long_sums()):
            return self._blocks(low, high, lanes, carried)
        return self._rounds(index(low), index(high), lanes, masked, carried)

    def _are_long_sums(self) -> list[bool]:
        """Return for each vector of the reductions whether it adds up floats."""
        return [
            isinstance(reduction, Sums)
            and reduction.combiners[at].adds_floats(access.memref.type.element_type)
            for _, member, reduction in self._reductions()
            for at, access in enumerate(member.nest.writes)
        ]

    def _blocks(self, low: Any, high: Any, lanes: int, carried: list[Any]) -> list[Any]:
        """Return a loop in blocks, whose sums are added with compensation, in one register each."""
        are_sums = self._are_long_sums()
        first = self._narrowed(carried, self._lanes)
        starts = [first[at] if is_sum else carried[at] for at, is_sum in enumerate(are_sums)]

        def block(begin: Any, end: Any, totals: list[Any]) -> list[Any]:
            before = [carried[at] if is_sum else totals[at] for at, is_sum in enumerate(are_sums)]
            values = self._rounds(begin, end, lanes, None, before)
            parts = self._narrowed(values, self._lanes)
            return [parts[at] if is_sum else values[at] for at, is_sum in enumerate(are_sums)]

        step = BLOCK * lanes
        is_even = isinstance(low, int) and isinstance(high, int) and (high - low) % step == 0
        sums = [at for at, is_sum in enumerate(are_sums) if is_sum]
        return in_blocks((low, high, step), starts, sums, block, is_even=is_even)

    def _rounds(
        self, low: Any, high: Any, lanes: int, masked: Any | None, carried: list[Any]
    ) -> list[Any]:
        """Emit `_loop` with rounds one after another."""

        def step(at: Any, before: list[Any]) -> list[Any]:
            mask = None if masked is None else first_lanes(lanes, arith.subi(masked, at))
            return self._round(Pass(lanes, at, mask, self.streams and mask is None), before)

        return counted(low, high, carried, step, lanes)

    def _wide(self, size: Any, whole: Any, wide: int, lanes: int) -> list[Any]:
        """Return the loop over wide vectors where there is one; as `_loop`, of `lanes` elements."""
        start = self._start(lanes)

        def blocks() -> list[Any]:
            totals = self._loop(0, whole, wide, masked=None, carried=None)
            return self._narrowed(totals, lanes)

        def one_block() -> list[Any]:
            totals = self._rounds(index(0), whole, wide, None, self._start(wide))
            return self._narrowed(totals, lanes)

        def rounds() -> list[Any]:
            if not any(self._are_long_sums()):
                return one_block()
            # A row of one block has no totals to add with compensation.
            are_many = arith.cmpi(arith.CmpIPredicate.ugt, whole, index(BLOCK * wide))
            return either(are_many, blocks, one_block, start)

        is_long = arith.cmpi(arith.CmpIPredicate.uge, size, index(wide))
        return either(is_long, rounds, lambda: start, start)

    def _rest(
        self, at: Any, size: Any, lanes: int, carried: list[Any] | None, static: int | None
    ) -> list[Any]:
        """Return the elements beyond the last whole vector; as `_loop`.

        They are one vector under a mask, or the last elements of the row once more, as a whole
        vector: moving those under a mask costs some machines much more.
        """
        before = self._start(lanes) if carried is None else self._narrowed(carried, lanes)
        # Before the branches, where a loop over rows need not make them for each row.
        masked = Pass(lanes, at, first_lanes(lanes, arith.subi(size, at)), False)
        may_repeat = self._may_repeat(lanes, static)
        if static is not None and not (may_repeat and static >= lanes):
            return self._round(masked, before)
        start = arith.subi(size, index(lanes))
        repeated_lanes = first_lanes(lanes, arith.subi(at, start))
        last = Pass(
            lanes,
            start,
            None,
            False,
            fresh=arith.xori(repeated_lanes, constant(repeated_lanes.type, 1)),
        )
        if static is not None:
            return self._round(last, before)

        def left() -> list[Any]:
            if not may_repeat:
                return self._round(masked, before)
            is_long = arith.cmpi(arith.CmpIPredicate.uge, size, index(lanes))
            whole, part = (lambda: self._round(last, before), lambda: self._round(masked, before))
            return either(is_long, whole, part, before)

        is_left = arith.cmpi(arith.CmpIPredicate.ult, at, size)
        return either(is_left, left, lambda: before, before)

    def _may_repeat(self, lanes: int, static: int | None) -> bool:
        """Return whether elements may be computed and stored twice, and this is worth it."""
        if self._has_masks or self.streams or self._most_lanes is not None or lanes == 1:
            return False
        if static is None and any(nest.has_functions for nest in self._loops):
            return False  # a short row needs the mask, and both would be much code
        rows = [[access for access in nest.writes if self._is_row(access)] for nest in self._loops]
        written = [access for writes in rows for access in writes]
        before: set[Any] = set()
        for nest, writes in zip(self._loops, rows, strict=True):
            for access in nest.reads:
                is_old = self._is_row(access) and access.key not in before
                if is_old and any(may_alias(access.buffer, write.buffer) for write in written):
                    return False  # a round before has put its result there
            before.update(access.key for access in writes)
        return True

    @property
    def _has_masks(self) -> bool:
        return self._vector_bits >= BITS_WITH_MASKS

    def _round(self, pass_: Pass, carried: list[Any]) -> list[Any]:
        yielded: list[Any] = []
        new_lanes = pass_.mask if pass_.fresh is None else pass_.fresh
        for number, member in enumerate(self._members):
            nest = member.nest
            if nest.rank <= self._depth:
                continue
            reduces = nest.reduction is not None
            old = carried[len(yielded) : len(yielded) + len(nest.writes)] if reduces else []
            values = [
                self._operand(number, at, operand, pass_, old)
                for at, operand in enumerate(nest.operands)
            ]
            results = self._results(member, values, pass_, old)
            if not reduces:
                for access, value in zip(nest.writes, results, strict=True):
                    self._keep(member, access, value, pass_)
                continue
            yielded += [
                value if new_lanes is None else arith.select(new_lanes, value, before)
                for before, value in zip(old, results, strict=True)
            ]
        past_caches = self._vector_bits // 8 if pass_.streams else None
        for at, combine in self._added.items():
            access = self._members[0].nest.operands[at]
            key = self._key(self._members[0], access)
            value, where = pass_.stores[key]
            old = load_row(access.memref, where, pass_.lanes, pass_.mask)
            pass_.stores[key] = combine(old, value), where
        for (target, _), (value, where) in pass_.stores.items():
            store_row(value, target, where, pass_.mask, past_caches, has_masks=self._has_masks)
        return yielded

    def _results(
        self, member: Member, values: Sequence[Any], pass_: Pass, old: Sequence[Any]
    ) -> list[Any]:
        reduction = member.nest.reduction
        if not isinstance(reduction, FirstBest):
            return computed(member, self._depth, values, pass_)
        (new,) = of_body(member, self._depth, values, pass_, [reduction.choice.new])
        registers = max(1, pass_.lanes // self._lanes)
        return reduction.chosen(as_row(new, pass_.lanes), pass_.at, old, registers)

    def _operand(
        self, number: int, at: int, operand: Any, pass_: Pass, old: Sequence[Any]
    ) -> Any | None:
        member = self._members[number]
        if not isinstance(operand, Access):
            return operand
        if old and at >= member.nest.inputs:
            is_chosen = isinstance(member.nest.reduction, FirstBest)
            return None if is_chosen else old[at - member.nest.inputs]
        if not member.nest.is_read[at]:
            return None
        if number == 0 and at in self._added:
            element = operand.memref.type.element_type
            return self._added[at].neutral(row_type(pass_.lanes, element))
        if not self._is_row(operand):
            return self._scalars[number, at]
        key = self._key(member, operand)
        if key not in pass_.rows and lies_across(operand, self._depth):
            self._load_across(operand, pass_)
        if key not in pass_.rows:
            where = operand.indices((*member.ivs, pass_.at))
            pass_.rows[key] = load_row(operand.memref, where, pass_.lanes, pass_.mask)
        return pass_.rows[key]

    def _load_across(self, access: Access, pass_: Pass) -> None:
        """Load the rows of all members, of an input whose neighbours are the members."""
        rows = load_across(access.memref, self._places_across(access, pass_), len(self._members))
        for member, row in zip(self._members, rows, strict=True):
            pass_.rows[self._key(member, access)] = row

    def _places_across(self, access: Access, pass_: Pass) -> Iterator[list[Any]]:
        """Yield, for each lane, the indices at which the elements of the members are contiguous."""
        last: Any = None
        if pass_.mask is not None:
            # A lane beyond the row reads its last element once more.
            last = arith.subi(size_of(self._loops[0], self._depth), index(1))
        for lane in range(pass_.lanes):
            at = arith.addi(pass_.at, index(lane))
            at = at if last is None else arith.minui(at, last)
            yield access.indices((*self._members[0].ivs, at))

    def _keep(self, member: Member, access: Access, value: Any, pass_: Pass) -> None:
        """Register a result: later members read it, and the round ends with its store."""
        key = self._key(member, access)
        pass_.rows[key] = as_row(value, pass_.lanes)
        if access.memref not in self._unused:
            where = access.indices((*member.ivs, pass_.at))
            pass_.stores[key] = pass_.rows[key], where

    def _key(self, member: Member, access: Access) -> Key:
        places = (*member.ivs, None)
        return access.memref, tuple(None if dim is None else places[dim] for dim in access.dims)

    def _after(self, carried: Sequence[Any]) -> None:
        """Combine the reductions with the old elements of the outputs."""
        rest = list(carried)
        for _, member, reduction in self._reductions():
            accesses = member.nest.writes
            places = [access.indices((*member.ivs, None)) for access in accesses]
            old = [memref.load(a.memref, at) for a, at in zip(accesses, places, strict=True)]
            new = reduction.finish(old, rest[: len(accesses)], member.ivs)
            for access, where, value in zip(accesses, places, new, strict=True):
                memref.store(value, access.memref, where)
            rest = rest[len(accesses) :]


_SEQUENTIALLY_CONSISTENT = 7


def _is_beyond_caches(access: Access, lanes: int, vector_bits: int) -> bool:
    """Return whether results get non-temporal stores.

    By default they do where they are larger than L3. Each store must fill a register.
    """
    type_ = access.memref.type
    if access.buffer.kind == "allocation" or not type_.has_static_shape:
        return False
    strides, _ = type_.get_strides_and_offset()
    if any(type_.is_dynamic_stride_or_offset(stride) for stride in strides):
        return False
    # The other slices of the whole buffer are written at about the same time.
    whole = access.buffer.value.type if access.buffer.value.type.has_static_shape else type_
    element = type_.element_type.width // 8
    if lanes * element * 8 != vector_bits:
        return False
    streams = choices().streams
    if streams is not None:
        return streams
    return bool(math.prod(whole.shape) * element > this_machine().l3_bytes)


def _rows_are_aligned_alike(access: Access, lanes: int) -> bool:
    """Return whether all rows of a memref with static strides have the same vector alignment."""
    strides, _ = access.memref.type.get_strides_and_offset()
    return all(stride % lanes == 0 for stride in strides[:-1])


def _elements_before_aligned(target: Any, where: Sequence[Any], size: Any, vector_bits: int) -> Any:
    """Return the number of elements from the position `where` to an address aligned to a vector.

    It is at most `size`, and `size` where the elements are not aligned to their own size.
    """
    type_ = target.type
    bytes_ = type_.element_type.width // 8
    strides, offset = type_.get_strides_and_offset()
    address: Any = memref.extract_aligned_pointer_as_index(target)
    is_open = type_.is_dynamic_stride_or_offset(offset)
    linear: Any = memref.ExtractStridedMetadataOp(target).offset if is_open else index(offset)
    for position, stride in zip(where, strides, strict=True):
        linear = arith.addi(linear, arith.muli(position, index(stride)))
    address = arith.addi(address, arith.muli(linear, index(bytes_)))
    vector_bytes = index(vector_bits // 8)
    beyond = arith.remui(address, vector_bytes)
    missing = arith.remui(arith.subi(vector_bytes, beyond), vector_bytes)
    head = arith.divui(missing, index(bytes_))
    odd = arith.remui(address, index(bytes_))
    is_odd = arith.cmpi(arith.CmpIPredicate.ne, odd, index(0))
    return arith.minui(arith.select(is_odd, size, head), size)


def fence() -> None:
    """Have all stores so far done before any that follows; those past the caches lack an order."""
    ordering = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _SEQUENTIALLY_CONSISTENT)
    ir.Operation.create("llvm.fence", attributes={"ordering": ordering})
