"""Statements in order: one meaning for calls, reference, jit, IR, TC and the formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import func, ir
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.equivalence import equivalent
from linalg_ext.definition.model import reads_before, why_several
from linalg_ext.errors import ArgumentError, DefinitionError, NotationError, RecognitionError
from linalg_ext.ir.context import new_context
from linalg_ext.notations import from_yaml, to_yaml
from linalg_ext.notations.ods import to_cpp, to_ods
from linalg_ext.opdsl import (
    TV,
    BinaryFn,
    D,
    ReduceFn,
    S,
    T,
    TensorDef,
    TypeFn,
    UnaryFn,
    const,
    fold,
    size,
    structured_op,
)
from linalg_ext.structured import definition_of
from linalg_ext.structured.operands import bind
from linalg_ext.structured.payload import build_generic
from linalg_ext.symbolic.affine import AffineDim

# an operand is declared by a call as a default, and named as upstream names it
# mypy: allow-untyped-defs
# ruff: noqa: E741

X34 = np.arange(12.0).reshape(3, 4) + 1


@structured_op
def exponential_and_one(
    X=TensorDef(T, S.N), E=TensorDef(T, S.N, output=True), Q=TensorDef(T, S.N, output=True)
):
    E[D.n] = UnaryFn.exp(X[D.n])
    Q[D.n] = E[D.n] + 1


@structured_op
def scaled_rows(
    X=TensorDef(T, S.M, S.N),
    Q=TensorDef(T, S.M, output=True),
    O=TensorDef(T, S.M, S.N, output=True),
):
    Q[D.m] += X[D.m, D.n] * X[D.m, D.n]
    O[D.m, D.n] = X[D.m, D.n] * UnaryFn.rsqrt(Q[D.m])


@structured_op
def both_sums(
    X=TensorDef(T, S.M, S.N), A=TensorDef(T, S.M, output=True), B=TensorDef(T, S.N, output=True)
):
    A[D.m] += X[D.m, D.n]
    B[D.n] += X[D.m, D.n]


@structured_op
def sum_and_mean(X=TensorDef(T, S.N), A=TensorDef(T, output=True), B=TensorDef(T, output=True)):
    A[None] += X[D.n]
    B[None] = A[None] / TypeFn.cast_signed(T, size(S.N))


@structured_op
def symmetric(
    X=TensorDef(T, S.M, S.M),
    E=TensorDef(T, S.M, S.M, output=True),
    O=TensorDef(T, S.M, S.M, output=True),
):
    E[D.m, D.n] = UnaryFn.exp(X[D.m, D.n])
    O[D.m, D.n] = E[D.m, D.n] + E[D.n, D.m]


CASES: dict[str, tuple[Any, Any, list[Any]]] = {
    "element-wise": (exponential_and_one, np.zeros(3), [np.ones(3), np.full(3, 2.0)]),
    "reduction read": (
        scaled_rows,
        X34,
        [(X34**2).sum(1), X34 / np.sqrt((X34**2).sum(1, keepdims=True))],
    ),
    "two reductions": (both_sums, X34, [X34.sum(1), X34.sum(0)]),
    "a size of an operand that a step lacks": (
        sum_and_mean,
        X34[0],
        [np.asarray(X34[0].sum()), np.asarray(X34[0].mean())],
    ),
    "read through other indices": (
        symmetric,
        X34[:, :3] / 9,
        [np.exp(X34[:, :3] / 9), np.exp(X34[:, :3] / 9) + np.exp(X34[:, :3] / 9).T],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_way_gives_what_a_reader_expects(name: str, dtype: Any) -> None:
    op, x, expected = CASES[name]
    x = x.astype(dtype)
    ways = {
        "call": op(x),
        "reference": op.definition.reference(x),
        "jit": lx.jit(lambda a: op(a))(x),
        "built": _built(op, x),
    }
    for way, found in ways.items():
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, err_msg=way)


def _built(op: Any, x: Any) -> Any:
    """As IR, on a tensor of open sizes."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        element = ir.F32Type.get() if x.dtype == np.float32 else ir.F64Type.get()
        open_size = ir.ShapedType.get_dynamic_size()
        kind = ir.RankedTensorType.get([open_size] * x.ndim, element)
        results = [
            ir.RankedTensorType.get([open_size] * output.rank, element)
            for output in op.definition.outputs
        ]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", ([kind], results))
        with ir.InsertionPoint(function.add_entry_block()):
            func.ReturnOp(op(*function.arguments))
        return lx.compile(module, "f")(x)


def test_the_last_of_several_statements_stands_for_them_on_memrefs() -> None:
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        types = [ir.Type.parse(f"memref<{n}xf32>") for n in ("3x4", "3", "3x4")]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", (types, []))
        with ir.InsertionPoint(function.add_entry_block()):
            x, q, o = function.arguments
            last = scaled_rows(x, outs=[q, o])
            func.ReturnOp([])
        names = [op.operation.name for op in function.entry_block.operations]
        assert names == ["linalg.generic", "linalg.generic", "func.return"]
        assert list(last.operands)[-1] == o
        assert module.operation.verify()


def test_what_holds_one_structured_op_refuses_several_and_says_why() -> None:
    why = "reads Q when `Q[m] = add(Q[m], mul(X[m, n], X[m, n]))` is finished"
    for write in (to_yaml, to_ods, lambda op: to_cpp(op, types="f32")):
        with pytest.raises(NotationError, match="several structured ops") as caught:
            write(scaled_rows)
        assert why in str(caught.value)
    assert why_several(both_sums.definition) is None  # upstream's format has room for it
    assert equivalent(from_yaml(to_yaml(both_sums)).definition, both_sums.definition)


def test_no_single_generic_is_built_of_several() -> None:
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        kind = ir.Type.parse("tensor<3xf32>")
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", ([kind] * 3, []))
        with ir.InsertionPoint(function.add_entry_block()):
            x, *outputs = function.arguments
            bound = bind(exponential_and_one.definition, [x], outputs, CallAttributes())
            with pytest.raises(DefinitionError, match=r"not a single linalg\.generic: .* reads E"):
                build_generic(bound)


def test_statements_over_the_same_points_that_are_independent_stay_one_op() -> None:
    for name in ("row_min_max", "column_min_max", "row_argmax", "row_top_two"):
        definition = getattr(lx.ops, name).definition
        assert definition.steps == (definition,)
    assert [s.formula() for s in scaled_rows.definition.steps] == (
        scaled_rows.definition.formula().split("; ")
    )


def test_an_output_that_is_read_before_it_is_written_must_be_given() -> None:
    @structured_op
    def shift(
        X=TensorDef(T, S.N), B=TensorDef(T, S.N, output=True), A=TensorDef(T, S.N, output=True)
    ):
        B[D.n] = A[D.n]
        A[D.n] = X[D.n]

    definition = shift.definition
    assert (reads_before(definition, "A"), reads_before(definition, "B")) == (True, False)
    for run in (shift, definition.reference):
        with pytest.raises(ArgumentError, match="reads A as it was before the op"):
            run(np.ones(3))
        b, a = run(np.ones(3), init=(None, np.full(3, 7.0)))
        assert (list(b), list(a)) == ([7.0] * 3, [1.0] * 3)


def test_a_fold_reads_running_values_and_what_follows_it_finished_ones() -> None:
    @structured_op
    def tops(
        X=TensorDef(T, S.N),
        first=TensorDef(T, output=True),
        second=TensorDef(T, output=True),
        gap=TensorDef(T, output=True),
    ):
        first[None] = fold[D.n](BinaryFn.max(first[None], X[D.n]), init=ReduceFn.max)
        second[None] = fold[D.n](
            BinaryFn.max(second[None], BinaryFn.min(first[None], X[D.n])), init=ReduceFn.max
        )
        gap[None] = first[None] - second[None]

    x = np.array([1.0, 9.0, 3.0, 7.0])
    assert len(tops.definition.steps) == 2
    for found in (tops(x), tops.definition.reference(x), lx.jit(tops)(x)):
        assert [float(each) for each in found] == [9.0, 7.0, 2.0]


def test_order_is_part_of_what_a_definition_is() -> None:
    @structured_op
    def after(
        X=TensorDef(T, S.N), A=TensorDef(T, S.N, output=True), B=TensorDef(T, S.N, output=True)
    ):
        A[D.n] = X[D.n]
        B[D.n] = A[D.n] * A[D.n]

    @structured_op
    def before(
        X=TensorDef(T, S.N), A=TensorDef(T, S.N, output=True), B=TensorDef(T, S.N, output=True)
    ):
        B[D.n] = A[D.n] * A[D.n]
        A[D.n] = X[D.n]

    assert not equivalent(after.definition, before.definition)


SWAP = """
#id = affine_map<(n) -> (n)>
func.func @f(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %r:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%a, %b : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%in: f32, %old: f32, %other: f32):
    linalg.yield %other, %old : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}
"""

PREFIXES = """
#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>
func.func @f(%x: tensor<3x4xf32>, %a: tensor<3xf32>, %b: tensor<3x4xf32>)
    -> (tensor<3xf32>, tensor<3x4xf32>) {
  %r:2 = linalg.generic {indexing_maps = [#mn, #m, #mn], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x4xf32>) outs(%a, %b : tensor<3xf32>, tensor<3x4xf32>) {
  ^bb0(%in: f32, %sum: f32, %other: f32):
    %new = arith.addf %sum, %in : f32
    linalg.yield %new, %sum : f32, f32
  } -> (tensor<3xf32>, tensor<3x4xf32>)
  return %r#0, %r#1 : tensor<3xf32>, tensor<3x4xf32>
}
"""

BOTH = """
#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>
#n = affine_map<(m, n) -> (n)>
func.func @f(%x: tensor<MxNxTYPE>, %a: tensor<MxTYPE>, %b: tensor<NxTYPE>)
    -> (tensor<MxTYPE>, tensor<NxTYPE>) {
  %r:2 = linalg.generic {indexing_maps = [#mn, #m, #n], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<MxNxTYPE>) outs(%a, %b : tensor<MxTYPE>, tensor<NxTYPE>) {
  ^bb0(%in: TYPE, %rows: TYPE, %columns: TYPE):
    %p = ADD %rows, %in : TYPE
    %q = ADD %columns, %in : TYPE
    linalg.yield %p, %q : TYPE, TYPE
  } -> (tensor<MxTYPE>, tensor<NxTYPE>)
  return %r#0, %r#1 : tensor<MxTYPE>, tensor<NxTYPE>
}
"""


def _generic(text: str) -> Any:
    module = ir.Module.parse(text)
    return module, next(iter(module.body.operations[0].regions[0].blocks[0].operations))


def test_a_generic_is_read_as_what_it_does() -> None:
    with new_context():
        _, generic = _generic(SWAP)
        a, b = np.arange(4.0), np.arange(4.0) + 10
        found = definition_of(generic).reference(a, init=(a, b))
        assert [list(each) for each in found] == [list(b), list(a)]
        _, generic = _generic(PREFIXES)
        with pytest.raises(RecognitionError, match="reads the partial reduction of another output"):
            definition_of(generic)


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (17, 33), (64, 128), (2, 0)])
@pytest.mark.parametrize(("element", "add"), [("f32", "arith.addf"), ("i32", "arith.addi")])
def test_a_generic_that_reduces_each_output_over_another_loop_is_compiled(
    shape: tuple[int, int], element: str, add: str
) -> None:
    text = BOTH.replace("TYPE", element).replace("ADD", add)
    text = text.replace("Mx", f"{shape[0]}x").replace("Nx", f"{shape[1]}x")
    x = np.arange(np.prod(shape)).reshape(shape) % 7
    x = x.astype("f4" if element == "f32" else "i4")
    zeros = [np.zeros(size, x.dtype) for size in shape]
    rows, columns = lx.compile(text)(x, *zeros)
    np.testing.assert_array_equal(rows, x.sum(1, dtype=x.dtype))
    np.testing.assert_array_equal(columns, x.sum(0, dtype=x.dtype))


def test_tc_has_a_comprehension_for_each_step() -> None:
    text = lx.to_tc(scaled_rows, "f32").replace("std_rsqrtf", "std_rsqrtf")
    assert text.count(";") == 2
    back = lx.tc(text)
    assert equivalent(back.definition, lx.tc(lx.to_tc(back)).definition)
    x = X34.astype("f4")
    for one, other in zip(back(x), scaled_rows(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_dimension_that_nothing_is_indexed_by_is_refused() -> None:
    with pytest.raises(DefinitionError, match="dimension k is reduced, and nothing is indexed"):

        @structured_op
        def count(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
            C[D.m] = ReduceFn.add[D.k](A[D.m])


def test_a_step_may_reduce_over_a_dimension_that_only_another_one_reads() -> None:
    @structured_op
    def counted(X=TensorDef(T, S.N), A=TensorDef(T, S.N, output=True), C=TensorDef(T, output=True)):
        A[D.n] = X[D.n] * 2
        C[None] = ReduceFn.add[D.n](TypeFn.cast_signed(T, const(1)))

    for found in (counted(np.ones(5)), counted.definition.reference(np.ones(5))):
        assert float(found[1]) == 5.0


def test_names_are_one_object_each() -> None:
    assert D.a is D.a
    assert S.a is S.a
    assert TV.Own is TV.Own
    assert isinstance(D.a, AffineDim)
