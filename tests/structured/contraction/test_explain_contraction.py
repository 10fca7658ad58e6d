"""The table of a contraction: its order, its ops, what it costs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, NotationError, ShapeError
from linalg_ext.module import Module
from linalg_ext.structured import explain_contraction

CHAIN = "ij,jk,kl->il"
SHAPES = [(2, 30), (30, 40), (40, 5)]


def test_the_documented_table() -> None:
    text = sys.modules[explain_contraction.__module__].__doc__ or ""
    table = text.partition(")])\n")[2].rstrip()
    assert repr(explain_contraction(CHAIN, SHAPES)) == table


def test_what_it_costs() -> None:
    found = explain_contraction(CHAIN, SHAPES)
    assert found.plan.total_flops == 2 * (2 * 30 * 40) + 2 * (2 * 40 * 5)
    assert found.plan.naive_flops == 3 * 2 * 30 * 40 * 5
    assert found.speed_up == pytest.approx(36000 / 5600)
    assert found.ops == ("linalg.matmul", "linalg.matmul")


def test_bytes_count_for_the_cheapest_path() -> None:
    """A few more operations are worth while where they write less."""
    text, shapes = "lk,li,i->k", [(10, 2), (10, 3), (3,)]
    quick, small = (
        explain_contraction(text, shapes, path="cost", flops_per_byte=weight).plan
        for weight in (0.0, 100.0)
    )
    assert quick.total_flops < small.total_flops
    assert quick.elements(quick.steps[0]) > small.elements(small.steps[0])


def test_an_op_of_live_ir_is_not_changed() -> None:
    module = Module.parse(
        """func.func @f(%a: tensor<8x?xf32>, %b: tensor<?x7xf32>, %o: tensor<8x7xf32>)
             -> tensor<8x7xf32> {
        %r = linalg.matmul ins(%a, %b : tensor<8x?xf32>, tensor<?x7xf32>)
                           outs(%o : tensor<8x7xf32>) -> tensor<8x7xf32>
        return %r : tensor<8x7xf32> }""",
        trusted=True,
    )
    before = str(module)
    for _ in range(2):
        function = module.ir.body.operations[0]
        op: ir.OpView = function.regions[0].blocks[0].operations[0]
        found = explain_contraction(op)
        assert found.ops == ("linalg.matmul",)
        assert "f32[8,?] . f32[?,7] -> f32[8,7]" in repr(found)
        lx.transforms.raise_to_contract(module)
    assert before != str(module)
    function = module.ir.body.operations[0]
    with pytest.raises(ArgumentError):
        explain_contraction(function.regions[0].blocks[0].operations[1])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: explain_contraction(CHAIN), ArgumentError, "shapes"),
        (lambda: explain_contraction(CHAIN, [(2, 3)]), ArgumentError, "3 terms"),
        (lambda: explain_contraction(CHAIN, [(2, 1), (3, 4), (4, 5)]), ShapeError, "broadcasts j"),
        (lambda: explain_contraction(CHAIN, SHAPES, path="best"), ArgumentError, "'greedy'"),
        (lambda: explain_contraction("ij->ik", [(2, 3)]), NotationError, "no operand"),
        (
            lambda: explain_contraction(lx.ops.exp.definition, [(2,)]),
            NotationError,
            "not an einsum",
        ),
        (lambda: explain_contraction(cast(Any, 3)), ArgumentError, "is not a contraction"),
    ],
)
def test_a_mistake_is_named(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
