"""Nests with an operand that lies across the rows of the result, such as a transpose.

Of such an operand not the elements along the innermost loop are neighbours in memory, but those
along another one. A square of both loops is loaded as it lies, and transposed in registers:

    for i in blocks of R rows:
        for j in vectors of L elements:
            L vectors of R elements, from [j, i], ..., [j + L - 1, i]
            transposed: R vectors of L elements, for the rows i, ..., i + R - 1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, scf
from linalg_ext.transforms.ir_utils.arithmetic import index

from ._bodies import Member
from ._bounds import size_of
from ._loop_coalescing import Collapser
from ._nontemporal_stores import fence
from ._vector_loop import VectorLoop
from .loop_nests import Access, Nest, widest_bits

MOST_LANES = 16
"""The most lanes of a vector; bytes have room for more, and their squares would be long code."""


def emit_crossed(nest: Nest, vector_bits: int) -> None:
    """Replace a nest by loops over squares."""
    with nest.op.location, ir.InsertionPoint(nest.op):
        anchor = index(0).owner.operation
        collapser = Collapser(anchor)
        whole = _collapsed(nest, collapser)
        _Emitter(whole, vector_bits).emit()
    nest.op.erase()
    for view in reversed(collapser.views):
        if not any(True for result in view.results for _ in result.uses):
            view.erase()


def _collapsed(nest: Nest, collapser: Collapser) -> Nest:
    """The nest with as many loops as one as can be."""
    dim = 0
    while dim + 1 < nest.rank:
        made = collapser.collapsed([nest], dim)
        if made is None:
            dim += 1
        else:
            (nest,) = made
    return nest


class _Emitter:
    """Emits the loops of one nest at the current insertion point."""

    def __init__(self, nest: Nest, vector_bits: int) -> None:
        self._nest = nest
        self._bits = vector_bits
        self._inner = nest.rank - 1
        self._streams = False
        crossed = (each for each in nest.reads if is_crossed(each, self._inner))
        self._across: int = next(dim for each in crossed if (dim := each.dims[-1]) is not None)
        lanes = min(MOST_LANES, vector_bits // widest_bits([nest]))
        extent = nest.static_extent(self._inner)
        self._lanes = lanes if extent is None else min(lanes, _power_below(max(1, extent)))

    def emit(self) -> None:
        """Emit the loops that are neither of a square's first."""
        others = [dim for dim in range(self._inner) if dim != self._across]
        self._outer(others, {})
        if self._streams:
            fence()

    def _outer(self, dims: Sequence[int], ivs: dict[int, Any]) -> None:
        if not dims:
            self._squares(ivs)
            return
        loop = scf.ForOp(index(0), size_of(self._nest, dims[0]), index(1))
        with ir.InsertionPoint(loop.body):
            self._outer(dims[1:], {**ivs, dims[0]: loop.induction_variable})
            scf.YieldOp([])

    def _squares(self, ivs: dict[int, Any]) -> None:
        extent = self._nest.static_extent(self._across)
        outputs = self._nest.is_read[self._nest.inputs :]
        if extent is not None and extent > 0 and not any(outputs):
            # The last rows once more rather than fewer at a time: nothing reads what is written.
            rows = min(self._lanes, _power_below(extent))
            self._blocks(index(0), index(extent - extent % rows), rows, ivs)
            if extent % rows:
                self._blocks(index(extent - rows), index(extent), rows, ivs)
            return
        size = size_of(self._nest, self._across)
        whole = arith.subi(size, arith.remui(size, index(self._lanes)))
        self._blocks(index(0), whole, self._lanes, ivs)
        self._blocks(whole, size, 1, ivs)

    def _blocks(self, low: Any, high: Any, rows: int, ivs: dict[int, Any]) -> None:
        loop = scf.ForOp(low, high, index(rows))
        with ir.InsertionPoint(loop.body):
            first = loop.induction_variable
            places = [first, *(arith.addi(first, index(row)) for row in range(1, rows))]
            members = [Member(self._nest, self._ivs(ivs, place)) for place in places]
            inner = VectorLoop(
                members,
                self._inner,
                unused=frozenset(),
                vector_bits=self._bits,
                most_lanes=self._lanes,
            )
            inner.emit()
            self._streams |= inner.streams
            scf.YieldOp([])

    def _ivs(self, ivs: dict[int, Any], place: Any) -> tuple[Any, ...]:
        known = {**ivs, self._across: place}
        return tuple(known[dim] for dim in range(self._inner))


def is_crossed(access: Access, inner: int) -> bool:
    """Return whether an access moves along the innermost loop, but not to adjacent elements."""
    return inner in access.dims and access.dims[-1] != inner


def _power_below(number: int) -> int:
    """The largest power of two that is no larger."""
    return 1 << (number.bit_length() - 1)
