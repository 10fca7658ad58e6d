"""The three loops of `gml_st` as one nest: iterators, carried values, targets, and the body."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir, memref
from linalg_ext.dialects.gml_st.ir.op_views import PARALLEL, LoopView, MaterializeView, YieldView
from linalg_ext.dialects.gml_st.ir.sets import is_defined_inside
from linalg_ext.dialects.gml_st.ir.types import is_view_of
from linalg_ext.errors import ArgumentError
from linalg_ext.structured import loops
from linalg_ext.structured.operands import producer
from linalg_ext.structured.sizes import dim_of

from ._set_elements import SubsetAccess


@dataclass(frozen=True)
class Nest:
    """A loop of `gml_st`.

    Attributes:
        op: the loop.
        bounds: lower bound, upper bound and step of each iterator.
        parallel: the iterators whose iterations are in no order.
        ivs: their induction variables.
        inits: the tensors that it writes to; its results have their place.
        arguments: for each of these its name in the body; None where it has no name there.
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
        inits = [value for value in view.destinations if _is_tensor(value)]
        if op.name == "gml_st.parallel":
            arguments, position = [None] * len(inits), itertools.count()
            targets = [next(position) if _is_tensor(v) else v for v in view.destinations]
        else:
            arguments = [value for value in view.region_outs if _is_tensor(value)]
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
            tuple(dim for dim, kind in enumerate(kinds) if kind == PARALLEL),
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

    def rename_outputs(self, values: Sequence[ir.Value]) -> None:
        """Replace the tensors as the body knows them."""
        for argument, value in zip(self.arguments, values, strict=True):
            if argument is not None:
                argument.replace_all_uses_with(value)

    def write(self, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """Put the values that the body yields in place; return those that the loop carries."""
        results = list(carried)
        view, sets = self.terminator, self.sets
        wholes = [
            target if isinstance(target, ir.Value) else results[target] for target in self.targets
        ]
        accesses = [
            SubsetAccess.whole(whole) if set_ is None else SubsetAccess.of(set_)
            for whole, set_ in zip(wholes, sets, strict=True)
        ]
        olds = {
            number: accesses[number].read(wholes[number])
            for number, flag in enumerate(view.accumulated)
            if flag
        }
        new = self._combined(olds)
        for number, (target, access) in enumerate(zip(self.targets, accesses, strict=True)):
            if isinstance(target, int):
                results[target] = access.write(new[number], results[target])
            elif not is_view_at(new[number], target, sets[number]):
                access.write_in_place(new[number], target)
        return results

    def _combined(self, olds: Mapping[int, ir.Value]) -> list[ir.Value]:
        """Return the yielded values, accumulated ones combined with their destinations' contents.

        The combiner is moved to the insertion point: once for each loop.
        """
        view, results = self.terminator, list(self.values)
        for number, accumulator in enumerate(view.accumulators):
            if accumulator is not None:
                old = same_type(olds[number], accumulator.old.type)
                rename([accumulator.new, accumulator.old], [results[number], old])
        # The accumulators are read again: their arguments have been replaced.
        renamed = view.accumulators
        if view.combiner is not None:
            move_here([op.operation for op in list(view.combiner.operations)[:-1]])
        for number, accumulator in enumerate(renamed):
            if accumulator is not None:
                results[number] = accumulator.combined
        return results


def is_view_at(value: ir.Value, destination: ir.Value, set_: ir.Value | None) -> bool:
    """Return whether a value is already the part that a set of the destination names."""
    op = producer(value)
    if op is None or op.name != "gml_st.materialize":
        return value == destination and set_ is None
    view = MaterializeView.of(op)
    return view.source == destination and set_ is not None and is_same_set(view.set, set_)


def is_same_set(first: ir.Value, second: ir.Value) -> bool:
    """Return whether two sets are made in the same way of the same values."""
    if first == second:
        return True
    first_op, second_op = producer(first), producer(second)
    return (
        first_op is not None
        and second_op is not None
        and first_op.name == second_op.name
        and list(first_op.operands) == list(second_op.operands)
        and str(first_op.attributes) == str(second_op.attributes)
        and len(first_op.results) == len(second_op.results) == 1
    )


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def lower_in_order(nest: Nest) -> list[ir.Value]:
    """Build the nest at the insertion point, with the body of the loop; its results."""

    def body(ivs: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        rename(nest.ivs, ivs)
        nest.rename_outputs(carried)
        move_here(nest.body)
        return nest.write(carried)

    return loops.nest(nest.bounds, nest.inits, body)


def move_here(operations: Iterable[ir.Operation]) -> None:
    ip = ir.InsertionPoint.current
    for op in operations:
        op.detach_from_parent()
        ip.insert(op)


def rename(arguments: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
    for argument, value in zip(arguments, values, strict=True):
        argument.replace_all_uses_with(value)


def makers(set_: ir.Value, block: ir.Block) -> list[ir.Operation]:
    """Return the ops of a block, and of blocks in it, that a set is computed by."""
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
    memref_type = ir.MemRefType(type_)
    if isinstance(memref_type.layout, ir.StridedLayoutAttr):
        raise ArgumentError(
            f"the accumulator combines with a {type_}, and there is a {old.type}",
            hint="yield a view of fewer known strides, or memory without strides",
        )
    sizes = [dim_of(old, dim) for dim in range(memref_type.rank) if memref_type.is_dynamic_dim(dim)]
    buffer: ir.Value = memref.AllocOp(type_, sizes, []).result
    memref.CopyOp(old, buffer)
    return buffer
