"""Upstream's passes, without the patterns that change what a module computes."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.ir.context import borrowed_context, kept_with, new_context
from linalg_ext.runtime.passes import pass_manager, sound

SPREAD = """
func.func @main(%x: tensor<3xf32>) -> tensor<11xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<3xf32> to tensor<5xf32>
  %e = tensor.empty() : tensor<11xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<11xf32>) -> tensor<11xf32>
  %r = tensor.insert_slice %p into %zeros[1] [5] [2] : tensor<5xf32> into tensor<11xf32>
  return %r : tensor<11xf32>
}
"""
X = np.array([1, 2, 3], np.float32)
WANTED = np.array([0, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0], np.float32)


def test_what_is_padded_and_spread_lands_where_it_should() -> None:
    np.testing.assert_array_equal(lx.compile(SPREAD)(X), WANTED)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    "pipeline",
    [
        "canonicalize",
        "inline",
        "inline{op-pipelines=func.func(canonicalize)}",
        "inline{op-pipelines={func.func(cse,canonicalize{max-iterations=2})}}",
        "inline{default-pipeline=canonicalize,cse}",
        "canonicalize{max-iterations=2}",
        "--canonicalize",
        "composite-fixed-point-pass{pipeline=func.func(canonicalize)}",
        "linalg-fold-unit-extent-dims",
        "func.func(cse,linalg-fold-unit-extent-dims{use-rank-reducing-slices=true},cse)",
        "composite-fixed-point-pass{pipeline=func.func(linalg-fold-unit-extent-dims)}",
        "linalg-fold-unit-extent-dims,buffer-deallocation-pipeline",
    ],
)
def test_pipelines_of_users(pipeline: str, trusted: bool) -> None:
    module = lx.parse(SPREAD)
    module.run(pipeline, trusted=trusted)
    np.testing.assert_array_equal(lx.compile(module)(X), WANTED)


@pytest.mark.parametrize(
    "text",
    [
        "canonicalize",
        "func.func(canonicalize{top-down=false},cse)",
        "inline,cse",
        "inline{max-iterations=2}",
        "inline{default-pipeline=cse}",
        "inline{default-pipeline=canonicalize}",
        "inline{default-pipeline={canonicalize} max-iterations=2}",
        "remove-dead-values{canonicalize=true},cse, canonicalize",
        "canonicalize{disable-patterns=one,two max-iterations=3}",
        "buffer-deallocation-pipeline,canonicalize",
    ],
)
def test_texts_can_be_read(text: str) -> None:
    context = new_context()
    manager = str(pass_manager("builtin.module", context, text))
    assert manager.count("canonicalize{") == manager.count("FoldInsertPadIntoFill,{")
    assert "default-pipeline=canonicalize" not in manager


def test_options_are_kept() -> None:
    context = new_context()
    text = "canonicalize{disable-patterns=one,two max-iterations=3}"
    manager = str(pass_manager("builtin.module", context, text))
    assert "max-iterations=3" in manager
    assert ",one,two}" in manager


@pytest.mark.parametrize(
    "text",
    [
        "cse",
        "inline{default-pipeline=cse}",
        "linalg-ext-canonicalize-subset-loops",
        "remove-dead-values{canonicalize=true}",
        "composite-fixed-point-pass{name=inline pipeline=cse}",
    ],
)
def test_others_are_left_as_they_are(text: str) -> None:
    assert sound(text) == text


def test_a_context_on_loan_keeps_its_pass_managers_for_the_next_borrower() -> None:
    with borrowed_context() as loan:
        first = pass_manager("builtin.module", loan.context, "cse")
    with borrowed_context() as again:
        assert again.context is loan.context
        assert pass_manager("builtin.module", again.context, "cse") is first
        assert pass_manager("builtin.module", again.context, "canonicalize") is not first


def test_a_context_of_its_own_keeps_none() -> None:
    context = new_context()
    made = [pass_manager("builtin.module", context, "cse") for _ in range(2)]
    assert made[0] is not made[1]


def test_a_context_that_is_not_lent_again_keeps_none() -> None:
    with borrowed_context() as loan:
        pass_manager("builtin.module", loan.context, "cse")
        loan.keep = False
    assert kept_with(loan.context) is None


def test_a_pass_that_keeps_its_functions_runs_anew() -> None:
    """Powers of integers become calls of a function of their own module."""
    texts = [
        f"""
        func.func @f(%a: {type_}, %b: {type_}) -> {type_} {{
          %r = math.ipowi %a, %b : {type_}
          return %r : {type_}
        }}"""
        for type_ in ("i32", "i64", "i32")
    ]
    with borrowed_context() as loan:
        for text in texts:
            module = ir.Module.parse(text, loan.context)
            pass_manager("builtin.module", loan.context, "convert-math-to-funcs").run(
                module.operation
            )
            assert "func.func private @__mlir_math_ipowi" in str(module)
            assert module.operation.verify()
            del module
