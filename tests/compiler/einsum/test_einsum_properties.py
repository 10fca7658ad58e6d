"""Random einsums against NumPy's, and semirings against plain loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from einsum_examples import Example, examples
from einsum_ways import WAYS, computed


@pytest.mark.parametrize("way", WAYS)
def test_equals_numpy(way: str) -> None:
    @settings(max_examples=80, deadline=None)
    @given(examples(), st.sampled_from([False, "auto", "greedy"]), st.sampled_from("CFAK"))
    def check(example: Example, optimize: Any, order: Any) -> None:
        want = np.einsum(example.text, *example.operands)
        with computed(way):
            got = lx.einsum(example.text, *example.operands, optimize=optimize, order=order)
        assert np.asarray(got).dtype == want.dtype
        np.testing.assert_array_equal(got, want)
        if order in "CF" and want.ndim:
            assert got.flags[f"{order}_CONTIGUOUS"]

    check()


@pytest.mark.parametrize("way", WAYS)
def test_out_equals_numpy(way: str) -> None:
    @settings(max_examples=25, deadline=None)
    @given(examples(dtypes=("i4", "f8")), st.booleans())
    def check(example: Example, strided: bool) -> None:
        want = np.einsum(example.text, *example.operands)
        dtype = np.result_type(*example.operands)
        shape = np.shape(want)
        out = np.full((2, *shape), 77, dtype)[0, ...]
        if strided and out.ndim:
            out = np.full((*shape, 2), 77, dtype)[..., 1]
        with computed(way):
            assert lx.einsum(example.text, *example.operands, out=out) is out
        np.testing.assert_array_equal(out, want)

    check()


def _by_loops(example: Example, zero: Any, add: Callable[..., Any], mul: Callable[..., Any]) -> Any:
    left, _, output = example.text.partition("->")
    terms = left.split(",")
    sizes: dict[str, int] = {}
    for term, operand in zip(terms, example.operands, strict=True):
        for label, size in zip(term, operand.shape, strict=True):
            sizes[label] = max(size, sizes.get(label, 1)) if size else 0
    reduced = [label for label in sizes if label not in output]
    result = np.full([sizes[label] for label in output], zero)
    for point in itertools.product(*(range(sizes[label]) for label in [*output, *reduced])):
        at = dict(zip([*output, *reduced], point, strict=True))
        factors = [
            operand[
                tuple(min(at[x], size - 1) for x, size in zip(term, operand.shape, strict=True))
            ]
            for term, operand in zip(terms, example.operands, strict=True)
        ]
        value = factors[0]
        for factor in factors[1:]:
            value = mul(value, factor)
        place = tuple(at[label] for label in output)
        result[place] = add(result[place], value)
    return result


SEMIRINGS: dict[str, tuple[Any, Callable[..., Any], Callable[..., Any]]] = {
    "max+": (-np.inf, max, lambda x, y: x + y),
    "min+": (np.inf, min, lambda x, y: x + y),
    "max*": (-np.inf, max, lambda x, y: x * y),
    "or and": (False, lambda x, y: bool(x or y), lambda x, y: bool(x and y)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", SEMIRINGS)
def test_semirings_equal_plain_loops(kind: str, way: str) -> None:
    @settings(max_examples=25, deadline=None)
    @given(
        examples(dtypes=("f8",), low=1).filter(
            lambda e: "..." not in e.text and "->" in e.text and _fits(e)
        )
    )
    def check(example: Example) -> None:
        want = _by_loops(example, *SEMIRINGS[kind])
        with computed(way):
            got = lx.einsum(example.text, *example.operands, kind=kind)
        np.testing.assert_array_equal(got, want)

    check()


def _fits(example: Example) -> bool:
    """Return whether NumPy takes the shapes, and plain loops have an end."""
    left, _, output = example.text.partition("->")
    return len(set(left) - {","}) <= 5 and len(output) <= 4


@pytest.mark.parametrize("kind", ["+*", "max+", "min+", "max*"])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "f4"])
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk->ik", [(17, 300), (300, 19)]),
        ("ij,jk->ik", [(300, 500), (500, 3)]),
        ("ij,kj->ik", [(3, 1000), (2, 1000)]),
        ("i,ij->j", [(700,), (700, 70)]),
        ("ij->i", [(7, 1000)]),
        ("ij->j", [(1000, 70)]),
        ("ijk->ik", [(5, 70, 30)]),
        ("bij,bjk->kib", [(4, 9, 11), (4, 11, 13)]),
        ("ij,jk,kl->il", [(9, 20), (20, 30), (30, 8)]),
    ],
)
def test_kernels_equal_numpy_functions(
    text: str, shapes: list[tuple[int, ...]], dtype: str, kind: str
) -> None:
    random = np.random.default_rng(3)
    low = 0 if dtype == "u1" else -2
    operands = [random.integers(low, 3, shape).astype(dtype) for shape in shapes]
    with computed("as it comes"):
        want = lx.einsum(text, *operands, kind=kind)
    with computed("nests"):
        got = lx.einsum(text, *operands, kind=kind)
    np.testing.assert_array_equal(got, want)
    if kind == "+*":
        np.testing.assert_array_equal(got, np.einsum(text, *operands))
