"""Groups of nests that share loops: chains and reductions over the same rows in one pass.

Two nests may share loop `depth` where no iteration of the one depends on other iterations of the
other. They must touch the same slices of any memory that both touch, and one of them writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.analysis.buffers import are_apart, may_alias

from ._block_copies import is_block_copy
from ._loop_coalescing import is_collapsible
from .loop_nests import Access, Nest


@dataclass(frozen=True)
class Group:
    """Consecutive nests that share loop `depth`.

    Attributes:
        nests: in their order.
        is_innermost: whether the loop is one over vectors; the nests have no loop below it, and
            some may have none at all.
    """

    nests: tuple[Nest, ...]
    is_innermost: bool


def partition(nests: Sequence[Nest], depth: int) -> list[Group]:
    """Nests that share all loops above `depth`, in groups that share that one too."""
    groups: list[Group] = []
    rest = list(nests)
    while rest:
        group = _outer_group(rest, depth) or _inner_group(rest, depth)
        groups.append(group)
        rest = rest[len(group.nests) :]
    return groups


def _outer_group(nests: Sequence[Nest], depth: int) -> Group | None:
    """The longest run from the first nest on around which a loop over scalars can stand."""
    run = [nests[0]]
    if _has_outer_loop(nests[0], depth):
        for nest in nests[1:]:
            if not _has_outer_loop(nest, depth):
                break
            if not all(_may_share_outer(earlier, nest, depth) for earlier in run):
                break
            run.append(nest)
    while len(run) > 1 and run[-1].rank == depth + 1:
        run.pop()  # what follows the last row is better off in a loop of its own
    if not any(nest.rank > depth + 1 for nest in run):
        return None
    return Group(tuple(run), is_innermost=False)


def _inner_group(nests: Sequence[Nest], depth: int) -> Group:
    run = [nests[0]]
    for nest in nests[1:]:
        if nest.rank > depth + 1 or not all(_may_share_inner(each, nest, depth) for each in run):
            break
        run.append(nest)
    while len(run) > 1 and run[-1].rank <= depth and any(each.rank > depth for each in run):
        run.pop()
    return Group(tuple(run), is_innermost=True)


def _has_outer_loop(nest: Nest, depth: int) -> bool:
    if nest.rank <= depth or not nest.is_parallel[depth]:
        return False
    # A nest whose last loop this is computes one element a round, and without vectors.
    return nest.rank > depth + 1 or not nest.has_functions


def _may_share_outer(earlier: Nest, later: Nest, depth: int) -> bool:
    if not same_extent(earlier, later, depth):
        return False
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
    return is_apart and is_block_copy(nest, nest.rank - 1)


def _may_share_inner(earlier: Nest, later: Nest, depth: int) -> bool:
    """Return whether one vector loop may run both nests.

    The loop must keep their order before it, in each iteration, and after it.
    """
    if earlier.rank <= depth:
        return True  # done before all that follows
    once, each_round, _ = phases(later, depth)
    _, earlier_rounds, earlier_after = phases(earlier, depth)
    if later.rank > depth and not same_extent(earlier, later, depth):
        return False
    moved = [*_conflicts(earlier_rounds, once), *_conflicts(earlier_after, once)]
    moved += _conflicts(earlier_after, each_round)
    if moved:
        return False
    return all(mine.key == other.key for mine, other in _conflicts(earlier_rounds, each_round))


_Touched = tuple[list[Access], list[Access]]


def phases(nest: Nest, depth: int) -> tuple[_Touched, _Touched, _Touched]:
    """Return the reads and writes of a nest before, in each step of, and after loop `depth`."""
    if nest.rank <= depth:
        return _touched(nest), ([], []), ([], [])
    in_rounds = [*(each for each in nest.reads if depth in each.dims), *nest.loads]
    written = [each for each in nest.writes if depth in each.dims]
    results = [each for each in nest.writes if depth not in each.dims]
    begins_with_old = nest.reduction is not None and nest.reduction.begins_with_old
    keys = set() if begins_with_old else {each.key for each in results}
    before = [each for each in nest.reads if depth not in each.dims and each.key not in keys]
    return (before, []), (in_rounds, written), (results, results)


def _touched(nest: Nest) -> _Touched:
    """All that a nest reads and writes."""
    return [*nest.reads, *nest.loads], nest.writes


def _conflicts(earlier: _Touched, later: _Touched) -> list[tuple[Access, Access]]:
    """Pairs of accesses of what may be one memory, one of which writes it."""
    (reads, writes), (later_reads, later_writes) = earlier, later
    pairs = [(a, b) for a in writes for b in (*later_reads, *later_writes)]
    pairs += [(a, b) for a in reads for b in later_writes]
    return [(a, b) for a, b in pairs if may_alias(a.buffer, b.buffer)]


def same_extent(one: Nest, other: Nest, dim: int) -> bool:
    """Return whether a loop is known to have the same trip count in both nests."""
    static = one.static_extent(dim), other.static_extent(dim)
    if None not in static:
        return static[0] == static[1]
    sizes = {_size(*each) for each in one.extents(dim)}
    return not sizes.isdisjoint(_size(*each) for each in other.extents(dim))


def _size(memref: Any, axis: int) -> Any:
    """A name for the length of an axis: equal names, equal lengths."""
    type_ = memref.type
    if not type_.is_dynamic_dim(axis):
        return type_.get_dim_size(axis)
    owner = memref.owner
    if not isinstance(owner, ir.Block) and owner.operation.name in (
        "memref.alloc",
        "memref.alloca",
    ):
        before = sum(type_.is_dynamic_dim(each) for each in range(axis))
        size = owner.operation.operands[before]
        source = size.owner
        if isinstance(source, ir.Block) or source.operation.name != "memref.dim":
            return size
        index = source.operation.operands[1].owner
        if not isinstance(index, ir.Block) and index.operation.name == "arith.constant":
            at = ir.IntegerAttr(index.operation.attributes["value"]).value
            return _size(source.operation.operands[0], at)
        return size
    return memref, axis
