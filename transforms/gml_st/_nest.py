"""The three loops of `gml_st` as one nest: iterators, carried values, targets, and the body."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir, memref, scf
from linalg_ext.dialects.gml_st.ir.op_views import PARALLEL, LoopView, MaterializeView, YieldView
from linalg_ext.dialects.gml_st.ir.sets import is_defined_inside
from linalg_ext.dialects.gml_st.ir.types import is_view_of
from linalg_ext.errors import ArgumentError
from linalg_ext.structured.indices import Emitter
from linalg_ext.structured.operands import producer
from linalg_ext.transforms.gml_st._set_elements import Place


@dataclass(frozen=True)
class Nest:
    """A loop of `gml_st`.

    Attributes:
        op: the loop.
        bounds: lower bound, upper bound and step of each iterator.
        parallel: the iterators whose iterations are in no order.
        ivs: their induction variables.
        inits: the tensors that it writes to; its results have their place.
        arguments: for each of these what the body calls it; None where it has no name there.
        targets: for each yielded value the position of its tensor in `inits`, or its memref.
    """

    op: ir.Operation
    bounds: tuple[tuple[ir.Value, ir.Value, ir.Value], ...]
    parallel: tuple[int, ...]
    ivs: tuple[ir.Value, ...]
    inits: tuple[ir.Value, ...]
    arguments: tuple[ir.Value | None, ...]
    targets: tuple[int | ir.Value, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> Nest:
        """Read a loop. Its body then knows inputs, and outputs that are memrefs, by themselves."""
        view = LoopView.of(op)
        arguments: list[ir.Value | None]
        targets: list[int | ir.Value]
        inits = [each for each in view.destinations if _is_tensor(each)]
        if op.name == "gml_st.parallel":
            arguments, position = [None] * len(inits), itertools.count()
            targets = [next(position) if _is_tensor(v) else v for v in view.destinations]
        else:
            arguments = [each for each in view.region_outs if _is_tensor(each)]
            outer = dict(zip(view.region_outs, view.outs, strict=True))
            is_loop = op.name == "gml_st.loop"
            written = view.yield_destinations(view.terminator) if is_loop else view.region_outs
            targets = [arguments.index(v) if _is_tensor(v) else outer[v] for v in written]
            rename(view.region_ins, view.ins)
            for argument, memref_ in outer.items():
                if not _is_tensor(argument):
                    argument.replace_all_uses_with(memref_)
        kinds = view.iterator_types
        return cls(
            op,
            view.bounds,
            tuple(at for at, kind in enumerate(kinds) if kind == PARALLEL),
            view.ivs,
            tuple(inits),
            tuple(arguments),
            tuple(targets),
        )

    @property
    def body(self) -> list[ir.Operation]:
        operations = list(self.op.regions[0].blocks[0].operations)
        return [op.operation for op in operations[:-1]]

    @property
    def terminator(self) -> YieldView:
        return YieldView.of(list(self.op.regions[0].blocks[0].operations)[-1].operation)

    @property
    def sets(self) -> tuple[ir.Value | None, ...]:
        """For each yielded value the set that it goes to; None for all of its destination."""
        view = self.terminator
        return view.sets or (None,) * len(view.sources)

    @property
    def own_sets(self) -> tuple[ir.Value, ...]:
        """The same where no value goes to all of its destination."""
        return tuple(set_ for set_ in self.sets if set_ is not None)

    @property
    def values(self) -> tuple[ir.Value, ...]:
        return self.terminator.sources

    def write(self, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """Put what the body yields in place, at the insertion point; what is carried then."""
        results = list(carried)
        view, sets = self.terminator, self.sets
        wholes = [each if isinstance(each, ir.Value) else results[each] for each in self.targets]
        places = [
            Place.whole(whole) if set_ is None else Place.of(set_)
            for whole, set_ in zip(wholes, sets, strict=True)
        ]
        olds = {at: places[at].read(wholes[at]) for at, flag in enumerate(view.accumulated) if flag}
        new = self._combined(olds)
        for at, (target, place) in enumerate(zip(self.targets, places, strict=True)):
            if isinstance(target, int):
                results[target] = place.write(new[at], results[target])
            elif not is_view_at(new[at], target, sets[at]):
                place.write_in_place(new[at], target)
        return results

    def _combined(self, olds: Mapping[int, ir.Value]) -> list[ir.Value]:
        """The yielded values, the accumulated ones combined with the contents of destinations.

        The combiner is moved to the insertion point: once for each loop.
        """
        view, results = self.terminator, list(self.values)
        for at, accumulator in enumerate(view.accumulators):
            if accumulator is not None:
                old = same_type(olds[at], accumulator.old.type)
                rename([accumulator.new, accumulator.old], [results[at], old])
        # The arguments are gone from the accumulators: what they give is read again.
        renamed = view.accumulators
        if view.combiner is not None:
            move_here([op.operation for op in list(view.combiner.operations)[:-1]])
        for at, accumulator in enumerate(renamed):
            if accumulator is not None:
                results[at] = accumulator.combined
        return results


def is_view_at(value: ir.Value, destination: ir.Value, set_: ir.Value | None) -> bool:
    """Return whether a value is what a set of the destination names already."""
    op = producer(value)
    if op is None or op.name != "gml_st.materialize":
        return value == destination and set_ is None
    view = MaterializeView.of(op)
    return view.source == destination and set_ is not None and is_same_set(view.set, set_)


def is_same_set(one: ir.Value, other: ir.Value) -> bool:
    """Return whether two sets are made in the same way of the same values."""
    if one == other:
        return True
    made, also = producer(one), producer(other)
    return (
        made is not None
        and also is not None
        and made.name == also.name
        and list(made.operands) == list(also.operands)
        and str(made.attributes) == str(also.attributes)
        and len(made.results) == len(also.results) == 1
    )


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def lower_in_order(nest: Nest) -> list[ir.Value]:
    """Build the nest at the insertion point, with the body of the loop; its results."""

    def body(ivs: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        rename(nest.ivs, ivs)
        for argument, value in zip(nest.arguments, carried, strict=True):
            if argument is not None:
                argument.replace_all_uses_with(value)
        move_here(nest.body)
        return nest.write(carried)

    return for_nest(nest.bounds, nest.inits, body)


def move_here(operations: Iterable[ir.Operation]) -> None:
    here = ir.InsertionPoint.current
    for op in operations:
        op.detach_from_parent()
        here.insert(op)


def rename(arguments: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
    for argument, value in zip(arguments, values, strict=True):
        argument.replace_all_uses_with(value)


def makers(set_: ir.Value, block: ir.Block) -> list[ir.Operation]:
    """The ops of a block, and of blocks in it, that a set is computed by."""
    ops: list[ir.Operation] = []
    waiting = [set_]
    while waiting:
        op = producer(waiting.pop())
        if op is not None and op not in ops and is_defined_inside(op.results[0], block):
            ops.append(op)
            waiting += list(op.operands)
    return ops


_MOVABLE = ("arith.", "affine.", "index.", "gml_st.")


def may_move(op: ir.Operation) -> bool:
    """Return whether an op computes the same wherever its operands are, and nothing else."""
    if op.name in ("tensor.dim", "memref.dim"):
        return True
    return op.name.startswith(_MOVABLE) and op.name != "gml_st.materialize" and not len(op.regions)


def same_type(old: ir.Value, type_: ir.Type) -> ir.Value:
    """Return the content of a destination in the type of a combiner: a cast or a copy, if need be.

    Raises:
        ArgumentError: the combiner requires a memref with strides that no copy has.
    """
    if old.type == type_:
        return old
    if is_view_of(type_, old.type):
        return memref.CastOp(type_, old).result
    wanted, emitter = ir.MemRefType(type_), Emitter()
    if isinstance(wanted.layout, ir.StridedLayoutAttr):
        raise ArgumentError(
            f"the accumulator combines with a {type_}, and there is a {old.type}",
            hint="yield a view of fewer known strides, or memory without strides",
        )
    sizes = [
        memref.DimOp(old, emitter.value(dim)).result
        for dim in range(wanted.rank)
        if wanted.is_dynamic_dim(dim)
    ]
    buffer: ir.Value = memref.AllocOp(type_, sizes, []).result
    memref.CopyOp(old, buffer)
    return buffer


def for_nest(
    bounds: Sequence[tuple[ir.Value, ir.Value, ir.Value]],
    carried: Sequence[ir.Value],
    body: Callable[[list[ir.Value], list[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """Nested `scf.for` at the insertion point; what is carried, after the last iteration.

    Args:
        bounds: lower bound, upper bound and step of each, the outermost first.
        carried: the values of the first iteration.
        body: a function of the induction variables and the carried values that returns the next
            carried values.
    """
    ivs: list[ir.Value] = []

    def nested(at: int, given: Sequence[ir.Value]) -> list[ir.Value]:
        if at == len(bounds):
            return list(body(ivs, list(given)))
        loop = scf.ForOp(*bounds[at], list(given))
        with ir.InsertionPoint(loop.body):
            ivs.append(loop.induction_variable)
            scf.YieldOp(nested(at + 1, loop.inner_iter_args))
        return list(loop.results)

    return nested(0, carried)
