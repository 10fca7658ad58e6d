"""The loops of an op, their ranges and kinds, as steps read them before they change the op."""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.affine import AffineDim
from linalg_ext.structured.maps import indexing_maps

_OF_BODIES = frozenset({"linalg.index", "linalg.yield"})
_BY_RESULT = frozenset({"tensor.pad"})
_BY_SOURCE = frozenset({"linalg.pack"})
_BY_DESTINATION = frozenset({"linalg.softmax", "linalg.unpack"})
DYNAMIC = -1


@dataclass(frozen=True)
class Loops:
    """The iteration space of an op.

    Attributes:
        ranges: the trip counts; `DYNAMIC` where one is known only at run time.
        reductions: the loops that are reductions, by number.
    """

    ranges: tuple[int, ...]
    reductions: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of loops."""
        return len(self.ranges)

    def __str__(self) -> str:
        kinds = ["reduction" if d in self.reductions else "parallel" for d in range(self.count)]
        sizes = ["?" if size == DYNAMIC else str(size) for size in self.ranges]
        return ", ".join(f"{d}: {k} {s}" for d, (k, s) in enumerate(zip(kinds, sizes, strict=True)))


def has_loops(op: ir.Operation) -> bool:
    """Return whether `loops_of` has an answer."""
    if op.name in _BY_RESULT | _BY_SOURCE | _BY_DESTINATION:
        return True
    return has_maps(op)


def has_maps(op: ir.Operation) -> bool:
    """Return whether an op of linalg says how its operands are indexed."""
    if not op.name.startswith("linalg.") or op.name in _OF_BODIES:
        return False
    return bool(linalg.get_indexing_maps(op))


def loops_of(op: ir.Operation) -> Loops:
    """The iteration space of an op that `has_loops`."""
    if op.name in _BY_RESULT:
        return _of_shape(op.results[0])
    if op.name in _BY_SOURCE:
        return _of_shape(op.operands[0])
    if op.name in _BY_DESTINATION:
        return _of_shape(op.operands[1], reductions=softmax_dims(op))
    maps = indexing_maps(op)
    ranges = dict.fromkeys(maps[0].dims, DYNAMIC)
    for map_, value in zip(maps, op.operands, strict=False):
        if not isinstance(value.type, ir.ShapedType):
            continue
        for axis, index in enumerate(map_.results):
            if isinstance(index, AffineDim) and not value.type.is_dynamic_dim(axis):
                ranges[index.name] = value.type.get_dim_size(axis)
    return Loops(tuple(ranges.values()), _reductions(op, len(ranges)))


def softmax_dims(op: ir.Operation) -> tuple[int, ...]:
    """The dimension that a softmax divides its rows by the sums of; none of any other op."""
    if op.name != "linalg.softmax":
        return ()
    return (ir.IntegerAttr(op.attributes["dimension"]).value,)


def on_tensors(op: ir.Operation) -> bool:
    """Return whether an op makes new tensors; else it writes to buffers."""
    return len(op.results) > 0


def _reductions(op: ir.Operation, count: int) -> tuple[int, ...]:
    if "iterator_types" in op.attributes:
        kinds = [str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]
        return tuple(d for d, kind in enumerate(kinds) if "reduction" in kind)
    maps = indexing_maps(op)
    written = {dim for index in maps[-1].results for dim in index.dims}
    return tuple(d for d in range(count) if maps[-1].dims[d] not in written)


def _of_shape(value: ir.Value, reductions: tuple[int, ...] = ()) -> Loops:
    type_ = ir.ShapedType(value.type)
    sizes = [
        DYNAMIC if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    ]
    return Loops(tuple(sizes), reductions)
