"""Lower loops over subsets, and all other ops of `gml_st`, to scf, tensor, memref and arith.

before:
    %r = "gml_st.loop"(%c0, %c0, %c80, %c60, %c4, %c4, %x, %y) ({
    ^bb0(%i: index, %j: index, %x_: tensor<80x60xf32>, %y_: tensor<80xf32>):
      %xt = "gml_st.tile"(%x_, %i, %j) {static_offsets = array<i64: -9223372036854775808,
              -9223372036854775808>, static_sizes = array<i64: 4, 4>,
              static_strides = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 2, 0, 0>}
            : (tensor<80x60xf32>, index, index) -> !gml_st.subset<"4x4xf32">
      %yt = "gml_st.tile"(%y_, %i) {static_offsets = array<i64: -9223372036854775808>,
              static_sizes = array<i64: 4>, static_strides = array<i64: 1>,
              operandSegmentSizes = array<i32: 1, 1, 0, 0>}
            : (tensor<80xf32>, index) -> !gml_st.subset<"4xf32">
      %xs = "gml_st.materialize"(%x_, %xt)
            : (tensor<80x60xf32>, !gml_st.subset<"4x4xf32">) -> tensor<4x4xf32>
      %ys = "gml_st.materialize"(%y_, %yt)
            : (tensor<80xf32>, !gml_st.subset<"4xf32">) -> tensor<4xf32>
      %s = linalg.reduce {arith.addf} ins(%xs : tensor<4x4xf32>) outs(%ys : tensor<4xf32>)
           dimensions = [1]
      "gml_st.yield"(%s, %yt) ({}) {operandSegmentSizes = array<i32:
          1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (tensor<4xf32>, !gml_st.subset<"4xf32">) -> ()
    }) {iterator_types = ["parallel", "reduction"], operandSegmentSizes = array<i32: 2, 2, 2,
          1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index, index, index, index, tensor<80x60xf32>, tensor<80xf32>)
      -> tensor<80xf32>
after:
    %r = scf.forall (%i) = (0) to (80) step (4) shared_outs(%o = %y) -> (tensor<80xf32>) {
      %ys = tensor.extract_slice %o[%i] [4] [1] : tensor<80xf32> to tensor<4xf32>
      %t = scf.for %j = %c0 to %c60 step %c4 iter_args(%a = %ys) -> (tensor<4xf32>) {
        %xs = tensor.extract_slice %x[%i, %j] [4, 4] [1, 1]
              : tensor<80x60xf32> to tensor<4x4xf32>
        %s = linalg.reduce {arith.addf} ins(%xs : tensor<4x4xf32>) outs(%a : tensor<4xf32>)
             dimensions = [1]
        scf.yield %s : tensor<4xf32>
      }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %t into %o[%i] [4] [1] : tensor<4xf32> into tensor<80xf32>
      }
    }

Iterators are those of `scf.forall` where they are parallel and each iteration has a place of its
own in the outputs; else those of `scf.for`, in order. Values that are accumulated are combined in
the order of the iterations, so that sums of floats are the same each time. Of a memref a tile is a
view, a point is loaded and stored, and a yielded value is written in place.

Facts that only the run knows are checked there: the indices of a filter, the steps of loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, cf, ir, memref, scf, tensor
from linalg_ext.dialects.gml_st.ir.op_views import LOOPS, NAMESPACE, MaterializeView
from linalg_ext.dialects.gml_st.ir.sets import dependences, is_defined_inside, is_filter
from linalg_ext.dialects.gml_st.ir.types import static
from linalg_ext.errors import LoweringError
from linalg_ext.executable.explanation import ExplainedDecision
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured import loops
from linalg_ext.structured.indices import Emitter
from linalg_ext.transforms.ir_utils.walking import at_op, operations, place, replace_op, select

from ._loops import with_constants
from ._nest import (
    Nest,
    is_same_set,
    is_view_at,
    lower_in_order,
    makers,
    may_move,
    move_here,
    rename,
)
from ._set_elements import SubsetAccess
from .fold_subset_questions import QUESTIONS, answer

NAME = "linalg-ext-lower-subset-loops"

STEP_TOO_SMALL = "a step of a loop over subsets is not positive"


@module_pass(NAME, on=lambda name: name.startswith(NAMESPACE))
def lower_subset_loops(module: ir.Operation) -> Report:
    """Lower all of gml_st to scf, tensor, memref and arith.

    Raises:
        LoweringError: a set is used by something else than ops of gml_st, or is made by none.
    """
    report = Report(NAME)
    for op in select(module, lambda op: op.name.startswith(NAMESPACE)):
        report.matched[op.name] += 1
    for op in operations(module, LOOPS):
        with at_op(op):
            report.changed[op.name] += 1
            _lower_loop(op, report)
    for op in operations(module, {"gml_st.materialize", *QUESTIONS}):
        with at_op(op):
            report.changed[op.name] += 1
            value = _read(op) if op.name == "gml_st.materialize" else answer(op)
            replace_op(op, value)
    for op in reversed(select(module, lambda op: op.name.startswith(NAMESPACE))):
        report.changed[op.name] += 1
        _erase_unused(op)
    return report


def _lower_loop(op: ir.Operation, report: Report) -> None:
    nest = Nest.of(op)
    for _, _, step in nest.bounds:
        if static(step) is None:
            positive = arith.CmpIOp(arith.CmpIPredicate.sgt, step, Emitter().value(0)).result
            cf.AssertOp(positive, STEP_TOO_SMALL)
    reason = reason_for_order(nest)
    if nest.parallel and reason is not None:
        report.decisions.append(ExplainedDecision(op.name, (("iterations in order", reason),)))
    results = lower_in_parallel(nest) if reason is None else lower_in_order(nest)
    replace_op(op, *results)


def _read(op: ir.Operation) -> ir.Value:
    view = MaterializeView.of(op)
    value = SubsetAccess.of(view.set).read(view.source)
    type_ = op.results[0].type
    if value.type != type_:
        value = memref.CastOp(type_, value).result
    return value


def _erase_unused(op: ir.Operation) -> None:
    for result in op.results:
        for use in result.uses:
            raise LoweringError(
                f"a set of {op.name} is used by {use.owner.operation.name}",
                where=place(op),
                expected="uses by ops of gml_st alone: a set is a name of elements, and no value",
                hint="materialize it, or pass its offsets and sizes on",
            )
    op.erase()


def reason_for_order(nest: Nest) -> str | None:
    """Return the reason for sequential iterations; None where `lower_in_parallel` may be used."""
    view = nest.terminator
    if not nest.parallel:
        return "the loop has no parallel iterator"
    if any(view.accumulated):
        return "accumulated values are combined in order"
    sequential = _sequential(nest)
    block = nest.op.regions[0].blocks[0]
    for set_ in nest.sets:
        if set_ is None:
            return "whole tensors are yielded"
        if is_filter(set_):
            return "a filter is written to element by element"
        if dependences(set_, nest.ivs) & set(sequential):
            return "a sequential iterator moves over the output"
        if sequential and not all(may_move(op) for op in makers(set_, block)):
            return "the place in the output is computed by ops that cannot be moved"
    if sum(isinstance(target, int) for target in nest.targets) < len(nest.inits):
        return "an output is not written to"
    if not all(_is_read_where_written(nest, number) for number in range(len(nest.inits))):
        return "other parts of the output are read than are written to"
    return None


def lower_in_parallel(nest: Nest) -> list[ir.Value]:
    """Build an `scf.forall` with the body of the nest, sequential iterators inside; its results.

    An iteration may read the part of an output that it writes, and no other part: the tile is taken
    out before the sequential iterators, carried by them, and put back after them.
    """
    lower, upper, step = (
        with_constants([nest.bounds[dim][side] for dim in nest.parallel]) for side in range(3)
    )
    forall = scf.ForallOp(lower, upper, step, list(nest.inits))
    shared = list(forall.inner_iter_args)
    with ir.InsertionPoint(forall.body):
        rename([nest.ivs[dim] for dim in nest.parallel], list(forall.induction_variables))
        write = _carry_tiles if _sequential(nest) else _write_once
        written = write(nest, shared)
        ends = [(*_as_tensor(value, access), number) for number, (value, access) in written.items()]
        with ir.InsertionPoint(scf.InParallelOp().block):
            for value, geometry, number in ends:
                tensor.ParallelInsertSliceOp(value, shared[number], *geometry)
    return list(forall.results)


def _write_once(nest: Nest, shared: Sequence[ir.Value]) -> dict[int, tuple[ir.Value, SubsetAccess]]:
    """Move the body to the insertion point; return the value and the access of each output."""
    nest.rename_outputs(shared)
    _read_own_parts(nest, shared)
    move_here(nest.body)
    written: dict[int, tuple[ir.Value, SubsetAccess]] = {}
    for target, set_, value in zip(nest.targets, nest.own_sets, nest.values, strict=True):
        access = SubsetAccess.of(set_)
        if isinstance(target, int):
            written[target] = (value, access)
        elif not is_view_at(value, target, set_):
            access.write_in_place(value, target)
    return written


def _carry_tiles(
    nest: Nest, shared: Sequence[ir.Value]
) -> dict[int, tuple[ir.Value, SubsetAccess]]:
    """Do the same with the sequential iterators around the body, which carry a tile each."""
    nest.rename_outputs(shared)
    sets = {target: nest.own_sets[number] for number, target in _tensor_targets(nest)}
    block = nest.op.regions[0].blocks[0]
    needed = [op for set_ in nest.own_sets for op in makers(set_, block)]
    move_here([op for op in nest.body if op in needed])
    order = sorted(sets)
    accesses = {number: SubsetAccess.of(sets[number]) for number in order}

    def body(ivs: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        rename([nest.ivs[dim] for dim in _sequential(nest)], ivs)
        for number, tile in zip(order, carried, strict=True):
            for op in _readers(shared[number]):
                replace_op(op, tile)
        move_here(nest.body)
        results = dict(zip(order, carried, strict=True))
        for target, set_, value in zip(nest.targets, nest.own_sets, nest.values, strict=True):
            if isinstance(target, int):
                results[target] = value
            elif not is_view_at(value, target, set_):
                SubsetAccess.of(set_).write_in_place(value, target)
        return [results[number] for number in order]

    bounds = [nest.bounds[dim] for dim in _sequential(nest)]
    tiles = [accesses[number].read(shared[number]) for number in order]
    results = loops.nest(bounds, tiles, body)
    return {number: (value, accesses[number]) for number, value in zip(order, results, strict=True)}


def _as_tensor(value: ir.Value, access: SubsetAccess) -> tuple[ir.Value, tuple[Any, ...]]:
    """Return a value as a slice, and the operands that put it into a tensor."""
    geometry = access.parallel_geometry()
    if not isinstance(value.type, ir.RankedTensorType):
        type_ = ir.RankedTensorType.get([1] * access.subset.rank, value.type)
        value = tensor.FromElementsOp(type_, [value]).result
    return value, geometry


def _is_read_where_written(nest: Nest, number: int) -> bool:
    argument = nest.arguments[number]
    if argument is None:
        return True
    (set_,) = (
        nest.own_sets[position] for position, target in _tensor_targets(nest) if target == number
    )
    for use in argument.uses:
        user = use.owner.operation
        match user.name:
            case "gml_st.tile" | "gml_st.point" | "gml_st.full" | "tensor.dim":
                continue
            case "gml_st.materialize" if is_same_set(MaterializeView.of(user).set, set_):
                continue
            case "gml_st.set_yield" if argument not in nest.values:
                continue
        return False
    return True


def _readers(shared: ir.Value) -> list[ir.Operation]:
    owners = [use.owner.operation for use in shared.uses]
    return [op for op in owners if op.name == "gml_st.materialize"]


def _read_own_parts(nest: Nest, shared: Sequence[ir.Value]) -> None:
    """Read the shared tensor where the body reads a tensor from outside that is none of its
    arguments.

    Its old elements, at the place that an iteration writes to, stay until that iteration is done.
    Reading the tensor itself would take a copy of all of it.
    """
    block = nest.op.regions[0].blocks[0]
    for position, target in _tensor_targets(nest):
        if nest.arguments[target] is not None:
            continue
        for op in _readers(nest.inits[target]):
            is_own = is_same_set(MaterializeView.of(op).set, nest.own_sets[position])
            if is_own and is_defined_inside(op.results[0], block):
                op.operands[0] = shared[target]


def _tensor_targets(nest: Nest) -> list[tuple[int, int]]:
    """Return the positions of the values that go to tensors, each with that of its tensor."""
    return [
        (number, target) for number, target in enumerate(nest.targets) if isinstance(target, int)
    ]


def _sequential(nest: Nest) -> list[int]:
    return [dim for dim in range(len(nest.bounds)) if dim not in nest.parallel]
