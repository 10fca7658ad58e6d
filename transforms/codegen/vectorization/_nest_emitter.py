"""The emission of nests as loops that are shared and collapsed, with buffers cut to a row.

Two nests may share loop `depth` where no iteration of the one depends on other iterations of the
other. They must touch the same slices of any memory that both touch, and one of them writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from linalg_ext.bindings import arith, ir, memref, scf
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted, either
from linalg_ext.transforms.analysis.buffers import (
    Aliases,
    Buffer,
    Kind,
    are_apart,
    buffer_of,
    may_alias,
)
from linalg_ext.transforms.codegen.base.blocked_sums import (
    BLOCK,
    PartialSums,
    buffers_like,
    subview_at,
)
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.ir_utils.arithmetic import known_index
from linalg_ext.transforms.ir_utils.walking import is_unused, ops_of, producer

from ._joined_rows import joined_rows, with_one_row
from ._vector_loop import VectorLoop, fence
from ._vector_rows import Member, size_of
from .loop_nests import Access, Collapser, Nest, erase_unused, is_collapsible, read_nest
from .reductions import Combiner, FirstBest, combiner_of

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
        last = self._nests[-1].op
        with last.location, ir.InsertionPoint(last):
            # Views and buffers of all loops stand before this op.
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
        for group in _partition(nests, depth):
            group = self._collapsed(group, depth)
            if group.is_innermost:
                (nest, *siblings) = group.nests
                if not siblings and _is_block_copy(nest, depth):
                    _copy_row(nest, ivs)
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
                group = group if wider is None else _Group((wider,), is_innermost=False)
            members = self._with_rows(group.nests, depth)
            size = size_of(group.nests[0], depth)
            if not self._has_long_sums(group, depth):
                self._emit_all(members, depth, ivs, size)
                continue
            if group.nests[0].static_extent(depth) is not None:
                self._emit_blocks(members, depth, ivs, size)
            else:
                self._emit_by_size(members, depth, ivs, size)

    def _emit_by_size(
        self, nests: Sequence[Nest], depth: int, ivs: tuple[Any, ...], size: Any
    ) -> None:
        """Emit blocks where there are many rounds of loop `depth`, else all one after another."""

        def emitted(emit: Callable[..., None]) -> list[Any]:
            emit(nests, depth, ivs, size)
            return []

        most = index(self._rounds_in_block(nests, depth))
        are_many = arith.cmpi(arith.CmpIPredicate.ugt, size, most)
        either(are_many, lambda: emitted(self._emit_blocks), lambda: emitted(self._emit_all), [])

    def _emit_all(self, nests: Sequence[Nest], depth: int, ivs: tuple[Any, ...], size: Any) -> None:
        few = nests[0].static_extent(depth)
        if self._adds_rows(nests, depth) and few is not None and few <= ROWS_AT_ONCE:
            self._emit_rows(nests, depth, ivs, [index(row) for row in range(few)])
            return
        self._emit_range(nests, depth, ivs, index(0), size)

    def _emit_range(
        self, nests: Sequence[Nest], depth: int, ivs: tuple[Any, ...], low: Any, high: Any
    ) -> None:
        if not self._adds_rows(nests, depth):
            self._emit_loop(nests, depth, ivs, low, high)
            return
        count = arith.subi(high, low)
        whole = arith.subi(high, arith.remui(count, index(ROWS_AT_ONCE)))
        self._emit_loop(nests, depth, ivs, low, whole, ROWS_AT_ONCE)
        self._emit_loop(nests, depth, ivs, whole, high)

    def _has_long_sums(self, group: _Group, depth: int) -> bool:
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
        parts = {
            at: Access(
                sum_.parts,
                tuple(dim for dim in nest.operands[at].dims if dim is not None and dim > depth),
                buffer_of(sum_.parts),
            )
            for at, sum_ in sums.items()
        }
        block = index(self._rounds_in_block(nests, depth))
        outer = scf.ForOp(index(0), size, block)
        with ir.InsertionPoint(outer.body):
            low = outer.induction_variable
            high = arith.minui(arith.addi(low, block), size)
            for sum_ in sums.values():
                self._emit_op(sum_.clear_parts())
            self._emit_range([nest.with_accesses(parts)], depth, ivs, low, high)
            for sum_ in sums.values():
                self._emit_op(sum_.add_parts())
            scf.YieldOp([])
        for sum_ in sums.values():
            # Not before the loop that reads it: memory that no other op uses is not written.
            with ir.InsertionPoint(outer):
                self._emit_op(sum_.clear_errors())

    def _partial_sums(self, nest: Nest, at: int, depth: int, ivs: tuple[Any, ...]) -> PartialSums:
        """Return buffers for the elements of an output that the loops below `depth` write."""
        access = nest.operands[at]
        below = [axis for axis, dim in enumerate(access.dims) if dim is not None and dim > depth]
        with ir.InsertionPoint(self._anchor):
            parts, errors = buffers_like(access.memref, below)
        self._buffers += [parts, errors]
        offsets = {
            axis: index(0) if dim is None else ivs[dim]
            for axis, dim in enumerate(access.dims)
            if axis not in below
        }
        return PartialSums(subview_at(access.memref, offsets), parts, errors)

    def _emit_op(self, op: Any) -> None:
        """Emit a structured op that was just built, if it can be a nest."""
        nest = read_nest(op)
        if isinstance(nest, Nest) and not nest.is_crossed:
            NestEmitter([nest], self._vector_bits).emit()

    def _emit_loop(
        self,
        nests: Sequence[Nest],
        depth: int,
        ivs: tuple[Any, ...],
        low: Any,
        high: Any,
        step: int = 1,
    ) -> None:
        def body(at: Any, _: list[Any]) -> list[Any]:
            if step == 1:
                self._emit(nests, depth + 1, (*ivs, at))
            else:
                rows = [at, *(arith.addi(at, index(row)) for row in range(1, step))]
                self._emit_rows(nests, depth, ivs, rows)
            return []

        counted(low, high, [], body, step)

    def _emit_rows(
        self, nests: Sequence[Nest], depth: int, ivs: tuple[Any, ...], rows: Sequence[Any]
    ) -> None:
        group = _Group(tuple(nests), is_innermost=True)
        self._emit_vectors(group, depth + 1, [(*ivs, row) for row in rows], _sums_of(nests[0]))

    def _emit_vectors(
        self,
        group: _Group,
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
        (nest, *siblings) = nests
        if siblings or nest.rank != depth + 2 or nest.is_parallel[depth]:
            return False
        return (
            nest.is_parallel[depth + 1]
            and not nest.has_functions
            and all(depth not in access.dims for access in nest.writes)
        )

    def _collapsed(self, group: _Group, depth: int) -> _Group:
        """Return the group with as many loops as one as can be, as long as it stays together."""
        while not group.is_innermost:
            nests = self._collapser.collapsed(group.nests, depth)
            if nests is None:
                break
            groups = _partition(nests, depth)
            if len(groups) > 1:
                break
            (group,) = groups
        return group

    def _with_rows(self, nests: Sequence[Nest], depth: int) -> list[Nest]:
        """Return the nests with their private buffers cut down to the slice of one round."""
        changed = list(nests)
        touched = _Memory(nests)
        for memory, accesses in touched.accesses.items():
            axis = _sliced_axis(accesses, depth)
            if axis is None or not self._is_private(accesses[0], touched):
                continue
            small = self._shrink(memory, axis, accesses[0].buffer.value)
            for number, nest in enumerate(changed):
                slices = {
                    at: replace(
                        access,
                        memref=small,
                        dims=(*access.dims[:axis], None, *access.dims[axis + 1 :]),
                    )
                    for at, access in enumerate(nest.operands)
                    if isinstance(access, Access) and access.memref == memory
                }
                changed[number] = nest.with_accesses(slices)
        return changed

    def _unused(self, group: _Group, depth: int) -> frozenset[Any]:
        """Return the memory whose elements never leave the registers of one round."""
        unused: set[Any] = set()
        touched = _Memory(group.nests)
        for memory, accesses in touched.accesses.items():
            written_first = memory not in touched.read_first
            aligned = all(a.key == accesses[0].key and depth in a.dims for a in accesses)
            if written_first and aligned and self._is_private(accesses[0], touched):
                unused.add(memory)
                self._shrunk.setdefault(accesses[0].buffer.value, accesses[0].buffer.value)
        return frozenset(unused)

    def _is_private(self, access: Access, touched: _Memory) -> bool:
        """Return whether only the nests that touch this memory use that behind an access."""
        memory = access.buffer.value
        if access.buffer.kind != "allocation" or memory.owner.operation.name != "memref.alloc":
            return False
        if memory.owner.operation.block != self._block or touched.views[memory] != {access.memref}:
            return False
        users = (use.owner.operation for use in memory.uses)
        return all(
            user in touched.nests or user.name == "memref.dealloc" or user in self._collapser.views
            for user in users
        )

    def _shrink(self, memory: Any, axis: int, allocation: Any) -> Any:
        """Return a buffer as `memory` with one element along `axis`."""
        type_ = memory.type
        shape = list(type_.shape)
        shape[axis] = 1
        with ir.InsertionPoint(self._anchor):
            sizes = [
                memref.dim(memory, index(dim))
                for dim in range(type_.rank)
                if dim != axis and type_.is_dynamic_dim(dim)
            ]
            small_type = ir.MemRefType.get(shape, type_.element_type, None, type_.memory_space)
            self._shrunk[allocation] = memref.alloc(small_type, sizes, [], alignment=64)
        return self._shrunk[allocation]

    def _clean_up(self) -> None:
        """Free the smaller buffers where the larger ones were freed; erase unused ops."""
        self._collapser.erase_unused_views()
        for allocation, small in self._shrunk.items():
            releases = [
                use.owner.operation
                for use in allocation.uses
                if use.owner.operation.name == "memref.dealloc"
            ]
            if all(use.owner.operation in releases for use in allocation.uses):
                self._release(allocation, small, releases)

    def _release(self, allocation: Any, small: Any, releases: Sequence[Any]) -> None:
        is_used = small != allocation and not is_unused(small)
        for release in releases:
            if is_used:
                with release.location, ir.InsertionPoint(release):
                    memref.dealloc(small)
            release.erase()
        erase_unused(allocation.owner.operation)
        if small != allocation:
            erase_unused(small.owner.operation)


def _sums_of(nest: Nest) -> dict[int, Combiner]:
    """Return the combiners of the operands of a nest that floats are added to, by number."""
    outputs = list(nest.body.arguments)[nest.inputs :]
    pairs = zip(outputs, nest.yielded, strict=True)
    combiners = {at: combiner_of(*pair) for at, pair in enumerate(pairs, start=nest.inputs)}
    return {
        at: combine
        for at, combine in combiners.items()
        if combine is not None and combine.adds_floats(nest.operands[at].memref.type.element_type)
    }


class _Memory:
    """The memory that nests touch.

    Attributes:
        nests: their ops.
        accesses: by memref.
        views: the memrefs, by the buffers that they are views of.
        read_first: the memrefs that the first nest to touch them reads.
    """

    def __init__(self, nests: Sequence[Nest]) -> None:
        self.nests = {nest.op for nest in nests}
        self.accesses: dict[Any, list[Access]] = {}
        self.views: dict[Any, set[Any]] = {}
        self.read_first: set[Any] = set()
        for nest in nests:
            reads = [access.memref for access in nest.reads]
            self.read_first.update(memory for memory in reads if memory not in self.accesses)
            for access in nest.accesses:
                self.accesses.setdefault(access.memref, []).append(access)
                self.views.setdefault(access.buffer.value, set()).add(access.memref)


def _sliced_axis(accesses: Sequence[Access], dim: int) -> int | None:
    """Return the axis that loop `dim` indexes in all accesses of a memref."""
    axes = {access.dims.index(dim) if dim in access.dims else None for access in accesses}
    return axes.pop() if len(axes) == 1 else None


@dataclass(frozen=True)
class _Group:
    """Consecutive nests that share loop `depth`.

    Attributes:
        nests: in their order.
        is_innermost: whether the loop is one over vectors; the nests have no loop below it, and
            some may have none at all.
    """

    nests: tuple[Nest, ...]
    is_innermost: bool


def _partition(nests: Sequence[Nest], depth: int) -> list[_Group]:
    """Divide nests that share all loops above `depth` into groups that share that one too."""
    groups: list[_Group] = []
    rest = list(nests)
    while rest:
        group = _outer_group(rest, depth) or _inner_group(rest, depth)
        groups.append(group)
        rest = rest[len(group.nests) :]
    return groups


def _outer_group(nests: Sequence[Nest], depth: int) -> _Group | None:
    """Return the longest run from the first nest on around which a loop over scalars can stand."""
    run = _Run(nests[0], depth)
    if _has_outer_loop(nests[0], depth):
        for nest in nests[1:]:
            if not _has_outer_loop(nest, depth) or not run.has_size_of(nest):
                break
            if not all(_may_share_outer(earlier, nest, depth) for earlier in run.related(nest)):
                break
            run.add(nest)
    members = run.nests
    while len(members) > 1 and members[-1].rank == depth + 1:
        members.pop()  # a nest after the last row is quicker in a loop of its own
    if not any(nest.rank > depth + 1 for nest in members):
        return None
    return _Group(tuple(members), is_innermost=False)


def _inner_group(nests: Sequence[Nest], depth: int) -> _Group:
    run = _Run(nests[0], depth)
    for nest in nests[1:]:
        if nest.rank > depth + 1 or (nest.rank > depth and not run.has_size_of(nest)):
            break
        if not all(_may_share_inner(earlier, nest, depth) for earlier in run.related(nest)):
            break
        run.add(nest)
    members = run.nests
    while len(members) > 1 and members[-1].rank <= depth and any(n.rank > depth for n in members):
        members.pop()
    return _Group(tuple(members), is_innermost=True)


class _Run:
    """Consecutive nests of one loop, in their order, by the memory that they touch."""

    def __init__(self, first: Nest, depth: int) -> None:
        self.nests: list[Nest] = []
        self._depth = depth
        self._sizes: set[_Extent] = set()
        self._readers, self._writers = _ByBuffer(), _ByBuffer()
        self.add(first)

    def add(self, nest: Nest) -> None:
        """Append a nest."""
        self.nests.append(nest)
        if nest.rank > self._depth:
            self._sizes.add(_extent(nest, self._depth))
        reads, writes = _touched(nest)
        self._readers.add(nest, reads)
        self._writers.add(nest, writes)

    def has_size_of(self, nest: Nest) -> bool:
        """Return whether the loop is known to have the trip count of another nest's."""
        extent = _extent(nest, self._depth)
        return all(_are_same(extent, own) for own in self._sizes)

    def related(self, nest: Nest) -> list[Nest]:
        """Return the nests that may touch memory of another one, which one of the two writes."""
        reads, writes = _touched(nest)
        related = [*self._writers.of([*reads, *writes]), *self._readers.of(writes)]
        return list(dict.fromkeys(related))


class _ByBuffer:
    """Nests by buffers: one that no other of a kind aliases is found without a look at them."""

    def __init__(self) -> None:
        self._aliases = Aliases()
        self._nests: dict[Kind, dict[Buffer, list[Nest]]] = {}

    def add(self, nest: Nest, accesses: Sequence[Access]) -> None:
        for buffer in {access.buffer for access in accesses}:
            self._nests.setdefault(buffer.kind, {}).setdefault(buffer, []).append(nest)

    def of(self, accesses: Sequence[Access]) -> Iterator[Nest]:
        """Yield the nests whose buffers may alias with one of these."""
        for buffer in {access.buffer for access in accesses}:
            for kind, by_buffer in self._nests.items():
                if not self._aliases.may_alias_others(buffer, kind):
                    yield from by_buffer.get(buffer, ())
                    continue
                for other, nests in by_buffer.items():
                    if self._aliases.may_alias(buffer, other):
                        yield from nests


def _has_outer_loop(nest: Nest, depth: int) -> bool:
    if nest.rank <= depth or not nest.is_parallel[depth]:
        return False
    # A nest whose last loop this is computes one element a round, and without vectors.
    return nest.rank > depth + 1 or not nest.has_functions


def _may_share_outer(earlier: Nest, later: Nest, depth: int) -> bool:
    are_copies = _copies_parts(earlier, depth) and _copies_parts(later, depth)
    return all(
        mine.is_same_at(other, depth) or (are_copies and are_apart(mine.memref, other.memref))
        for mine, other in _conflicts(_touched(earlier), _touched(later))
    )


def _copies_parts(nest: Nest, depth: int) -> bool:
    """Return whether a nest copies long rows that are not contiguous along loop `depth`.

    Other copies fill the gaps. With the rows of all copied in turn, memory is written from its
    beginning to its end.
    """
    is_apart = nest.rank > depth + 1 and not is_collapsible(nest.writes[0], depth)
    return is_apart and _is_block_copy(nest, nest.rank - 1)


def _may_share_inner(earlier: Nest, later: Nest, depth: int) -> bool:
    """Return whether one vector loop may run both nests.

    The loop must keep their order before it, in each iteration, and after it.
    """
    if earlier.rank <= depth:
        return True  # done before all that follows
    once, each_round, _ = _phases(later, depth)
    _, earlier_rounds, earlier_after = _phases(earlier, depth)
    moved = [*_conflicts(earlier_rounds, once), *_conflicts(earlier_after, once)]
    moved += _conflicts(earlier_after, each_round)
    if moved:
        return False
    return all(mine.key == other.key for mine, other in _conflicts(earlier_rounds, each_round))


_Touched = tuple[list[Access], list[Access]]


def _phases(nest: Nest, depth: int) -> tuple[_Touched, _Touched, _Touched]:
    """Return the reads and writes of a nest before, in each step of, and after loop `depth`."""
    if nest.rank <= depth:
        return _touched(nest), ([], []), ([], [])
    in_rounds = [*(access for access in nest.reads if depth in access.dims), *nest.loads]
    written = [access for access in nest.writes if depth in access.dims]
    results = [access for access in nest.writes if depth not in access.dims]
    keys = set() if isinstance(nest.reduction, FirstBest) else {access.key for access in results}
    before = [
        access for access in nest.reads if depth not in access.dims and access.key not in keys
    ]
    return (before, []), (in_rounds, written), (results, results)


def _touched(nest: Nest) -> _Touched:
    return [*nest.reads, *nest.loads], nest.writes


def _conflicts(earlier: _Touched, later: _Touched) -> list[tuple[Access, Access]]:
    """Return pairs of accesses that may be to one memory, one of which writes it."""
    (reads, writes), (later_reads, later_writes) = earlier, later
    pairs = [(a, b) for a in writes for b in (*later_reads, *later_writes)]
    pairs += [(a, b) for a in reads for b in later_writes]
    return [(a, b) for a, b in pairs if may_alias(a.buffer, b.buffer)]


_Extent = tuple[int | None, frozenset[Any]]


def _extent(nest: Nest, dim: int) -> _Extent:
    """Return the trip count of a loop where a type tells it, and names for it."""
    sizes = frozenset(_size(*extent) for extent in nest.extents(dim))
    return nest.static_extent(dim), sizes


def _are_same(extent: _Extent, other: _Extent) -> bool:
    """Return whether two trip counts are known to be equal."""
    (count, sizes), (other_count, other_sizes) = extent, other
    if count is not None and other_count is not None:
        return count == other_count
    return not sizes.isdisjoint(other_sizes)


def _size(memory: Any, axis: int) -> Any:
    """Return a name for the length of an axis: equal names, equal lengths."""
    type_ = memory.type
    if not type_.is_dynamic_dim(axis):
        return type_.get_dim_size(axis)
    op = producer(memory)
    if op is None or op.name not in ("memref.alloc", "memref.alloca"):
        return memory, axis
    size = op.operands[sum(map(type_.is_dynamic_dim, range(axis)))]
    dim = producer(size)
    of_axis = None if dim is None or dim.name != "memref.dim" else known_index(dim.operands[1])
    return size if of_axis is None else _size(dim.operands[0], of_axis)


_SHORTEST_ROW = 1 << 10
"""Bytes of a row for which a call is worth it."""


def _is_block_copy(nest: Nest, depth: int) -> bool:
    """Return whether a nest only copies long rows, along loop `depth`, of a memref beyond L2."""
    if nest.rank != depth + 1 or nest.inputs != 1 or not all(nest.is_parallel):
        return False
    source, *targets = nest.operands
    (written,) = targets if len(targets) == 1 else (None,)
    if not isinstance(source, Access) or not isinstance(written, Access):
        return False
    (end,) = ops_of(nest.body)[-1:]
    if end.operands[0] != nest.body.arguments[0] or source.buffer == written.buffer:
        return False
    if any(depth not in access.dims for access in (source, written)):
        return False
    size, type_ = nest.static_extent(depth), written.memref.type
    if size is None or not type_.has_static_shape or str(type_.element_type) == "i1":
        return False
    row = size * type_.element_type.width // 8
    whole = row * math.prod(nest.static_extent(dim) or 0 for dim in range(depth))
    return bool(row >= _SHORTEST_ROW and whole >= this_machine().l2_bytes)


def _copy_row(nest: Nest, ivs: Sequence[Any]) -> None:
    """Emit the copy of one row, inside of loops at `ivs`.

    The C library knows of each processor how a block is moved best: on many, without reading first
    the lines that it overwrites, which loads and stores of vectors do.
    """
    rows = (
        subview_at(access.memref, dict(enumerate(access.indices((*ivs, None))[:-1])))
        for access in nest.operands
    )
    memref.copy(*rows)
