"""The three loops of `gml_st` as one: iterators, what is carried, and what goes where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.gml_st.ir.loop_views import ForView, LoopView, ParallelView, SetYieldView, YieldView
from linalg_ext.gml_st.ir.op_views import PARALLEL, MaterializeView
from linalg_ext.gml_st.ir.yield_checks import yield_destinations
from linalg_ext.structured.operands import producer

from ._bodies import combined, rename
from ._set_elements import Place


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
        if op.name == "gml_st.parallel":
            return _of_parallel(ParallelView.of(op))
        view = LoopView.of(op) if op.name == "gml_st.loop" else ForView.of(op)
        arguments = [each for each in view.region_outs if _is_tensor(each)]
        written = _written(view)
        outer = dict(zip(view.region_outs, view.outs, strict=True))
        targets = tuple(
            arguments.index(each) if _is_tensor(each) else outer[each] for each in written
        )
        if isinstance(view, LoopView):
            rename(view.region_ins, view.ins)
        rename(*_pairs([pair for pair in outer.items() if not _is_tensor(pair[0])]))
        kinds = view.iterator_types
        return cls(
            op,
            tuple(zip(view.lower, view.upper, view.step, strict=True)),
            tuple(at for at, kind in enumerate(kinds) if kind == PARALLEL),
            view.ivs,
            tuple(each for each in view.outs if _is_tensor(each)),
            tuple(arguments),
            targets,
        )

    @property
    def body(self) -> list[ir.Operation]:
        """The operations of the body, without its terminator."""
        operations = list(self.op.regions[0].blocks[0].operations)
        return [op.operation for op in operations[:-1]]

    @property
    def terminator(self) -> YieldView | SetYieldView:
        """The current terminator of the body."""
        last = list(self.op.regions[0].blocks[0].operations)[-1].operation
        return YieldView.of(last) if last.name == "gml_st.yield" else SetYieldView.of(last)

    @property
    def sets(self) -> tuple[ir.Value | None, ...]:
        """For each yielded value the set that it goes to; None for all of its destination."""
        view = self.terminator
        if isinstance(view, SetYieldView):
            return view.sets
        return view.subsets or (None,) * len(view.values)

    @property
    def own_sets(self) -> tuple[ir.Value, ...]:
        """The same where no value goes to all of its destination."""
        return tuple(set_ for set_ in self.sets if set_ is not None)

    @property
    def values(self) -> tuple[ir.Value, ...]:
        """The values that the body yields."""
        view = self.terminator
        return view.sources if isinstance(view, SetYieldView) else view.values

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
        new = combined(view, self.values, olds)
        for at, (target, place) in enumerate(zip(self.targets, places, strict=True)):
            if isinstance(target, int):
                results[target] = place.write(new[at], results[target])
            elif not is_view_at(new[at], target, sets[at]):
                place.write_in_place(new[at], target)
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


def _of_parallel(view: ParallelView) -> Nest:
    inits: list[ir.Value] = []
    targets: list[int | ir.Value] = []
    for destination in view.terminator.destinations:
        if _is_tensor(destination):
            targets.append(len(inits))
            inits.append(destination)
        else:
            targets.append(destination)
    return Nest(
        view.op,
        tuple(zip(view.lower, view.upper, view.step, strict=True)),
        tuple(range(view.rank)),
        view.ivs,
        tuple(inits),
        (None,) * len(inits),
        tuple(targets),
    )


def _written(view: LoopView | ForView) -> tuple[ir.Value, ...]:
    if isinstance(view, LoopView):
        return yield_destinations(view.terminator, view)
    return view.region_outs


def _pairs(
    pairs: Sequence[tuple[ir.Value, ir.Value]],
) -> tuple[list[ir.Value], list[ir.Value]]:
    return [one for one, _ in pairs], [other for _, other in pairs]


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)
