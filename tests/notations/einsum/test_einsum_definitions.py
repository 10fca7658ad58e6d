"""Einsum strings as definitions of ops, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.errors import NotationError
from linalg_ext.notations.einsum import KINDS, definition_of_einsum, parse, to_einsum
from linalg_ext.opdsl.op import StructuredOp

OPS = {
    "matmul": "mk,kn->mn",
    "batch_matmul_transpose_b": "bmk,bnk->bmn",
    "bilinear": "ni,fij,nj->nf",
    "column_sum": "mn->n",
    "diagonal": "mm->m",
    "dot": "m,m->",
    "khatri_rao": "mn,pn->mpn",
    "mttkrp": "ijk,jr,kr->ir",
    "trace": "mm->",
}


@pytest.mark.parametrize(("name", "text"), OPS.items())
def test_ops_of_the_library_that_are_einsums(name: str, text: str) -> None:
    op = getattr(lx.ops, name)
    assert to_einsum(op) == text
    sizes = {letter: 2 + n for n, letter in enumerate(sorted(set(text) - set(",->")))}
    random = np.random.default_rng(1)
    arrays = [random.random([sizes[x] for x in term]) for term in text.split("->")[0].split(",")]
    np.testing.assert_allclose(op(*arrays), np.einsum(text, *arrays))


def test_the_definition_is_the_op_that_one_would_write() -> None:
    definition = definition_of_einsum("mk,kn->mn", name="matmul")
    assert definition.header == "matmul(A: T1(M, K), B: T2(K, N)) -> C: U(M, N)"
    assert definition.assignments == lx.ops.matmul.definition.assignments or (
        to_einsum(definition) == to_einsum(lx.ops.matmul)
    )


@pytest.mark.parametrize("text", ["mk,kn->mn", "ii->", "ij->ji", "aA,Ab,->ab", "ij,jk,kl->il"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_definition_runs_as_einsum_does(text: str, kind: str) -> None:
    op = StructuredOp(definition_of_einsum(text, kind=kind))
    random = np.random.default_rng(2)
    dtype = np.bool_ if kind == "or and" else np.float64
    arrays: list[np.ndarray[Any, np.dtype[Any]]] = [
        (2 * random.random((3,) * len(term)) - 1).clip(0).astype(dtype)
        for term in text.split("->")[0].split(",")
    ]
    np.testing.assert_allclose(op(*arrays), lx.einsum(text, *arrays, kind=kind))


@st.composite
def texts(draw: st.DrawFn) -> str:
    terms = draw(st.lists(st.text("abcXY", max_size=4), min_size=1, max_size=4))
    present = sorted(set("".join(terms)))
    output = draw(st.permutations(present))[: draw(st.integers(0, len(present)))]
    return f"{','.join(terms)}->{''.join(output)}"


@given(texts().filter(lambda text: set(text) - set(",->")), st.sampled_from(sorted(KINDS)))
def test_there_and_back(text: str, kind: str) -> None:
    assert to_einsum(definition_of_einsum(text, kind=kind), kind=kind) == text


@given(texts())
def test_explicit_form_reads_as_itself(text: str) -> None:
    spaced = " ".join(text).replace("- >", "->")
    assert str(parse(spaced)) == text


@pytest.mark.parametrize(
    ("text", "explicit"),
    [
        ("ij,jk", "ij,jk->ik"),
        ("ba", "ba->ab"),
        ("bA", "bA->Ab"),
        ("ii", "ii->"),
        ("...i,i...", "...i,i...->..."),
        ("j...,kk", "j...,kk->...j"),
        (",", ",->"),
    ],
)
def test_implicit_results(text: str, explicit: str) -> None:
    assert str(parse(text)) == explicit


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("conv_1d", r"has the index ow \+ kw"),
        ("add", "applies to any rank"),
        ("row_max", r"(?s)combines by max_signed.*is in 'max\+', 'max\*'"),
        ("squared_euclidean_distance", "combines by sub"),
        ("row_sum_of_squares", "reads A, A, in this order"),
        ("scaled_attention_scores", "computes `scale`"),
        ("broadcast_columns", "dimension n of the result is of no input"),
    ],
)
def test_what_is_no_einsum_says_why(name: str, reason: str) -> None:
    with pytest.raises(NotationError, match=reason):
        to_einsum(getattr(lx.ops, name))


def test_an_op_has_no_ellipsis() -> None:
    with pytest.raises(NotationError, match=r"its rank is fixed\n.*'i\.\.\.->i'\n +\^"):
        definition_of_einsum("i...->i")
    with pytest.raises(NotationError, match="is not an op"):
        to_einsum("mk,kn->mn")
