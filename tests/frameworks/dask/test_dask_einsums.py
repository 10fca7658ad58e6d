"""Einsums of dask arrays against NumPy's of the whole, and what a task is given at most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, NotationError, ShapeError
from linalg_ext.frameworks.dask import blocks

RNG = np.random.default_rng(0)
SIZES = {"i": 6, "j": 7, "k": 5, "l": 4, "b": 3}


@pytest.fixture(autouse=True, params=[0, blocks.PANEL_BYTES], ids=["parts", "panels"])
def panels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With sums in parts wherever a label is cut, and with blocks merged along it."""
    monkeypatch.setattr(blocks, "PANEL_BYTES", request.param)
    with dask.config.set(scheduler="synchronous"):
        yield


def array(labels: str) -> Any:
    """Small integers, whose sums are exact in any order."""
    shape = tuple(SIZES[label] for label in labels)
    return RNG.integers(-4, 5, shape).astype(np.float64)


def cut(whole: Any, first: int = 3) -> Any:
    """In chunks that differ from axis to axis."""
    return da.from_array(whole, chunks=tuple(first + n for n in range(whole.ndim)))


def same(result: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert isinstance(result, da.Array)
    computed = np.asarray(result.compute())
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(computed, expected)


@pytest.mark.parametrize(
    "text",
    [
        "ij,jk->ik",
        "ij,jk,kl->il",
        "bij,bjk->bik",
        "ij,ij->",
        "ij->ji",
        "ij->",
        "ij,jk->k",
        "i,k->ki",
        "ii->i",
        "ii",
        "...j,jk->...k",
        "ij,kj,lj->ikl",
    ],
)
def test_as_numpys_of_the_whole(text: str) -> None:
    terms = text.replace("...", "bi").split("->")[0].split(",")
    arrays = [array(term) for term in terms]
    chunked = [cut(one, 2 + n) for n, one in enumerate(arrays)]
    same(lx.einsum(text, *chunked), np.einsum(text, *arrays))
    same(
        lx.einsum(text, arrays[0], *chunked[1:]) if len(arrays) > 1 else chunked[0],
        (np.einsum(text, *arrays) if len(arrays) > 1 else arrays[0]),
    )


@pytest.mark.parametrize("kind", ["max+", "min+", "max*"])
def test_semirings(kind: str) -> None:
    a, b, c = array("ij"), array("jk"), array("kl")
    whole = lx.einsum("ij,jk,kl->il", a, b, c, kind=kind)
    same(lx.einsum("ij,jk,kl->il", cut(a), cut(b), cut(c), kind=kind), whole)


def test_truth() -> None:
    a, b = array("ij") > 3, array("jk") > 3
    same(lx.einsum("ij,jk->ik", cut(a), cut(b), kind="or and"), a @ b)


def test_axes_of_size_1_are_stretched() -> None:
    a, b = array("ij"), array("ij")[:, :1]
    same(lx.einsum("ij,ij->i", cut(a), cut(b)), np.einsum("ij,ij->i", a, b))


def test_narrow_elements_are_summed_in_wide_ones() -> None:
    a = array("ij").astype(ml_dtypes.bfloat16)
    wide = a.astype(np.float32)
    made = lx.einsum("ij,kj->ik", cut(a), cut(a, 2))
    assert made.dtype == a.dtype
    expected = (wide @ wide.T).astype(a.dtype).astype(np.float32)
    np.testing.assert_array_equal(made.compute().astype(np.float32), expected)
    small = array("ij").astype(np.int8) * 30
    asked = lx.einsum("ij,kj->ik", cut(small), cut(small, 2), dtype=np.int32)
    same(asked, small.astype(np.int32) @ small.T.astype(np.int32))


def test_contract_and_lists_of_labels() -> None:
    a, b = array("ij"), array("jk")
    same(lx.contract(cut(a), cut(b), maps="ij,jk->ik"), a @ b)
    same(lx.einsum(cut(a), [0, 1], cut(b), [1, 2], [0, 2]), a @ b)


def test_nothing_to_sum() -> None:
    same(lx.einsum("ij,jk->ik", da.ones((4, 0)), da.ones((0, 3))), np.zeros((4, 3)))
    same(lx.einsum("ij,jk->ik", da.ones((0, 4), chunks=2), da.ones((4, 3))), np.zeros((0, 3)))


def test_no_task_is_given_more_of_an_operand_than_a_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contraction of two large operands: longer blocks are made, and only so long."""
    limit = 1 << 20
    monkeypatch.setattr(blocks, "PANEL_BYTES", limit)
    large = da.ones((4000, 4000), chunks=100)  # 128 MB in blocks of 80 kB
    product = lx.einsum("ij,jk->ik", large, large)
    assert product.chunks == large.chunks
    largest: dict[str, int] = {}
    for name, layer in product.dask.layers.items():
        collection = getattr(layer, "collection_annotations", None)
        if collection and collection.get("chunks"):
            block = [max(sizes) for sizes in collection["chunks"]]
            largest[name] = int(np.prod(block, dtype=np.int64)) * 8
    assert any("rechunk" in name for name in product.dask.layers)
    assert max(size for name, size in largest.items() if "einsum" not in name) <= limit
    # 1600 blocks of the result, each the sum of 5 products instead of 40.
    partial = next(layer for name, layer in product.dask.layers.items() if name[:6] == "einsum")
    assert len(partial.get_output_keys()) == 1600 * 5


def test_what_has_no_meaning_is_refused() -> None:
    a = cut(array("ij"))
    with pytest.raises(ArgumentError, match=r"dask\.array\.store"):
        lx.einsum("ij->ji", a, out=np.ones((7, 6)))
    with pytest.raises(ArgumentError, match="tune="):
        lx.einsum("ij,kj->ik", a, a, tune=True)
    with pytest.raises(ShapeError, match="compute_chunk_sizes"):
        lx.contract(a[a[:, 0] > 0], a, maps="ij,kj->ik")
    with pytest.raises(ShapeError, match="label 'j' is size"):
        lx.einsum("ij,jk->ik", a, a)
    with pytest.raises(NotationError):
        lx.einsum("ij,jk->iz", a, a)
