"""Footprints: the data that a part of the loops touches, by the maps.

The 2020 document of linalg asks two questions of every structured op ("Reversible Mappings Between
Control and Data Structures"). Given a subset of the iteration space, which data does it read and
write? Given a subset of data, which iterations read or write it? This module answers the first. The
second is `linalg_ext.symbolic.index_sets.preimage` of the map of an operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.structured.invariants import is_buffer
from linalg_ext.structured.maps import has_payload
from linalg_ext.structured.operands import ops_inside
from linalg_ext.symbolic.affine import AffineDim, AffineMap
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number, Symbol
from linalg_ext.utils.hooks import facade


@dataclass(frozen=True)
class OperandFootprint:
    """The part of one operand that a part of the loops touches.

    Attributes:
        name: `"input 0"`, `"init 0"`, ...
        shape: the sizes of the operand.
        map: from the loops to the index that they touch.
        tile: a tile that holds every index that is touched; of rank 0 for a scalar.
        is_exact: whether all of the tile is known to be touched.
        is_read, is_written: whether it is read, and written.
    """

    name: str
    shape: tuple[Number, ...]
    map: AffineMap
    tile: Tile
    is_exact: bool
    is_read: bool
    is_written: bool


@dataclass(frozen=True)
class Captured:
    """A buffer that the payload reaches from outside, for which no map has the touched elements."""

    value: ir.Value
    is_read: bool
    is_written: bool


@dataclass(frozen=True, repr=False)
class Footprint:
    """The data that a part of the loops of an op reads and writes.

    Attributes:
        op_name: the op.
        loops: the sizes of all its loops.
        iterations: the part of them that was asked for.
        operands: a footprint for each operand, in the order of the op.
        captured: buffers that the payload uses from outside; any part of them may be touched.
    """

    op_name: str
    loops: tuple[Number, ...]
    iterations: Tile
    operands: tuple[OperandFootprint, ...]
    captured: tuple[Captured, ...]

    def __repr__(self) -> str:
        rows = [("iterations", _tile_text(self.iterations), f"of {_sizes_text(self.loops)}")]
        for operand in self.operands:
            is_used = (("reads", operand.is_read), ("writes", operand.is_written))
            words = [word for word, happens in is_used if happens] or ["does not use it"]
            size = "" if operand.is_exact else " some of it"
            note = f"of {_sizes_text(operand.shape)}, {' and '.join(words)}{size}"
            rows.append((operand.name, _tile_text(operand.tile), note))
        for outside in self.captured:
            rows.append(("captured", str(outside.value.type), "any part of it"))
        widths = [max(len(row[column]) for row in rows) for column in range(2)]
        lines = [f"  {a.ljust(widths[0])}  {b.ljust(widths[1])}  {c}" for a, b, c in rows]
        return "\n".join([self.op_name, *lines])

    def _repr_svg_(self) -> str:
        """For notebooks: the loops and each operand as a box, with the touched part shaded."""
        return str(facade("views").footprint_svg(self))


def sizes_as_numbers(sizes: Sequence[int | None]) -> tuple[Number, ...]:
    """The sizes of loops, a symbol n0, n1, ... for each that is not known."""
    return tuple(
        Symbol(f"n{dim}", lower=0).number if size is None else size
        for dim, size in enumerate(sizes)
    )


def shape_under(
    map: AffineMap, sizes: Sequence[int | None], loops: Sequence[Number]
) -> tuple[Number, ...]:
    """The sizes of an operand: its own where they are known, else as the loops have it."""
    of_dim = {AffineDim(name): size for name, size in zip(map.dims, loops, strict=True)}
    shape: list[Number] = []
    for axis, (index, size) in enumerate(zip(map.results, sizes, strict=True)):
        if size is not None:
            shape.append(size)
        elif isinstance(index, AffineDim):
            shape.append(of_dim[index])
        else:
            shape.append(Symbol(f"s{axis} of {map}", lower=0, name="?").number)
    return tuple(shape)


def captured_buffers(op: ir.Operation) -> tuple[Captured, ...]:
    """The buffers that the payload uses and the op has not for operands, in the order of use."""
    if not has_payload(op):
        return ()
    effects: dict[ir.Value, tuple[bool, bool]] = {}
    for inner in ops_inside(op):
        reads, writes = _EFFECTS.get(inner.name, (True, True))
        for value in inner.operands:
            if is_buffer(value.type):
                was_read, was_written = effects.get(value, (False, False))
                effects[value] = (was_read or reads, was_written or writes)
    return tuple(Captured(value, *effect) for value, effect in effects.items())


_EFFECTS = {
    "memref.load": (True, False),
    "memref.store": (False, True),
    "memref.dim": (False, False),
}
"""Effects of an op on its buffer: it reads it, it writes to it. An unknown op has both."""


def _tile_text(tile: Tile) -> str:
    """`[2:10:2, 0:8]`, as Python slices it."""
    return f"[{', '.join(_slice(tile, dim) for dim in range(tile.rank))}]"


def _slice(tile: Tile, dim: int) -> str:
    first, size, stride = tile.offset(dim), tile.size(dim), tile.stride(dim)
    if stride == 1:
        return f"{first}:{first + size}"
    if isinstance(first, int) and isinstance(size, int) and isinstance(stride, int):
        end = first if size == 0 else first + (size - 1) * stride + 1
        return f"{first}:{end}:{stride}"
    return f"{first}, {size} by {stride}"


def _sizes_text(sizes: Sequence[Number]) -> str:
    return "x".join(map(str, sizes)) or "one element"
