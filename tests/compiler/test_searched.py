"""Kernels of modules that are searched for groups: the same numbers, told, kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError
from linalg_ext.transforms.grouping import Exploration, Search
from linalg_ext.transforms.grouping.outline_groups import ChosenGroup

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
    kernel = lx.compile(TEXT, search=asked, trusted=True)
    np.testing.assert_allclose(kernel(X), np.tanh(np.exp(X)), rtol=1e-5)
    titles = [each.title for each in kernel.explain().decisions]
    assert titles[0] == "groups of @main"
    # Where it measures, it may find that groups gain nothing.
    assert titles[1].startswith("group ") or isinstance(asked, Search)
    assert "moves tried" in str(kernel.explain())


def test_a_jitted_function_is_searched_at_its_first_call() -> None:
    @lx.jit(search="greedy")
    def layer(x: Any, w: Any) -> Any:
        return np.maximum(x @ w, 0)

    np.testing.assert_allclose(layer(X, X), np.maximum(X @ X, 0), rtol=1e-4, atol=1e-4)
    assert "groups of @layer" in str(layer.explain(X, X))


def test_a_module_is_left_alone_where_groups_gain_hardly_anything() -> None:
    @lx.jit(search=True)
    def layer(x: Any, w: Any) -> Any:
        return np.maximum(x @ w, 0)

    told = layer.explain(X, X)
    assert "groups of @layer: the groups that pipelines fuse by default cost hardly more" in str(
        told
    )
    assert not any(isinstance(each, ChosenGroup) for each in told.decisions)


def test_tiles_that_gain_are_taken() -> None:
    @lx.jit(search=True)
    def sums(x: Any, w: Any) -> Any:
        return np.exp(x @ w).sum(axis=-1)

    x, w = np.ones((16400, 16), np.float32), np.full((16, 260), 0.01, np.float32)
    with lx.threads.using(1):
        decisions = sums.explain(x, w).decisions
    (group,) = (each for each in decisions if isinstance(each, ChosenGroup))
    assert group.annotations[0].startswith("tiling = ")
    np.testing.assert_allclose(sums(x, w), np.exp(x @ w).sum(axis=-1), rtol=1e-5)


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
        lx.compile(open_sizes, search=Search(measure=1), trusted=True)
