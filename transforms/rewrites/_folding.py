"""The common part of the rewrites that fold views into indexing maps: each folds some kinds.

An operand that is a view is replaced by the view's source, read by the indices that this makes. A
result that is used only through one view is written in that arrangement at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from linalg_ext.bindings import ir, linalg
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import MatchFailure, Rewriter
from linalg_ext.structured.extension import COMPUTE_TYPE, carry_over, forget_memoized_maps
from linalg_ext.structured.maps import indexing_maps, is_valid, maps_attribute, split_operands
from linalg_ext.structured.operands import producer
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineMap

from ._arrangements import (
    Reading,
    View,
    ViewKind,
    is_unit,
    readings,
    reads_destination,
    rearranged,
    squeezed,
    transposed,
    unsqueezed,
    view_of,
)
from ._structured import LIBRARY_CALL, has_body, may_take_maps, why_not, with_maps

_KINDS = {"linalg.transpose": ViewKind.TRANSPOSE, "linalg.broadcast": ViewKind.BROADCAST}
_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


def fold(
    op: ir.Operation, kinds: Collection[ViewKind], rewriter: Rewriter, *, results: bool
) -> bool | MatchFailure:
    """Fold views of some kinds of an op's inputs, else those of its results, into its maps."""
    if "library_call" in op.attributes:
        return LIBRARY_CALL
    folded = _fold_operands(op, kinds, rewriter)
    if folded or not results:
        return folded
    # A reshaped result stays: writing it would need one more loop.
    written = _fold_results(op, {*kinds} - {ViewKind.RESHAPE}, rewriter)
    return folded if written is False else written


def fold_with_units(
    op: ir.Operation, kinds: Collection[ViewKind], rewriter: Rewriter, *, results: bool
) -> bool | MatchFailure:
    """Fold views as `fold` does, a batch of one before, and unit dimensions of results after."""
    if _drop_batch_of_one(op, rewriter):
        return True
    folded = fold(op, kinds, rewriter, results=results)
    return folded or (results and _drop_units_of_results(op, rewriter)) or folded


def _fold_operands(
    op: ir.Operation, kinds: Collection[ViewKind], rewriter: Rewriter
) -> bool | MatchFailure:
    """Have an op read the sources of its inputs that are views of some kinds."""
    if not has_body(op):
        return False
    inputs, outputs = split_operands(op)
    if not any(_may_fold(op, value, kinds) for value in inputs):
        reason = _why_no_view(inputs, kinds)
        return MatchFailure(reason) if reason else False
    maps = _maps(op)
    if maps is None:
        return MatchFailure("the indexing maps are not valid")
    folding = _Folding(op, kinds, list(inputs), maps)
    for position in range(len(inputs)):
        folding.fold(position)
    if not folding.changed:
        reason = folding.reason or _why_no_view(inputs, kinds)
        return MatchFailure(reason) if reason else False
    new = with_maps(op, folding.sources(), outputs, folding.maps)
    if new is None:
        return MatchFailure("the op does not take the maps that this makes")
    rewriter.replace_op(op, new)
    return True


@dataclass
class _Folding:
    """The inputs and maps of an op while views are folded into them."""

    op: ir.Operation
    kinds: Collection[ViewKind]
    inputs: list[ir.Value]
    maps: list[AffineMap]
    changed: bool = False
    reason: str | None = None
    units: list[list[int]] = field(init=False)
    orders: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.units = [[] for _ in self.inputs]
        self.orders = [[] for _ in self.inputs]

    def sources(self) -> list[ir.Value]:
        """Return the inputs of the op: without units, transposed where its maps cannot say so."""
        squeezed_ = map(squeezed, self.inputs, self.units)
        return [
            transposed(value, order) if order else value
            for value, order in zip(squeezed_, self.orders, strict=True)
        ]

    def fold(self, position: int) -> None:
        """Read one input through as many views as the op's maps can say."""
        map = self.maps[position]
        candidates = list(readings(self.inputs[position], map.results, self.kinds))
        for depth in reversed(range(len(candidates))):
            reading = candidates[depth]
            units = self._units(reading)
            if depth == 0 and not units:
                return
            # Dropping the units of a reshape would make that reshape again.
            if depth > 0 and units and reading.kind is ViewKind.RESHAPE:
                continue
            results = [r for i, r in enumerate(reading.indices) if i not in units]
            if self._read(position, reading.value, units, results, []):
                return
            if reading.kind is not ViewKind.BROADCAST:
                continue
            order = _order_of_view(results, candidates[depth - 1].indices)
            if order and self._read(position, reading.value, units, results, order):
                return

    def _read(
        self,
        position: int,
        value: ir.Value,
        units: list[int],
        results: Sequence[AffineExpr],
        order: list[int],
    ) -> bool:
        """Read an input so if the op takes the map; with an order, its axes are transposed."""
        map = self.maps[position]
        indices = tuple(results[axis] for axis in order) if order else tuple(results)
        trial = list(self.maps)
        trial[position] = AffineMap(map.dims, map.symbols, indices)
        refused = why_not(self.op, trial)
        if refused is not None:
            self.reason = self.reason or refused
            return False
        self.maps, self.inputs[position] = trial, value
        self.units[position], self.orders[position] = units, order
        self.changed = True
        return True

    def _units(self, reading: Reading) -> list[int]:
        """Return the dimensions of a reading that are dropped because they have one element.

        A generic reads them by a constant as it is; the others have no constants in their maps.
        """
        is_kept = self.op.name == "linalg.generic" and ViewKind.RESHAPE not in self.kinds
        if is_kept or not isinstance(reading.value.type, ir.RankedTensorType):
            return []
        return _units_read_by_zero(reading.value, reading.indices)


def _order_of_view(results: Sequence[AffineExpr], of_view: Sequence[AffineExpr]) -> list[int]:
    """Return the axes of a source in the order in which a view has them; none if that is theirs.

    A generic may broadcast and transpose at once where an op's maps can only broadcast.
    """
    if not all(result in of_view for result in results):
        return []
    order = sorted(range(len(results)), key=lambda axis: of_view.index(results[axis]))
    return [] if order == list(range(len(results))) else order


def _units_read_by_zero(value: ir.Value, indices: Sequence[object]) -> list[int]:
    """Return the axes of one element that are read by the constant 0."""
    return [
        axis
        for axis, index in enumerate(indices)
        if index == AffineConst(0) and is_unit(value, axis)
    ]


def _fold_results(
    op: ir.Operation, kinds: Collection[ViewKind], rewriter: Rewriter
) -> bool | MatchFailure:
    """Have an op write a result as the view that it is used through, and through no other."""
    if not has_body(op):
        return False
    reason: str | None = None
    for position in range(len(op.results)):
        views = _views_of(op.results[position], kinds)
        if not views:
            continue
        new = _written_as(op, position, views[0])
        if isinstance(new, ir.Operation):
            _put_in_place(op, new, position, views, rewriter)
            return True
        reason = reason or new
    return MatchFailure(reason) if reason else False


def _views_of(result: ir.Value, kinds: Collection[ViewKind]) -> list[ir.Value]:
    """Return the views through which a result is used, all alike; none if it has other uses.

    A broadcast is left to its users where they can read its source: written broadcast, each element
    would be computed many times.
    """
    views: list[ir.Value] = []
    alike: set[View] = set()
    for use in result.uses:
        user = use.owner.operation
        if user.name == "tensor.dim":
            continue  # its destination has the same sizes
        view = view_of(user.results[0]) if len(user.results) == 1 else None
        if view is None or view.kind not in kinds or view.source != result:
            return []
        if None in view.axes or use.operand_number != 0:
            return []
        if view.kind is ViewKind.BROADCAST and _is_only_read(user.results[0]):
            return []
        alike.add(view)
        views.append(user.results[0])
    return views if len(alike) == 1 and len({value.type for value in views}) == 1 else []


def _is_only_read(value: ir.Value) -> bool:
    """Return whether all that use a value are inputs of ops that may take maps."""
    for use in value.uses:
        user = use.owner.operation
        if not may_take_maps(user.name) or not has_body(user):
            return False
        if use.operand_number >= len(split_operands(user)[0]):
            return False
    return True


def _written_as(op: ir.Operation, position: int, view_value: ir.Value) -> ir.Operation | str:
    """Return the op with one result written as a view of it; why there is none otherwise."""
    view = view_of(view_value)
    inputs, outputs = split_operands(op)
    maps = _maps(op)
    if view is None or maps is None:
        return "the indexing maps are not valid"
    number = len(inputs) + position
    result, old = maps[number].results, maps[number].dims
    added = [axis for axis in range(view.rank) if axis not in view.axes]
    shape = ir.ShapedType(view_value.type)
    if added and (len(outputs) > 1 or {*result} != {AffineDim(dim) for dim in old}):
        return "a broadcast result would repeat the reduction"
    if any(shape.is_dynamic_dim(axis) for axis in added):
        return "the result is broadcast to a size that is not known before"
    dims = (*old, *(f"d{len(old) + i}" for i in range(len(added))))
    order = [view.axes.index(axis) for axis in range(view.rank) if axis in view.axes]
    indices = [result[axis] for axis in order]
    for axis, dim in zip(added, dims[len(old) :], strict=True):
        indices.insert(axis, AffineDim(dim))
    maps = [AffineMap(dims, map.symbols, map.results) for map in maps]
    maps[number] = AffineMap(dims, (), tuple(indices))
    refused = why_not(op, maps)
    if refused is not None:
        return refused
    sizes = [(axis, shape.get_dim_size(axis)) for axis in added]
    is_read = reads_destination(op, position)
    destination = rearranged(outputs[position], order, sizes, is_read=is_read)
    if destination is None:
        return "the destination would have to be arranged like the result"
    outputs[position] = destination
    return with_maps(op, inputs, outputs, maps) or "the op does not take the maps that this makes"


def _put_in_place(
    op: ir.Operation,
    new: ir.Operation,
    position: int,
    views: Sequence[ir.Value],
    rewriter: Rewriter,
) -> None:
    for other, result in enumerate(op.results):
        if other != position:
            result.replace_all_uses_with(new.results[other])
    for use in list(op.results[position].uses):
        asking = use.owner.operation
        if asking.name == "tensor.dim":
            asking.operands[0] = split_operands(op)[1][position]
    for view in views:
        if (arranging := producer(view)) is not None:
            rewriter.replace_op(arranging, [new.results[position]])
    rewriter.erase_op(op)


def _may_fold(op: ir.Operation, value: ir.Value, kinds: Collection[ViewKind]) -> bool:
    """Return whether it is worth asking for the op's maps."""
    if op.name == "linalg.generic" and ViewKind.RESHAPE in kinds:
        return True
    view = view_of(value)
    return view is not None and view.kind in kinds


def _maps(op: ir.Operation) -> list[AffineMap] | None:
    try:
        return indexing_maps(op)
    except ArgumentError:
        return None
    finally:
        forget_memoized_maps(op)


def _why_no_view(inputs: Sequence[ir.Value], kinds: Collection[ViewKind]) -> str | None:
    """Return the reason that an input that looks like a view of some kinds is none, if any."""
    for value in inputs:
        if isinstance(value.type, ir.MemRefType):
            for use in value.uses:
                name = use.owner.operation.name
                if _KINDS.get(name) in kinds and use.operand_number == 1:
                    return "on memrefs a transpose or a broadcast is a copy, not a view"
        op = producer(value)
        if op is not None and _KINDS.get(op.name) in kinds and COMPUTE_TYPE in op.attributes:
            return f"{op.name} has a compute type, in which it rounds"
        is_reshape = op is not None and op.name in _RESHAPES
        if is_reshape and ViewKind.RESHAPE in kinds and view_of(value) is None:
            return "a reshape of it splits or joins dimensions of several elements"
    return None


_BATCHED = ("linalg.batch_matmul", "linalg.batch_reduce_matmul")


def _drop_batch_of_one(op: ir.Operation, rewriter: Rewriter) -> bool:
    """Make a matrix product of a batched one of one matrix each."""
    if op.name not in _BATCHED or len(op.results) == 0:
        return False
    inputs, (output,) = split_operands(op)
    maps = indexing_maps(op)
    batch = AffineDim(maps[0].dims[0])
    axes = [map.results.index(batch) if batch in map.results else None for map in maps]
    values = [*inputs, output]
    batched = [(value, axis) for value, axis in zip(values, axes, strict=True) if axis is not None]
    if not any(is_unit(value, axis) for value, axis in batched):
        return False
    if not all(is_unit(value, axis) for value, axis in batched):
        return False  # a dynamic size next to a static one: it is not known to be 1
    matrices = [
        v if axis is None else squeezed(v, [axis]) for v, axis in zip(inputs, axes, strict=False)
    ]
    destination = _squeezed_destination(op, output, [axes[-1]] if axes[-1] is not None else [])
    new = linalg.MatmulOp(
        [destination.type],
        matrices,
        [destination],
        indexing_maps=maps_attribute([_without_first(map) for map in maps]),
    ).operation
    if "cast" in op.attributes:
        new.attributes["cast"] = op.attributes["cast"]
    linalg.fill_builtin_region(new)
    if not is_valid(new):
        new.erase()
        return False
    carry_over(op, new)
    result = new.results[0]
    rewriter.replace_op(
        op, [result if axes[-1] is None else unsqueezed(result, output, [axes[-1]])]
    )
    return True


def _without_first(map: AffineMap) -> AffineMap:
    """Return the map over the iteration space without its first dimension."""
    first, *rest = map.dims
    names = tuple(f"d{i}" for i in range(len(rest)))
    renamed: dict[AffineExpr, AffineExpr | int] = {
        AffineDim(old): AffineDim(new) for old, new in zip(rest, names, strict=True)
    }
    results = (r.substitute(renamed) for r in map.results if r != AffineDim(first))
    return AffineMap(names, (), tuple(results))


def _drop_units_of_results(op: ir.Operation, rewriter: Rewriter) -> bool:
    """Have a generic write its results without the unit dimensions that it indexes by 0."""
    if op.name != "linalg.generic" or len(op.results) == 0:
        return False
    inputs, outputs = split_operands(op)
    maps = indexing_maps(op)
    units = [
        _units_read_by_zero(value, map.results)
        for value, map in zip(outputs, maps[len(inputs) :], strict=True)
    ]
    if not any(units):
        return False
    destinations = [
        _squeezed_destination(op, value, dropped, position)
        for position, (value, dropped) in enumerate(zip(outputs, units, strict=True))
    ]
    for position, dropped in enumerate(units, start=len(inputs)):
        remaining = [r for axis, r in enumerate(maps[position].results) if axis not in dropped]
        maps[position] = AffineMap(maps[position].dims, (), tuple(remaining))
    new = with_maps(op, inputs, destinations, maps)
    if new is None:
        return False
    results = [
        unsqueezed(result, value, dropped)
        for result, value, dropped in zip(new.results, outputs, units, strict=True)
    ]
    rewriter.replace_op(op, results)
    return True


def _squeezed_destination(
    op: ir.Operation, value: ir.Value, units: list[int], position: int = 0
) -> ir.Value:
    """Return a destination without some unit axes: made without them if possible, else reshaped."""
    if not units:
        return value
    rank = ir.ShapedType(value.type).rank
    remaining = [axis for axis in range(rank) if axis not in units]
    destination = rearranged(value, remaining, is_read=reads_destination(op, position))
    return squeezed(value, units) if destination is None else destination
