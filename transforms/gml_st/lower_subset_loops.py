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
the order of the iterations, so that sums of floats are the same each time. Of a memref a tile is
a view, a point is loaded and stored, and what is yielded is written in place.

What only the run knows is checked there: the indices of a filter, the steps of loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from linalg_ext.bindings import arith, cf, ir, memref
from linalg_ext.errors import ArgumentError, LoweringError
from linalg_ext.executable.explanation import Told
from linalg_ext.gml_st.ir.inference import static
from linalg_ext.gml_st.ir.op_views import LOOPS, NAMESPACE, MaterializeView
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.indices import Emitter
from linalg_ext.transforms.ir_utils.walking import operations, place, replace_op, select

from ._in_order import lower_in_order
from ._in_parallel import lower_in_parallel, reason_for_order
from ._nest import Nest
from ._set_elements import Place
from ._set_queries import QUESTIONS, answer

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
        with _at(op):
            report.changed[op.name] += 1
            _lower_loop(op, report)
    for op in operations(module, {"gml_st.materialize", *QUESTIONS}):
        with _at(op):
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
        _check_step(step)
    reason = reason_for_order(nest)
    if nest.parallel and reason is not None:
        report.decisions.append(Told(op.name, (("iterations in order", reason),)))
    results = lower_in_parallel(nest) if reason is None else lower_in_order(nest)
    replace_op(op, *results)


def _check_step(step: ir.Value) -> None:
    if static(step) is None:
        positive = arith.CmpIOp(arith.CmpIPredicate.sgt, step, Emitter().value(0)).result
        cf.AssertOp(positive, STEP_TOO_SMALL)


def _read(op: ir.Operation) -> ir.Value:
    view = MaterializeView.of(op)
    value = Place.of(view.set).read(view.source)
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


@contextmanager
def _at(op: ir.Operation) -> Iterator[None]:
    """The location and the place of an op, for what is built and for errors."""
    try:
        with op.location, ir.InsertionPoint(op):
            yield
    except ArgumentError as error:
        # Nothing raises once the op is gone.
        raise LoweringError(
            error.what, where=place(op), expected=error.expected, hint=error.hint
        ) from error
