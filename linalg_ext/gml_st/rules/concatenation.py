"""`linalg_ext.concatenate`: each input gives what of it the part meets, and that may be nothing.

A part that stands across two inputs takes the end of one and the beginning of the next; an element
is that of the input which holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from linalg_ext.bindings import arith, ir, scf
from linalg_ext.gml_st.rules.demands import demand, known_size
from linalg_ext.gml_st.rules.protocol import (
    PARALLEL,
    Domain,
    Rule,
    Take,
    TakeElement,
    require_unit_strides,
)
from linalg_ext.structured.destination_ops import Concatenate
from linalg_ext.structured.extension import SEGMENTS, segments
from linalg_ext.structured.sizes import met, size_of, sizes_of, value_of
from linalg_ext.symbolic.index_sets import Point, Tile
from linalg_ext.symbolic.integers import Number, is_eq, is_le


class ConcatenateRule(Rule):
    """The domain is the indices of the result."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._view = Concatenate.of(op)
        self.destinations = (len(self._view.inputs),)

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        view = self._view
        sizes = [
            known_size(size, *(size_of(each, dim) for each in view.inputs))
            if dim != view.dimension
            else known_size(size, self._length)
            for dim, size in enumerate(sizes_of(view.init))
        ]
        return Domain(tuple(sizes), (PARALLEL,) * len(sizes))

    @property
    def _lengths(self) -> list[Number]:
        return [size_of(each, self._view.dimension) for each in self._view.inputs]

    @property
    def _length(self) -> Number:
        return sum(self._lengths, start=0)

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        require_unit_strides(self.op, part)
        return (*met_parts(part, self._view.dimension, self._lengths), part)

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        require_unit_strides(self.op, part)
        parts = met_parts(part, self._view.dimension, self._lengths)
        self._demand_fit()
        along = self._view.dimension
        # An input that no such part meets is left out.
        inputs = {
            at: each for at, each in enumerate(parts) if is_eq(each.size(along), 0) is not True
        }
        if len(inputs) == 1:
            ((at, only),) = inputs.items()
            if is_eq(only.size(along), part.size(along)) is True:
                return [take(at, only)]
        values = [take(at, each) for at, each in (inputs or {0: parts[0]}).items()]
        init = take(len(parts), part)
        new = ir.Operation.create(
            self.op.name,
            results=[init.type],
            operands=[*values, init],
            attributes={**dict(self.op.attributes.items()), SEGMENTS: segments(len(values))},
        )
        return list(new.results)

    def build_element(self, point: Point, take: TakeElement) -> list[ir.Value] | None:
        """The op at one point, on scalars."""
        self._demand_fit()
        type_ = ir.ShapedType(self.op.results[0].type).element_type
        return [picked_element(point, self._view.dimension, self._lengths, take, type_)]

    def _demand_fit(self) -> None:
        view, sizes = self._view, self.domain.sizes
        pairs = [
            (size_of(each, dim), size)
            for each in (*view.inputs, view.init)
            for dim, size in enumerate(sizes)
            if dim != view.dimension
        ]
        along = sizes[view.dimension]
        pairs += [(self._length, along), (size_of(view.init, view.dimension), along)]
        demand(self.op, equal=pairs)


def met_parts(part: Tile, along: int, lengths: Sequence[Number]) -> list[Tile]:
    """Return the overlap of a part of concatenated tensors with each one; of size 0 if empty."""
    parts = []
    offset = part.offset(along)
    for length in lengths:
        begin, size = met(offset, part.size(along), length)
        parts.append(Tile(_with(part.offsets, along, begin), _with(part.sizes, along, size)))
        offset = offset - length
    return parts


def picked_element(
    point: Point, along: int, lengths: Sequence[Number], take: TakeElement, type_: ir.Type
) -> ir.Value:
    """An element of tensors one after another, taken of the one that holds it.

    It is asked of one after another, in regions of `scf.if`: no other is read.
    """

    def pick(at: int, index: Number) -> ir.Value:
        length = lengths[at]
        inside = is_le(index + 1, length)
        if at == len(lengths) - 1 or inside is True:
            return take(at, Point(tuple(_with(point.indices, along, index))))
        if inside is False:
            return pick(at + 1, index - length)
        holds = arith.CmpIOp(arith.CmpIPredicate.slt, value_of(index), value_of(length)).result
        chosen = scf.IfOp(holds, [type_], has_else=True)
        builders: list[Callable[[], ir.Value]] = [
            lambda: take(at, Point(tuple(_with(point.indices, along, index)))),
            lambda: pick(at + 1, index - length),
        ]
        for region, build in zip(chosen.operation.regions, builders, strict=True):
            with ir.InsertionPoint(region.blocks[0]):
                scf.YieldOp([build()])
        value: ir.Value = chosen.results[0]
        return value

    return pick(0, point.indices[along])


def _with(numbers: tuple[Number, ...], at: int, number: Number) -> list[Number]:
    return [*numbers[:at], number, *numbers[at + 1 :]]
