"""`tensor.concat` and `linalg_ext.concatenate`: each operand gives its intersection with the part.

A part that stands across two operands takes the end of one and the beginning of the next, and
nothing of the others. An element is that of the operand which holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from linalg_ext.bindings import arith, ir, scf, tensor
from linalg_ext.dialects.gml_st.rules.protocol import (
    Pair,
    Rule,
    Take,
    TakeElement,
    known_size,
    require_unit_strides,
)
from linalg_ext.structured.destination_ops import Concatenate
from linalg_ext.structured.extension import SEGMENTS, segments
from linalg_ext.structured.sizes import overlap, size_of, sizes_of, tensor_type, value_of
from linalg_ext.symbolic.index_sets import Point, Tile
from linalg_ext.symbolic.integers import Number, is_eq, is_le


class _JoiningRule(Rule):
    """Tensors one after another along a dimension."""

    def __init__(self, op: ir.Operation, inputs: Sequence[ir.Value], along: int) -> None:
        super().__init__(op)
        self._inputs, self._along = inputs, along

    @property
    def _lengths(self) -> list[Number]:
        return [size_of(value, self._along) for value in self._inputs]

    @property
    def _length(self) -> Number:
        return sum(self._lengths, start=0)

    def _parts(self, part: Tile) -> list[Tile]:
        """Return the overlap of a part with each input; of size 0 where it meets none."""
        require_unit_strides(self.op, part)
        parts = []
        offset = part.offset(self._along)
        for length in self._lengths:
            begin, size = overlap(offset, part.size(self._along), length)
            parts.append(Tile(self._with(part.offsets, begin), self._with(part.sizes, size)))
            offset = offset - length
        return parts

    def _element(self, point: Point, take: TakeElement) -> list[ir.Value]:
        """An element, taken of the input that holds it.

        One input is asked after another, in regions of `scf.if`: no other is read.
        """
        self._demand_fit()
        lengths = self._lengths
        type_ = ir.ShapedType(self.op.results[0].type).element_type

        def pick(position: int, index: Number) -> ir.Value:
            length = lengths[position]
            inside = is_le(index + 1, length)
            if position == len(lengths) - 1 or inside is True:
                return take(position, Point(tuple(self._with(point.indices, index))))
            if inside is False:
                return pick(position + 1, index - length)
            holds = arith.CmpIOp(arith.CmpIPredicate.slt, value_of(index), value_of(length)).result
            chosen = scf.IfOp(holds, [type_], has_else=True)
            builders: list[Callable[[], ir.Value]] = [
                lambda: take(position, Point(tuple(self._with(point.indices, index)))),
                lambda: pick(position + 1, index - length),
            ]
            for region, build in zip(chosen.operation.regions, builders, strict=True):
                with ir.InsertionPoint(region.blocks[0]):
                    scf.YieldOp([build()])
            return chosen.results[0]

        return [pick(0, point.indices[self._along])]

    def _with(self, numbers: tuple[Number, ...], number: Number) -> list[Number]:
        return [*numbers[: self._along], number, *numbers[self._along + 1 :]]


class ConcatRule(_JoiningRule):
    """`tensor.concat`."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op, list(op.operands), ir.IntegerAttr(op.attributes["dim"]).value)

    def _sizes(self) -> list[Number]:
        return self._with(sizes_of(self.op.operands[0]), self._length)

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        tiles = [tile for tile in parts if tile is not None]
        # An operand that no such part meets is left out.
        positions = [
            position for position, tile in enumerate(tiles) if tile.size(self._along) != 0
        ] or [0]
        values = [take(position, tiles[position]) for position in positions]
        if len(values) == 1:
            return values
        shapes = [ir.ShapedType(value.type) for value in values]
        is_open = any(shape.is_dynamic_dim(self._along) for shape in shapes)
        type_ = tensor_type(part.sizes, self.op.results[0].type)
        sizes = [ir.ShapedType(type_).get_dim_size(dim) for dim in range(part.rank)]
        sizes[self._along] = (
            ir.ShapedType.get_dynamic_size()
            if is_open
            else sum(shape.get_dim_size(self._along) for shape in shapes)
        )
        inferred = ir.RankedTensorType.get(sizes, ir.ShapedType(type_).element_type)
        joined: ir.Value = tensor.ConcatOp(inferred, self._along, values).result
        return [joined if joined.type == type_ else tensor.CastOp(type_, joined).result]


class ConcatenateRule(_JoiningRule):
    """`linalg_ext.concatenate`, which has a destination."""

    def __init__(self, op: ir.Operation) -> None:
        view = Concatenate.of(op)
        super().__init__(op, view.inputs, view.dimension)
        self._init = view.init
        self.destinations = (len(view.inputs),)

    def _sizes(self) -> list[Number]:
        return [
            known_size(size, *(size_of(value, dim) for value in self._inputs))
            if dim != self._along
            else known_size(size, self._length)
            for dim, size in enumerate(sizes_of(self._init))
        ]

    def _parts(self, part: Tile) -> list[Tile]:
        return [*super()._parts(part), part]

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        along = self._along
        tiles = [tile for tile in parts[:-1] if tile is not None]
        # An input that no such part meets is left out.
        inputs = {
            position: tile
            for position, tile in enumerate(tiles)
            if is_eq(tile.size(along), 0) is not True
        }
        if len(inputs) == 1:
            ((position, only),) = inputs.items()
            if is_eq(only.size(along), part.size(along)) is True:
                return [take(position, only)]
        values = [take(position, tile) for position, tile in (inputs or {0: tiles[0]}).items()]
        init = take(len(tiles), part)
        new = ir.Operation.create(
            self.op.name,
            results=[init.type],
            operands=[*values, init],
            attributes={**dict(self.op.attributes.items()), SEGMENTS: segments(len(values))},
        )
        return list(new.results)

    def _equal_sizes(self) -> Iterable[Pair]:
        sizes = self.domain.sizes
        pairs = [
            (size_of(value, dim), size)
            for value in (*self._inputs, self._init)
            for dim, size in enumerate(sizes)
            if dim != self._along
        ]
        along = sizes[self._along]
        pairs += [(self._length, along), (size_of(self._init, self._along), along)]
        return pairs
