"""The dialect `linalg_ext`: built, printed, read again, and refused with a place and a reason."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import linalg_ext as lx
from linalg_ext.bindings import func, ir
from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import ArityError, DTypeError, LinalgExtError, ShapeError, VerificationError
from linalg_ext.ir.context import ensure_dialects, new_context

ours = lx.dialects.linalg_ext

NOT_A_VALUE: Any = 3
SEGMENTS = {n: ", ".join(["1"] * n + ["0"] * (25 - n) + ["1"]) for n in (1, 2, 3)}

CHAIN = f"""
func.func @chain(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<4x5xf32>,
                 %o: tensor<2x5xf32>) -> tensor<2x5xf32> {{
  %r = "linalg_ext.contract"(%a, %b, %c, %o) {{indexing_maps = [
      affine_map<(i, l, j, k) -> (i, j)>, affine_map<(i, l, j, k) -> (j, k)>,
      affine_map<(i, l, j, k) -> (k, l)>, affine_map<(i, l, j, k) -> (i, l)>], kind = "+*",
      operandSegmentSizes = array<i32: {SEGMENTS[3]}>}}
      : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  return %r : tensor<2x5xf32>
}}"""

SUM = f"""
func.func @sum(%x: tensor<16xf32>, %y: tensor<16x64xbf16>, %o: tensor<16x64xf32>)
    -> tensor<16x64xf32> {{
  %r = "linalg_ext.elementwise"(%x, %y, %o) {{kind = #linalg.elementwise_kind<add>,
      broadcast_a = [1], operandSegmentSizes = array<i32: {SEGMENTS[2]}>}}
      : (tensor<16xf32>, tensor<16x64xbf16>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}}"""


def definition(text: str) -> OpDefinition:
    module = lx.parse(text)  # an op does not keep its module alive
    entry = module.ir.body.operations[0].operation
    return lx.structured.definition_of(entry.regions[0].blocks[0].operations[0])


@pytest.mark.parametrize("text", [CHAIN, SUM])
def test_the_generic_form_reads_back_byte_for_byte(text: str) -> None:
    module = lx.parse(text)
    assert str(lx.parse(str(module))) == str(module)
    assert str(module.successor(module.bytecode())) == str(module)


def test_a_contract_is_its_einsum() -> None:
    assert definition(CHAIN).formula() == (
        "D[d0, d1] = Σ_{d2, d3} A[d0, d2] * B[d2, d3] * C[d3, d1]"
    )


def test_sugar_says_what_the_operand_is_read_by() -> None:
    (assignment,) = definition(SUM).assignments
    assert str(assignment) == "O[d0, d1] = add(A[d0], cast_signed(T1, B[d0, d1]))"


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (CHAIN, "(j, k)>", "(k, j)>", "dimension d2 is 3 for A"),
        (CHAIN, "(k, l)>", "(k + l, l)>", r"has the index d1 \+ d3"),
        (CHAIN, "(i, l)>]", "(i, i)>]", "has a dimension twice"),
        (CHAIN, "indexing_maps", "maps", "indexing_maps is missing"),
        (CHAIN, '"+*"', '"+-"', "no kind '\\+-'"),
        (CHAIN, '"+*"', "7", "kind = 7 : i64 is not text"),
        (CHAIN, "affine_map<(i, l, j, k) -> (i, j)>,", "", "3 maps for 4 operands"),
        (CHAIN, "(i, l, j, k) -> (k, l)", "(i, l, j, k, m) -> (k, l)", "one iteration space"),
        (SUM, "[1]", "[0]", "dimension d1 is 16 for A .* size 64"),
        (SUM, "[1]", "[2]", "adds dimension 2"),
        (SUM, "[1]", "[1, 1]", "adds a dimension twice"),
        (SUM, "[1]", '"x"', "expected a list of integers"),
        (SUM, "broadcast_a", "broadcast_q", "broadcast_q is of no operand"),
        (SUM, "broadcast_a = [1]", "permutation_b = [1, 1]", "not a permutation"),
        (SUM, "broadcast_a = [1]", "map_a = affine_map<(d0) -> (d0)>", "of 1 dimension|rank"),
        (SUM, "<add>", "<exp>", "kind exp is applied to 2"),
        (SUM, "kind = #linalg.elementwise_kind<add>,", "", "kind is missing"),
        (SUM, "#linalg.elementwise_kind<add>", '"plus"', "not an element-wise function"),
        (SUM, "<add>", "<add>, linalg_ext.compute_type = 3", "expected a type"),
    ],
)
def test_what_breaks_a_rule_is_refused_at_its_line(
    text: str, old: str, new: str, message: str
) -> None:
    assert old in text
    with pytest.raises(VerificationError, match=message) as caught:
        lx.parse(text.replace(old, new, 1))
    assert f"-:{text[: text.index('%r')].count(chr(10)) + 1}:" in str(caught.value)


def test_an_integer_has_no_exponential() -> None:
    text = SUM.replace("<add>", "<powf>").replace("f32", "i32").replace("bf16", "i32")
    with pytest.raises(VerificationError, match="powf has no meaning for i32"):
        lx.parse(text.replace("bi32", "i32"))


def test_a_yield_belongs_in_an_op_of_the_dialect() -> None:
    with pytest.raises(VerificationError, match=r"ends a region of func\.func"):
        lx.parse('func.func @f() { "linalg_ext.yield"() : () -> () }')


def built(body: Callable[..., object], *shapes: tuple[int, ...]) -> str:
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            types = [ir.RankedTensorType.get(shape, ir.F32Type.get()) for shape in shapes]
            func.FuncOp.from_py_func(*types, name="f")(body)
        assert module.operation.verify()
        return str(module)


def test_a_builder_makes_the_destination() -> None:
    text = built(
        lambda a, b, c: ours.contract(a, b, c, maps="ij,jk,kl->il"), (2, 3), (3, 4), (4, 5)
    )
    assert "linalg.fill" in text
    assert '"linalg_ext.contract"(%arg0, %arg1, %arg2, %1)' in text
    assert "-> tensor<2x5xf32>" in text


def test_a_destination_that_is_only_written_is_overwritten() -> None:
    text = built(lambda a, b: ours.contract(a, b, maps="i,j->ij", kind="max+"), (2,), (3,))
    assert "linalg.fill" not in text
    assert "overwrite" in text
    assert 'kind = "max+"' in text


def test_maps_may_be_texts_or_maps_of_mlir() -> None:
    def body(a: ir.Value, b: ir.Value) -> object:
        maps: list[Any] = [
            "(i, j) -> (i)",
            "affine_map<(i, j) -> (i, j)>",
            ir.AffineMap.get_identity(2),
        ]
        return ours.elementwise("mul", a, b, maps=maps, compute_type="f64")

    text = built(body, (2,), (2, 3))
    assert "linalg_ext.compute_type = f64" in text
    assert "#linalg.elementwise_kind<mul>" in text


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda a, b: ours.contract(a, b, maps="ij,kl->jk"), None, ""),
        (lambda a, b: ours.contract(a, b, maps="ij,ik->jk"), ShapeError, "dimension d2 is 2 for A"),
        (lambda a, b: ours.contract(a, maps="ij,jk->ik"), ArityError, "2 terms for 1 operands"),
        (lambda a, b: ours.contract(a, b, maps=["(i) -> (i)"]), ArityError, "1 maps are given"),
        (
            lambda a, b: ours.contract(a, NOT_A_VALUE, maps="ij,jk->ik"),
            DTypeError,
            "operand 1 is 3",
        ),
        (lambda a, b: ours.contract(maps="->"), ArityError, "0 operands|of 0 inputs"),
        (lambda a, b: ours.elementwise("plus", a, maps="i->i"), LinalgExtError, "no kind 'plus'"),
        (lambda a, b: ours.elementwise("add", a, maps="ij->ij"), LinalgExtError, "applied to 1"),
        (lambda a, b: ours.contract(a, b, maps="...,jk->jk"), LinalgExtError, "no ellipsis"),
    ],
)
def test_a_builder_refuses_and_leaves_nothing(
    wrong: Callable[..., object], error: type[Exception] | None, message: str
) -> None:
    def body(a: ir.Value, b: ir.Value) -> None:
        if error is None:
            wrong(a, b)
            return
        with pytest.raises(error, match=message):
            wrong(a, b)

    text = built(body, (2, 3), (3, 4))
    assert ("linalg_ext.contract" in text) == (error is None)
    assert "linalg_ext.elementwise" not in text


def test_a_context_of_somebody_else_gets_the_dialect_once() -> None:
    context = ir.Context()
    ensure_dialects(context)
    ensure_dialects(context)
    assert context.is_registered_operation("linalg_ext.contract")


def test_no_context_lives_longer_than_who_holds_it() -> None:
    contexts = [new_context() for _ in range(2)]
    left = [weakref.ref(context) for context in contexts]
    del contexts
    assert [context() for context in left] == [None, None]


def test_contexts_made_by_threads_at_once_all_have_it() -> None:
    found: list[bool] = []

    def make() -> None:
        for _ in range(5):
            found.append(new_context().is_registered_operation("linalg_ext.elementwise"))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 20


def test_unused_ops_are_removed() -> None:
    module = lx.parse(CHAIN.replace("return %r", "return %o"))
    module.run("canonicalize")
    assert "linalg_ext" not in str(module)
