"""An op as one op for each place in its window, chained through what they accumulate into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from linalg_ext.bindings import arith, ir, linalg, memref, scf, tensor
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.gml_st.rules.bodies import as_generic
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.structured.mixed import mixed_attribute
from linalg_ext.structured.sizes import as_number, index, size_of, value_of
from linalg_ext.structured.views import is_view, view_type
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number
from linalg_ext.transforms.ir_utils.walking import operations

from ._checks import refusal
from ._facts import DYNAMIC, Loops
from ._window_places import Axis, Places, axes_at

MOST_PLACES = 128
"""Copies of one op: a window of 11 x 11 has fewer."""


@dataclass(frozen=True)
class Piece:
    """An op for one place.

    Attributes:
        op: a `linalg.generic`.
        depth: the number of ops around it that were made for it: loops, and `scf.if` where there
            may be no such place.
    """

    op: ir.Operation
    depth: int


@dataclass(frozen=True)
class _Slice:
    """The part of an operand that one place is about."""

    base: ir.Value
    axes: tuple[Axis, ...]
    sizes: tuple[Number, ...]
    is_all: bool

    def value(self) -> ir.Value:
        """The part, at the insertion point."""
        if self.is_all:
            return self.base
        if isinstance(self.base.type, ir.MemRefType):
            return self._subview()
        element = ir.ShapedType(self.base.type).element_type
        gap = ir.ShapedType.get_dynamic_size()
        shape = [size if isinstance(size, int) else gap for size in self._kept()]
        type_ = ir.RankedTensorType.get(shape, element)
        return _result(tensor.ExtractSliceOp(type_, self.base, *self._geometry()))

    def put(self, part: ir.Value) -> ir.Value:
        """The whole with another part, at the insertion point."""
        if self.is_all:
            return part
        return _result(tensor.InsertSliceOp(part, self.base, *self._geometry()))

    def _subview(self) -> ir.Value:
        offsets = [axis.offset for axis in self.axes]
        tile = Tile(offsets, self.sizes, [axis.stride for axis in self.axes])
        sizes = [size if isinstance(size, int) else None for size in self.sizes]
        kept = [at for at, axis in enumerate(self.axes) if axis.dim is not None]
        type_ = view_type(ir.MemRefType(self.base.type), tile, sizes, kept)
        return _result(memref.SubViewOp(type_, self.base, *self._geometry()))

    def _kept(self) -> list[Number]:
        pairs = zip(self.axes, self.sizes, strict=True)
        return [size for axis, size in pairs if axis.dim is not None]

    def _geometry(self) -> tuple[Any, ...]:
        sizes = [index(size) for size in self.sizes]
        offsets = [index(axis.offset) for axis in self.axes]
        strides = mixed_attribute([axis.stride for axis in self.axes])
        moving, dynamic = (
            [each for each in column if not isinstance(each, int)] for column in (offsets, sizes)
        )
        return moving, dynamic, [], mixed_attribute(offsets), mixed_attribute(sizes), strides


def check_layouts(op: ir.Operation, step: str) -> None:
    """Raise `ScheduleError` for a buffer whose layout is no strides."""
    for number, value in enumerate(op.operands):
        if isinstance(value.type, ir.MemRefType) and not is_view(value.type):
            raise refusal(
                op,
                f"{step} takes slices of operands; operand {number} is {value.type}",
                expected="a buffer whose layout is strides",
            )


def unrolled(op: ir.Operation, loops: Loops, places: Places) -> list[Piece]:
    """Put one op for each place in the place of `op`, which is erased."""
    maps = indexing_maps(op)
    nest = _Nest(op, loops, places, maps, _sizes(op, loops, maps), _unused(op, places, maps))
    with op.location, ir.InsertionPoint(op):
        state = nest.around({}, list(op.operands)[len(op.operands) - _outputs(op, maps) :], 0)
        for result, value in zip(op.results, state, strict=False):
            result.replace_all_uses_with(value)
        op.erase()
    return nest.pieces


@dataclass(frozen=True)
class _Nest:
    """The loops around the places of an op, and the ops for these."""

    op: ir.Operation
    loops: Loops
    places: Places
    maps: Sequence[AffineMap]
    sizes: Mapping[str, Number]
    unused: frozenset[int]
    pieces: list[Piece] = field(default_factory=list)

    def around(
        self, place: Mapping[str, Number], state: Sequence[ir.Value], depth: int
    ) -> list[ir.Value]:
        """Loops over what is not in `place`, and what they make of the destinations."""
        rest = [dim for dim in self.places.looped if dim not in place]
        if not rest:
            return self._within(place, state, depth)
        dim, size = rest[0], self.sizes[rest[0]]
        if size == 1:
            return self.around({**place, dim: 0}, state, depth)
        carried = list(state) if self.op.results else []
        loop = scf.ForOp(value_of(0), value_of(size), value_of(1), carried)
        with ir.InsertionPoint(loop.body):
            here = {**place, dim: as_number(loop.induction_variable)}
            inner = self.around(here, list(loop.inner_iter_args) or state, depth + 1)
            scf.YieldOp(inner if carried else [])
        return list(loop.results) or list(state)

    def _within(
        self, place: Mapping[str, Number], state: Sequence[ir.Value], depth: int
    ) -> list[ir.Value]:
        made = list(state)
        for unrolled_ in self.places:
            conditions = [
                (number, self.sizes[dim])
                for dim, number in unrolled_.items()
                if not isinstance(self.sizes[dim], int)
            ]
            build = _Building(self, {**place, **unrolled_})
            if conditions:
                op, made = _guarded(build, made, conditions)
            else:
                op, made = build(made)
            self.pieces.append(Piece(op, depth + bool(conditions)))
        return made


@dataclass(frozen=True)
class _Building:
    """A function that builds the op for one place."""

    nest: _Nest
    place: Mapping[str, Number]

    def __call__(self, state: Sequence[ir.Value]) -> tuple[ir.Operation, list[ir.Value]]:
        """The op, at the insertion point, and what it makes of the destinations."""
        nest = self.nest
        values = [*list(nest.op.operands)[: len(nest.maps) - len(state)], *state]
        slices = [self._slice(*each) for each in zip(values, nest.maps, strict=True)]
        used = [number for number in range(len(values)) if number not in nest.unused]
        operands = [slices[number].value() for number in used]
        results = len(nest.op.results)
        types = [value.type for value in operands[len(operands) - results :]] if results else []
        names = nest.maps[0].dims
        kinds = [
            "reduction" if names.index(dim) in nest.loops.reductions else "parallel"
            for dim in nest.places.kept
        ]
        made = as_generic(
            nest.op,
            operands,
            types,
            [nest.places.left_of(nest.maps[number]) for number in used],
            kinds,
            outputs=len(state),
            without=nest.unused,
        )
        self._settle_positions(made, names)
        if not results:
            return made, list(state)
        written = slices[len(slices) - len(state) :]
        return made, [each.put(part) for each, part in zip(written, made.results, strict=True)]

    def _slice(self, value: ir.Value, map_: AffineMap) -> _Slice:
        axes = axes_at(map_, self.place)
        if axes is None:
            raise ValueError(f"{map_} at {dict(self.place)} is no slice")
        if not isinstance(value.type, ir.ShapedType):
            return _Slice(value, (), (), True)
        sizes: list[Number] = [
            1 if axis.dim is None else self.nest.sizes[axis.dim] for axis in axes
        ]
        is_all = all(
            isinstance(index, AffineDim) or (axis.is_whole and size == size_of(value, number))
            for number, (index, axis, size) in enumerate(
                zip(map_.results, axes, sizes, strict=True)
            )
            if axis.dim is not None
        ) and all(axis.dim is not None for axis in axes)
        return _Slice(value, tuple(axes), tuple(sizes), is_all)

    def _settle_positions(self, made: ir.Operation, names: Sequence[str]) -> None:
        """Let the body see the positions of the whole."""
        body = made.regions[0].blocks[0]
        for position in operations(made, {"linalg.index"}):
            dim = names[ir.IntegerAttr(position.attributes["dim"]).value]
            with ir.InsertionPoint.at_block_begin(body):
                if dim in self.place:
                    new = value_of(self.place[dim])
                else:
                    new = linalg.IndexOp(self.nest.places.kept.index(dim)).result
            position.operation.results[0].replace_all_uses_with(new)
            position.operation.erase()


def _guarded(
    build: _Building, state: Sequence[ir.Value], conditions: Sequence[tuple[int, Number]]
) -> tuple[ir.Operation, list[ir.Value]]:
    """The op for a place that there is only where its numbers are below these sizes."""
    tests = [
        arith.CmpIOp(arith.CmpIPredicate.slt, value_of(number), value_of(size)).result
        for number, size in conditions
    ]
    holds = reduce(lambda one, other: arith.AndIOp(one, other).result, tests)
    types = [value.type for value in state if build.nest.op.results]
    choice = scf.IfOp(holds, types, has_else=bool(types))
    with ir.InsertionPoint(choice.operation.regions[0].blocks[0]):
        made, new = build(state)
        scf.YieldOp(new if types else [])
    if not types:
        return made, list(state)
    with ir.InsertionPoint(choice.operation.regions[1].blocks[0]):
        scf.YieldOp(list(state))
    return made, list(choice.results)


def _sizes(op: ir.Operation, loops: Loops, maps: Sequence[AffineMap]) -> dict[str, Number]:
    """Return the trip count of each loop: a number, or a size that the program computes."""
    found: dict[str, Number] = {}
    for value, map_ in zip(op.operands, maps, strict=True):
        for axis, each in enumerate(map_.results):
            if isinstance(each, AffineDim) and each.name not in found:
                found[each.name] = size_of(value, axis)
    known = {
        dim: extent
        for dim, extent in zip(maps[0].dims, loops.ranges, strict=True)
        if extent != DYNAMIC
    }
    return found | known


def _outputs(op: ir.Operation, maps: Sequence[AffineMap]) -> int:
    body = op.regions[0].blocks[0].operations
    return len(body[len(body) - 1].operation.operands)


def _unused(op: ir.Operation, places: Places, maps: Sequence[AffineMap]) -> frozenset[int]:
    """The inputs that the body does not read and that no loop is known by: shapes of windows."""
    arguments = op.regions[0].blocks[0].arguments
    inputs = len(maps) - _outputs(op, maps)
    left = [places.left_of(map_) for map_ in maps]
    found: set[int] = set()
    for number in range(inputs):
        others = {
            dim
            for other, map_ in enumerate(left)
            if other != number and other not in found
            for dim in map_.results
        }
        if not list(arguments[number].uses) and others.issuperset(left[number].results):
            found.add(number)
    return frozenset(found)


def _result(op: ir.OpView) -> ir.Value:
    value: ir.Value = op.operation.results[0]
    return value
