"""Give each iteration of an accumulating parallel loop a result of its own, combined afterwards.

before:
    %r = "gml_st.parallel"(%c0, %c8, %c1) ({
    ^bb0(%i: index):
      %xp = "gml_st.point"(%x, %i) {static_indices = array<i64: -9223372036854775808>}
            : (tensor<8xf32>, index) -> !gml_st.element
      %v = "gml_st.materialize"(%x, %xp) : (tensor<8xf32>, !gml_st.element) -> f32
      %yp = "gml_st.point"(%y) {static_indices = array<i64>} : (tensor<f32>) -> !gml_st.element
      "gml_st.set_yield"(%v, %y, %yp) ({
      ^bb0(%new: f32, %old: f32):
        %s = arith.addf %new, %old : f32
        "gml_st.yield"(%s) ({}) {operandSegmentSizes = array<i32:
            1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (f32) -> ()
      }) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0,
          1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (f32, tensor<f32>, !gml_st.element) -> ()
    }) {operandSegmentSizes = array<i32: 1, 1, 1>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index) -> tensor<f32>
after:
    %e = tensor.empty() : tensor<8xf32>
    %p = "gml_st.parallel"(%c0, %c8, %c1) ({
    ^bb0(%i: index):
      %xp = "gml_st.point"(%x, %i) {static_indices = array<i64: -9223372036854775808>}
            : (tensor<8xf32>, index) -> !gml_st.element
      %v = "gml_st.materialize"(%x, %xp) : (tensor<8xf32>, !gml_st.element) -> f32
      %ep = "gml_st.point"(%e, %i) {static_indices = array<i64: -9223372036854775808>,
                                    operandSegmentSizes = array<i32: 1, 1>}
            : (tensor<8xf32>, index) -> !gml_st.element
      "gml_st.set_yield"(%v, %e, %ep) ({}) {operandSegmentSizes = array<i32:
          1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (f32, tensor<8xf32>, !gml_st.element) -> ()
    }) {operandSegmentSizes = array<i32: 1, 1, 1>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index) -> tensor<8xf32>
    %r = "gml_st.for"(%c0, %c8, %c1, %y) ({
    ^bb0(%i: index, %o: tensor<f32>):
      %pp = "gml_st.point"(%p, %i) {static_indices = array<i64: -9223372036854775808>,
                                    operandSegmentSizes = array<i32: 1, 1>}
            : (tensor<8xf32>, index) -> !gml_st.element
      %v = "gml_st.materialize"(%p, %pp) : (tensor<8xf32>, !gml_st.element) -> f32
      %yp = "gml_st.point"(%y) {static_indices = array<i64>} : (tensor<f32>) -> !gml_st.element
      "gml_st.set_yield"(%v, %o, %yp) ({
      ^bb0(%new: f32, %old: f32):
        %s = arith.addf %new, %old : f32
        "gml_st.yield"(%s) ({}) {operandSegmentSizes = array<i32:
            1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (f32) -> ()
      }) {accumulator_flags = array<i1: true>, operandSegmentSizes = array<i32:
          1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (f32, tensor<f32>, !gml_st.element) -> ()
    }) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (index, index, index, tensor<f32>) -> tensor<f32>

No iteration of the first loop waits for another: its iterations may run at once. The second one
combines in the order of the iterations, so that each run gives the same sum of floats, whatever the
number of threads. The price is memory for the results of all iterations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linalg_ext.bindings import ir, tensor
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.op_views import ACCUMULATOR_FLAGS, LoopView, YieldView
from linalg_ext.dialects.gml_st.ir.sets import is_filter
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.symbolic.integers import Number, ceildiv, floordiv, maximum
from linalg_ext.transforms.ir_utils.walking import copied, operations, replace_each

from ._nest import makers, may_move, move_here, rename

NAME = "linalg-ext-privatize-accumulators"


@module_pass(NAME, on="gml_st.parallel")
def privatize_accumulators(module: ir.Operation) -> Report:
    """Split accumulating parallel loops into one without and a sequential one that combines."""
    return replace_each(NAME, operations(module, {"gml_st.parallel"}), _privatized)


def _privatized(op: ir.Operation) -> list[ir.Value] | str | None:
    """Return the results of both loops; a text says why a loop that accumulates stays."""
    view = LoopView.of(op)
    if not any(view.terminator.accumulated):
        return None
    return _reason_against(view) or _split(view)


def _reason_against(view: LoopView) -> str | None:
    end = view.terminator
    for number, flag in enumerate(end.accumulated):
        if not isinstance(end.destinations[number].type, ir.RankedTensorType):
            return "the loop writes to memory"
        if not flag:
            continue
        type_ = end.sources[number].type
        if isinstance(type_, ir.RankedTensorType) and not type_.has_static_shape:
            return "the sizes of the accumulated value are known at run time only"
        if is_filter(end.sets[number]):
            return "a filter is not a rectangle"
        if not all(map(may_move, makers(end.sets[number], view.body))):
            return "the place in the output is computed by ops that cannot be repeated"
    return None


def _split(view: LoopView) -> list[ir.Value]:
    """Build both loops at the insertion point; return a result for each destination."""
    end = view.terminator
    own = [number for number, flag in enumerate(end.accumulated) if flag]
    plain = [number for number, flag in enumerate(end.accumulated) if not flag]
    bounds = (list(view.lower), list(view.upper), list(view.step))
    counts = _counts(view)
    partials = [_empty(counts, end.sources[number].type) for number in own]
    with gml_st.parallel(*bounds, distribution=view.distribution) as first:
        rename(view.ivs, first.ivs)
        body = [op.operation for op in list(view.body.operations)[:-1]]
        move_here(body)
        # A value may be an argument of the body: it has another name now.
        end = YieldView.of(end.op)
        index = _position(view, first.ivs)
        private = [
            _put(end.sources[number], index, partial)
            for number, partial in zip(own, partials, strict=True)
        ]
        gml_st.set_yield(
            [*(end.sources[number] for number in plain), *(value for value, _ in private)],
            into=[*(end.destinations[number] for number in plain), *partials],
            at=[*(end.sets[number] for number in plain), *(set_ for _, set_ in private)],
        )
    by_number = dict(zip(plain, first.results, strict=False))
    sums = first.results[len(plain) :]
    with gml_st.for_(*bounds, outs=[end.destinations[number] for number in own]) as second:
        index = _position(view, second.ivs)
        parts = [
            _get(whole, index, end.sources[number].type)
            for number, whole in zip(own, sums, strict=True)
        ]
        copies = dict(zip(first.ivs, second.ivs, strict=True))
        sets = [_copied(end.sets[number], body, copies) for number in own]
        gml_st.set_yield(parts, into=second.outs, at=sets)
        _accumulate(end)
    by_number.update(zip(own, second.results, strict=True))
    return [by_number[number] for number in range(len(end.sources))]


def _accumulate(end: YieldView) -> None:
    """Move the combiner of a `gml_st.set_yield` to the one that was just built."""
    built = list(ir.InsertionPoint.current.block.operations)[-1].operation
    if end.combiner is not None:
        end.combiner.append_to(built.regions[0])
    flags = [True] * sum(end.accumulated)
    built.attributes[ACCUMULATOR_FLAGS] = ir.DenseBoolArrayAttr.get(flags)


def _counts(view: LoopView) -> list[int | ir.Value]:
    read, emitter = IndexReader(), Emitter()
    return emitter.mixed(
        [
            maximum(ceildiv(read(upper) - read(lower), read(step)), 0)
            for lower, upper, step in zip(view.lower, view.upper, view.step, strict=True)
        ]
    )


def _position(view: LoopView, ivs: Sequence[ir.Value]) -> list[int | ir.Value]:
    read, emitter = IndexReader(), Emitter()
    numbers: list[Number] = [
        floordiv(read(iv) - read(lower), read(step))
        for iv, lower, step in zip(ivs, view.lower, view.step, strict=True)
    ]
    return emitter.mixed(numbers)


def _empty(counts: Sequence[int | ir.Value], type_: ir.Type) -> ir.Value:
    """Build a tensor for a value of this type from each iteration."""
    if isinstance(type_, ir.RankedTensorType):
        return tensor.EmptyOp([*counts, *type_.shape], type_.element_type).result
    return tensor.EmptyOp(list(counts), type_).result


def _put(
    value: ir.Value, index: Sequence[int | ir.Value], into: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Return a value as a part of the room of all iterations, and the set that it goes to."""
    if not isinstance(value.type, ir.RankedTensorType):
        return value, gml_st.point(into, index)
    slice_ = _slice_type(value.type, len(index))
    groups = _groups(value.type.rank, len(index))
    expanded = tensor.ExpandShapeOp(slice_, value, groups, [], list(slice_.shape)).result
    return expanded, gml_st.tile(into, [*index, *[0] * value.type.rank], list(slice_.shape))


def _get(whole: ir.Value, index: Sequence[int | ir.Value], type_: ir.Type) -> ir.Value:
    """Read the value that an iteration has put into `whole`."""
    if not isinstance(type_, ir.RankedTensorType):
        return gml_st.materialize(whole, gml_st.point(whole, index))
    slice_ = _slice_type(type_, len(index))
    set_ = gml_st.tile(whole, [*index, *[0] * type_.rank], list(slice_.shape))
    part = gml_st.materialize(whole, set_)
    return tensor.CollapseShapeOp(type_, part, _groups(type_.rank, len(index))).result


def _slice_type(type_: ir.RankedTensorType, more: int) -> ir.RankedTensorType:
    return ir.RankedTensorType.get([*[1] * more, *type_.shape], type_.element_type)


def _groups(rank: int, more: int) -> list[list[int]]:
    """Return the dimensions of a slice that form each dimension of a value.

    The first group includes those of the iterators.
    """
    if rank == 0:
        return []
    return [[*range(more), more], *([more + dim] for dim in range(1, rank))]


def _copied(
    set_: ir.Value, body: Sequence[ir.Operation], values: Mapping[ir.Value, ir.Value]
) -> ir.Value:
    """Compute a set again from other induction variables."""
    names: dict[ir.Value, ir.Value] = dict(values)
    needed = makers(set_, body[0].block) if body else []
    for op in body:
        if op in needed:
            copied(op, names)
    return names.get(set_, set_)
