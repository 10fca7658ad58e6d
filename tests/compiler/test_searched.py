"""Kernels of modules that are searched for groups: the same numbers, told, kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError
from linalg_ext.transforms.grouping import Exploration, Search

TEXT = """
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  %a = linalg.exp ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = linalg.tanh ins(%a : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %b : tensor<64x64xf32>
}"""
X = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)


@pytest.mark.parametrize("asked", [True, "beam", Search("anneal", moves=50, measure=1)])
def test_a_searched_module_computes_the_same(asked: Any) -> None:
    kernel = lx.compile(TEXT, search=asked)
    np.testing.assert_allclose(kernel(X), np.tanh(np.exp(X)), rtol=1e-5)
    titles = [each.title for each in kernel.explain().decisions]
    assert titles[0] == "groups of @main"
    assert titles[1].startswith("group ")
    assert "moves tried" in str(kernel.explain())


def test_a_jitted_function_is_searched_at_its_first_call() -> None:
    @lx.jit(search="greedy")
    def layer(x: Any, w: Any) -> Any:
        return np.maximum(x @ w, 0)

    np.testing.assert_allclose(layer(X, X), np.maximum(X @ X, 0), rtol=1e-4, atol=1e-4)
    assert "groups of @layer" in str(layer.explain(X, X))


def test_what_was_found_is_kept_with_the_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path / "kernels"))
    made, found = (lx.compile(TEXT, search=True) for _ in range(2))
    assert (made.is_kept, found.is_kept) == (False, True)
    assert str(found.explain()) == str(made.explain())
    assert not lx.compile(TEXT).is_kept
    assert not lx.compile(TEXT, search="beam").is_kept

    def none(x: Exploration) -> None:
        pass

    for _ in range(2):
        assert not lx.compile(TEXT, search=Search(none)).is_kept


def test_what_cannot_be_searched_is_named() -> None:
    branches = "func.func @f(%x: i32) -> i32 { cf.br ^b(%x : i32)\n^b(%y: i32): return %y : i32 }"
    with pytest.raises(ArgumentError, match=r"(?s)@f has 2 blocks.*lift-cf-to-scf"):
        lx.compile(branches, search=True)
    open_sizes = TEXT.replace("64x64", "?x64").replace(
        "%e = tensor.empty()",
        "%i = arith.constant 0 : index\n%n = tensor.dim %x, %i : tensor<?x64xf32>\n"
        "%e = tensor.empty(%n)",
    )
    np.testing.assert_allclose(lx.compile(open_sizes, search=True)(X), np.tanh(np.exp(X)), 1e-5)
    with pytest.raises(ArgumentError, match=r"(?s)cannot be measured: .*leave out measure="):
        lx.compile(open_sizes, search=Search(measure=1))
