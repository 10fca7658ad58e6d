"""From nests to loops: what is shared, what is collapsed, what shrinks to a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from linalg_ext.bindings import arith, ir, memref, scf
from linalg_ext.transforms.analysis.buffers import buffer_of
from linalg_ext.transforms.codegen.base.blocked_sums import BLOCK, PartialSums, part_of
from linalg_ext.transforms.ir_utils.arithmetic import index

from ._block_copies import copy_row, is_block_copy
from ._bodies import Member
from ._bounds import size_of
from ._grouping import Group, partition
from ._joined_rows import joined_rows, with_one_row
from ._loop_coalescing import Collapser
from ._nontemporal_stores import fence
from ._vector_loop import VectorLoop
from .combiners import Combiner, combiner_of
from .loop_nests import Access, Nest, read_nest

ROWS_AT_ONCE = 8
"""The number of rows that are added to a row in registers before it is stored."""

_BLOCK, _BLOCK_OF_ROWS = BLOCK, 4 * BLOCK
"""Rounds of a loop around others that are added up in memory; and rows, of which some are added up
in registers first."""


class NestEmitter:
    """Replaces consecutive nests of a block by loops, in the place of the last."""

    def __init__(self, nests: Sequence[Nest], vector_bits: int) -> None:
        self._vector_bits = vector_bits
        self._nests = list(nests)
        self._block = nests[-1].op.block
        self._shrunk: dict[Any, Any] = {}
        """For an allocation, the smaller one that takes its place."""
        self._buffers: list[Any] = []
        """For the sums of blocks."""
        self.streams = False
        """True where the loops have non-temporal stores."""

    def emit(self) -> None:
        """Emit the loops and erase the nests."""
        last = self._nests[-1].op
        with last.location, ir.InsertionPoint(last):
            # What all loops need stands before this.
            self._anchor = index(0).owner.operation
            self._collapser = Collapser(self._anchor)
            self._emit(self._nests, 0, ())
            if self.streams:
                fence()
            for buffer in self._buffers:
                memref.dealloc(buffer)
        for nest in reversed(self._nests):
            nest.op.erase()
        self._clean_up()

    def _emit(self, nests: Sequence[Nest], depth: int, ivs: tuple[Any, ...]) -> None:
        for group in partition(nests, depth):
            group = self._collapsed(group, depth)
            if group.is_innermost:
                (nest, *others) = group.nests
                if not others and is_block_copy(nest, depth):
                    copy_row(nest, depth, ivs)
                else:
                    self._emit_vectors(group, depth, [ivs])
                continue
            joined = joined_rows(group.nests, depth, self._vector_bits, self._collapser)
            if joined is not None:
                joined.emit(ivs)
                continue
            if not group.nests[0].is_parallel[depth]:
                (nest,) = group.nests
                wider = with_one_row(nest, depth, self._collapser)
                group = group if wider is None else Group((wider,), is_innermost=False)
            members = self._with_rows(group.nests, depth)
            size = size_of(group.nests[0], depth)
            if not self._has_long_sums(group, depth):
                self._emit_all(members, depth, ivs, size)
                continue
            if group.nests[0].static_extent(depth) is not None:
                self._emit_blocks(members, depth, ivs, size)
                continue
            are_many = arith.cmpi(
                arith.CmpIPredicate.ugt, size, index(self._rounds_in_block(group.nests, depth))
            )
            branch: Any = scf.IfOp(are_many, has_else=True)
            for block, emit in (
                (branch.then_block, self._emit_blocks),
                (branch.else_block, self._emit_all),
            ):
                with ir.InsertionPoint(block):
                    emit(members, depth, ivs, size)
                    scf.YieldOp([])

    def _emit_all(self, nests: Sequence[Nest], depth: int, ivs: tuple[Any, ...], size: Any) -> None:
        """Emit all rounds of loop `depth`, one after another."""
        if not self._adds_rows(nests, depth):
            self._emit_loop(nests, depth, ivs, (index(0), size, 1))
            return
        few = nests[0].static_extent(depth)
        if few is not None and few <= ROWS_AT_ONCE:
            self._emit_rows(nests, depth, ivs, [index(row) for row in range(few)])
            return
        self._emit_range(nests, depth, ivs, index(0), size)

    def _emit_range(
        self, nests: Sequence[Nest], depth: int, ivs: tuple[Any, ...], low: Any, high: Any
    ) -> None:
        """Emit the rounds of loop `depth` from one to another."""
        if not self._adds_rows(nests, depth):
            self._emit_loop(nests, depth, ivs, (low, high, 1))
            return
        count = arith.subi(high, low)
        whole = arith.subi(high, arith.remui(count, index(ROWS_AT_ONCE)))
        self._emit_loop(nests, depth, ivs, (low, whole, ROWS_AT_ONCE))
        self._emit_loop(nests, depth, ivs, (whole, high, 1))

    def _has_long_sums(self, group: Group, depth: int) -> bool:
        """Return whether rounds of loop `depth` are added up, and may be many."""
        nest = group.nests[0]
        static = nest.static_extent(depth)
        is_long = static is None or static > self._rounds_in_block(group.nests, depth)
        return is_long and not nest.is_parallel[depth] and bool(_sums_of(nest))

    def _rounds_in_block(self, nests: Sequence[Nest], depth: int) -> int:
        """Return how many rounds of loop `depth` are added up before a block ends."""
        return _BLOCK_OF_ROWS if self._adds_rows(nests, depth) else _BLOCK

    def _emit_blocks(
        self, nests: Sequence[Nest], depth: int, ivs: tuple[Any, ...], size: Any
    ) -> None:
        """Emit loop `depth` in blocks, whose sums are added with compensation."""
        (nest,) = nests
        sums = {at: self._partial_sums(nest, at, depth, ivs) for at in _sums_of(nest)}
        dims_below = {
            at: tuple(dim for dim in nest.operands[at].dims if dim is not None and dim > depth)
            for at in sums
        }
        parts = {
            at: Access(sum_.parts, dims_below[at], buffer_of(sum_.parts))
            for at, sum_ in sums.items()
        }
        block = index(self._rounds_in_block(nests, depth))
        outer = scf.ForOp(index(0), size, block)
        with ir.InsertionPoint(outer.body):
            low = outer.induction_variable
            high = arith.minui(arith.addi(low, block), size)
            for sum_ in sums.values():
                self._emit_op(sum_.begin())
            changed = nest.with_accesses(parts, nest.is_parallel)
            self._emit_range([changed], depth, ivs, low, high)
            for sum_ in sums.values():
                self._emit_op(sum_.add())
            scf.YieldOp([])
        for sum_ in sums.values():
            # Not before the loop that reads it: memory that no other op uses is not written.
            with ir.InsertionPoint(outer):
                self._emit_op(sum_.forget())

    def _partial_sums(self, nest: Nest, at: int, depth: int, ivs: tuple[Any, ...]) -> PartialSums:
        """Buffers for what the loops below `depth` write to an output."""
        access = nest.operands[at]
        type_, places = access.memref.type, (*ivs, None)
        below = [axis for axis, dim in enumerate(access.dims) if dim is not None and dim > depth]
        with ir.InsertionPoint(self._anchor):
            sizes = [
                memref.dim(access.memref, index(axis))
                for axis in below
                if type_.is_dynamic_dim(axis)
            ]
            part = ir.MemRefType.get(
                [type_.shape[axis] for axis in below], type_.element_type, None, type_.memory_space
            )
            parts, errors = (memref.alloc(part, sizes, [], alignment=64) for _ in range(2))
        self._buffers += [parts, errors]
        offsets = {
            axis: index(0) if dim is None else places[dim]
            for axis, dim in enumerate(access.dims)
            if axis not in below
        }
        return PartialSums(part_of(access.memref, offsets), parts, errors)

    def _emit_op(self, op: Any) -> None:
        """Emit a structured op that was just made, where it is one for vectors."""
        nest = read_nest(op)
        if isinstance(nest, Nest) and not nest.is_crossed:
            NestEmitter([nest], self._vector_bits).emit()

    def _emit_loop(
        self,
        nests: Sequence[Nest],
        depth: int,
        ivs: tuple[Any, ...],
        bounds: tuple[Any, Any, int],
    ) -> None:
        low, high, step = bounds
        loop = scf.ForOp(low, high, index(step))
        with ir.InsertionPoint(loop.body):
            at = loop.induction_variable
            if step == 1:
                self._emit(nests, depth + 1, (*ivs, at))
            else:
                rows = [at, *(arith.addi(at, index(row)) for row in range(1, step))]
                self._emit_rows(nests, depth, ivs, rows)
            scf.YieldOp([])

    def _emit_rows(
        self, nests: Sequence[Nest], depth: int, ivs: tuple[Any, ...], rows: Sequence[Any]
    ) -> None:
        """Several rounds of loop `depth` in one."""
        group = Group(tuple(nests), is_innermost=True)
        self._emit_vectors(group, depth + 1, [(*ivs, row) for row in rows], _sums_of(nests[0]))

    def _emit_vectors(
        self,
        group: Group,
        depth: int,
        positions: Sequence[tuple[Any, ...]],
        added: Mapping[int, Combiner] = MappingProxyType({}),
    ) -> None:
        members = [Member(nest, ivs) for ivs in positions for nest in group.nests]
        loop = VectorLoop(
            members,
            depth,
            unused=self._unused(group, depth),
            vector_bits=self._vector_bits,
            added=added,
        )
        loop.emit()
        self.streams |= loop.streams

    def _adds_rows(self, nests: Sequence[Nest], depth: int) -> bool:
        """Return whether each round adds a row to the same row.

        Several rows in one round then save loads and stores of it.
        """
        (nest, *others) = nests
        if others or nest.rank != depth + 2 or nest.is_parallel[depth]:
            return False
        return (
            nest.is_parallel[depth + 1]
            and not nest.has_functions
            and all(depth not in access.dims for access in nest.writes)
        )

    def _collapsed(self, group: Group, depth: int) -> Group:
        """The group with as many loops as one as can be, as long as it stays together."""
        while not group.is_innermost:
            nests = self._collapser.collapsed(group.nests, depth)
            if nests is None:
                break
            groups = partition(nests, depth)
            if len(groups) > 1:
                break
            (group,) = groups
        return group

    def _with_rows(self, nests: Sequence[Nest], depth: int) -> list[Nest]:
        """The nests with each buffer that only they use cut down to what one round needs."""
        changed = list(nests)
        for memory, accesses in _by_memref(nests).items():
            axis = _sliced_axis(accesses, depth)
            if axis is None or not self._is_private(accesses[0], nests):
                continue
            small = self._shrink(memory, axis, accesses[0].buffer.value)
            for number, nest in enumerate(changed):
                changed[number] = nest.with_accesses(
                    {
                        at: _slice(access, small, axis)
                        for at, access in enumerate(nest.operands)
                        if isinstance(access, Access) and access.memref == memory
                    },
                    nest.is_parallel,
                )
        return changed

    def _unused(self, group: Group, depth: int) -> frozenset[Any]:
        """Memory whose elements never leave the registers of one round."""
        found: set[Any] = set()
        for memory, accesses in _by_memref(group.nests).items():
            written_first = next(
                memory not in [each.memref for each in nest.reads]
                for nest in group.nests
                if any(each.memref == memory for each in nest.accesses)
            )
            aligned = all(a.key == accesses[0].key and depth in a.dims for a in accesses)
            if written_first and aligned and self._is_private(accesses[0], group.nests):
                found.add(memory)
                self._shrunk.setdefault(accesses[0].buffer.value, accesses[0].buffer.value)
        return frozenset(found)

    def _is_private(self, access: Access, nests: Sequence[Nest]) -> bool:
        """Return whether only these nests use the memory behind an access."""
        memory = access.buffer.value
        if access.buffer.kind != "allocation" or memory.owner.operation.name != "memref.alloc":
            return False
        if memory.owner.operation.block != self._block:
            return False
        allowed = [*(nest.op for nest in nests), *self._collapser.views]
        return all(
            use.owner.operation in allowed or use.owner.operation.name == "memref.dealloc"
            for use in memory.uses
        ) and not any(
            access.buffer.value == other.buffer.value and access.memref != other.memref
            for nest in nests
            for other in nest.accesses
        )

    def _shrink(self, memory: Any, axis: int, allocation: Any) -> Any:
        """A buffer as `memory` with one element along `axis`."""
        type_ = memory.type
        shape = list(type_.shape)
        shape[axis] = 1
        with ir.InsertionPoint(self._anchor):
            sizes = [
                memref.dim(memory, index(each))
                for each in range(type_.rank)
                if each != axis and type_.is_dynamic_dim(each)
            ]
            small_type = ir.MemRefType.get(shape, type_.element_type, None, type_.memory_space)
            self._shrunk[allocation] = memref.alloc(small_type, sizes, [], alignment=64)
        return self._shrunk[allocation]

    def _clean_up(self) -> None:
        """Free the smaller buffers where the larger ones were freed; erase what has no uses."""
        for view in reversed(self._collapser.views):
            _erase_unused(view)
        for allocation, small in self._shrunk.items():
            releases = [
                use.owner.operation
                for use in allocation.uses
                if use.owner.operation.name == "memref.dealloc"
            ]
            if all(use.owner.operation in releases for use in allocation.uses):
                self._release(allocation, small, releases)

    def _release(self, allocation: Any, small: Any, releases: Sequence[Any]) -> None:
        is_used = small != allocation and any(True for _ in small.uses)
        for release in releases:
            if is_used:
                with release.location, ir.InsertionPoint(release):
                    memref.dealloc(small)
            release.erase()
        _erase_unused(allocation.owner.operation)
        if small != allocation:
            _erase_unused(small.owner.operation)


def _sums_of(nest: Nest) -> dict[int, Combiner]:
    """The operands of a nest that floats are added to, each by itself."""
    outputs = list(nest.body.arguments)[nest.inputs :]
    yielded = nest.body.operations[len(nest.body.operations) - 1].operation.operands
    found = {}
    for at, pair in enumerate(zip(outputs, yielded, strict=True), start=nest.inputs):
        combine, access = combiner_of(*pair), nest.operands[at]
        if combine is not None and combine.adds_floats(access.memref.type.element_type):
            found[at] = combine
    return found


def _by_memref(nests: Sequence[Nest]) -> dict[Any, list[Access]]:
    found: dict[Any, list[Access]] = {}
    for nest in nests:
        for access in nest.accesses:
            found.setdefault(access.memref, []).append(access)
    return found


def _sliced_axis(accesses: Sequence[Access], dim: int) -> int | None:
    """The axis that loop `dim` indexes in all accesses of a memref."""
    axes = {access.dims.index(dim) if dim in access.dims else None for access in accesses}
    return axes.pop() if len(axes) == 1 else None


def _slice(access: Access, small: Any, axis: int) -> Access:
    dims = (*access.dims[:axis], None, *access.dims[axis + 1 :])
    return Access(small, dims, access.buffer)


def _erase_unused(op: Any) -> None:
    if not any(True for result in op.results for _ in result.uses):
        op.erase()
