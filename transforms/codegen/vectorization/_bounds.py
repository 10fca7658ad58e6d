"""Bounds and masks of loops over vectors, and branches that yield values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, memref, scf, vector
from linalg_ext.transforms.ir_utils.arithmetic import index

from ._rows import row_type
from .loop_nests import Nest


def either(
    condition: Any,
    given: Sequence[Any],
    then: Callable[[], list[Any]],
    otherwise: Callable[[], list[Any]],
) -> list[Any]:
    """Emit a branch with two sides; return its results, of the types of the given values."""
    branch: Any = scf.IfOp(condition, [value.type for value in given], has_else=True)
    for block, way in ((branch.then_block, then), (branch.else_block, otherwise)):
        with ir.InsertionPoint(block):
            scf.YieldOp(way())
    return list(branch.results)


def first_lanes(lanes: int, count: Any) -> Any:
    """The first `count` lanes."""
    return vector.create_mask(row_type(lanes, ir.IntegerType.get_signless(1)), [count])


def whole_steps(low: Any, high: Any, step: int) -> Any:
    """Return the end of the last whole step from `low`: `low` where none is known to fit."""
    if isinstance(low, int) and isinstance(high, int):
        return high - (high - low) % step if high - low >= step else low
    rest = high if isinstance(low, int) and low == 0 else arith.subi(high, index(low))
    return arith.subi(high, arith.remui(rest, index(step)))


def is_same(one: Any, other: Any) -> bool:
    """Return whether two positions are known to be equal: as numbers, or as one SSA value."""
    return type(one) is type(other) and bool(one == other)


def size_of(nest: Nest, dim: int) -> Any:
    """The length of a loop, as a value."""
    static = nest.static_extent(dim)
    if static is not None:
        return index(static)
    source, axis = next(nest.extents(dim))
    return memref.dim(source, index(axis))
