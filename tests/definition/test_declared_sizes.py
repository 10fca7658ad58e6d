"""Sizes that a definition declares hold for what it gives; what is read is cut to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import DefinitionError, DTypeError, NotationError, ShapeError
from linalg_ext.notations import from_yaml, to_yaml
from linalg_ext.opdsl import (
    BinaryFn,
    D,
    ReduceFn,
    S,
    T,
    TensorDef,
    TypeFn,
    UnaryFn,
    fold,
    linalg_structured_op,
    size,
    structured_op,
)

# an operand is declared by a call as a default, and named as upstream names it
# mypy: allow-untyped-defs
# ruff: noqa: E741


@structured_op
def all_but_the_last(X=TensorDef(T, S.L + 1), O=TensorDef(T, S.L, output=True)):
    O[D.t] = X[D.t]


@structured_op
def all_but_the_first(X=TensorDef(T, S.L + 1), O=TensorDef(T, S.L, output=True)):
    O[D.t] = X[D.t + 1]


@structured_op
def differences(X=TensorDef(T, S.L + 2), O=TensorDef(T, S.L, output=True)):
    O[D.t] = X[D.t] - 2 * X[D.t + 1] + X[D.t + 2]


@structured_op
def differences_of_any_length(X=TensorDef(T, S.N), O=TensorDef(T, S.L, output=True)):
    O[D.t] = X[D.t] - 2 * X[D.t + 1] + X[D.t + 2]


@structured_op
def neighbours(X=TensorDef(T, S.N), O=TensorDef(T, output=True)):
    O[None] += X[D.t] * X[D.t + 1]


@structured_op
def shuffle(X=TensorDef(T, S.C * 2, S.L), O=TensorDef(T, S.C, S.L * 2, output=True)):
    O[D.c, D.i] = X[D.c * 2 + D.i % 2, D.i // 2]


@structured_op
def parts(X=TensorDef(T, S.N + 1), O=TensorDef(T, S.N, output=True)):
    O[D.t] = X[D.t] / TypeFn.cast_signed(T, size(S.N))


@structured_op
def sums_of_exponentials(
    X=TensorDef(T, S.L + 2), E=TensorDef(T, S.L + 2, output=True), O=TensorDef(T, S.L, output=True)
):
    E[D.u] = UnaryFn.exp(X[D.u])
    O[D.t] = E[D.t] + E[D.t + 1] + E[D.t + 2]


X9 = np.linspace(0, 1, 9)
PAIRS = np.arange(24.0).reshape(6, 4)
SHUFFLED = PAIRS.reshape(3, 2, 4).transpose(0, 2, 1).reshape(3, 8)
CASES: dict[str, tuple[Any, Any, list[Any]]] = {
    "cut": (all_but_the_last, X9, [X9[:8]]),
    "cut in front": (all_but_the_first, X9, [X9[1:]]),
    "stencil": (differences, X9**2, [np.diff(X9**2, 2)]),
    "stencil of other symbols": (differences_of_any_length, X9**2, [np.diff(X9**2, 2)]),
    "stencil that reduces": (neighbours, X9, [np.asarray((X9[:-1] * X9[1:]).sum())]),
    "pixel shuffle": (shuffle, PAIRS, [SHUFFLED]),
    "a size that follows": (parts, X9, [X9[:8] / 8]),
    "a stencil of an output": (
        sums_of_exponentials,
        X9,
        [np.exp(X9), np.exp(X9)[:-2] + np.exp(X9)[1:-1] + np.exp(X9)[2:]],
    ),
    "nothing is left": (differences, np.ones(2), [np.ones(0)]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_result_is_as_long_as_it_is_declared(name: str) -> None:
    op, x, expected = CASES[name]
    ways = {
        "call": op(x),
        "reference": op.definition.reference(x),
        "jit": lx.jit(lambda a: op(a))(x),
        "jit of open sizes": lx.jit(lambda a: op(a), dynamic=True)(x),
    }
    for way, found in ways.items():
        results = found if isinstance(found, tuple) else (found,)
        for one, other in zip(results, expected, strict=True):
            assert np.shape(one) == other.shape, way
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=way)


@pytest.mark.parametrize(
    ("op", "x", "out", "says"),
    [
        (all_but_the_last, np.ones(9), np.ones(9), "X has size 9 .* declared as L . 1"),
        (differences, np.ones(9), np.ones(6), "X has size 9 .* declared as L . 2"),
        (differences, np.ones(1), None, "X has size 1 .* declared as L . 2"),
        (shuffle, np.ones((5, 4)), None, "X has size 5 .* declared as C . 2"),
    ],
)
def test_sizes_that_are_not_as_declared(op: Any, x: Any, out: Any, says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        op(x, out=out)


def test_a_stencil_of_an_axis_that_is_declared_as_long_reaches_beyond_it() -> None:
    @structured_op
    def beyond(X=TensorDef(T, S.N), O=TensorDef(T, S.N, output=True)):
        O[D.t] = X[D.t] + X[D.t + 1]

    with pytest.raises(ShapeError, match=r"`t \+ 1` reaches index 4"):
        beyond(np.ones(4))


def test_an_index_divided_by_a_slash_asks_for_two() -> None:
    with pytest.raises(DefinitionError, match="write `//`, which rounds down"):

        @structured_op
        def half(A=TensorDef(T, S.M), C=TensorDef(T, S.N, output=True)):
            C[D.n] = A[D.n / 2]

    @linalg_structured_op
    def as_upstream(A=TensorDef(T, S.M), C=TensorDef(T, S.N, output=True)):
        C[D.n] = A[D.n / 2]

    assert "ceildiv" in str(as_upstream.definition)


@pytest.mark.parametrize("function", [BinaryFn.max_unsigned, BinaryFn.min_unsigned])
def test_unsigned_extrema_of_floats_are_refused(function: Any) -> None:
    @structured_op
    def extremum(A=TensorDef(T, S.N), B=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
        C[D.n] = function(A[D.n], B[D.n])

    x = np.ones(3, np.float32)
    for run in (extremum, extremum.definition.reference, lx.jit(lambda a, b: extremum(a, b))):
        with pytest.raises(DTypeError, match="has no meaning for f"):
            run(x, x)
    minus_one, one = np.full(3, -1, np.int32), np.ones(3, np.int32)
    expected = minus_one if function is BinaryFn.max_unsigned else one
    np.testing.assert_array_equal(extremum(minus_one, one), expected)


def test_the_old_name_of_a_cast_is_read() -> None:
    text = to_yaml(lx.ops.matmul)
    for old in (
        text.replace("default_fn: cast_signed", "default_fn: cast"),
        to_yaml(lx.ops.row_sum).replace("fn_name: cast_signed", "fn_name: cast"),
    ):
        assert "cast\n" in old
        assert "cast_signed" in to_yaml(from_yaml(old))


def test_a_fold_that_yaml_would_not_read_back_is_not_written() -> None:
    @structured_op
    def horner(A=TensorDef(T, S.N), C=TensorDef(T, output=True)):
        C[None] = fold[D.n](C[None] - A[D.n], init=0)

    @structured_op
    def largest(A=TensorDef(T, S.N), C=TensorDef(T, output=True)):
        C[None] = fold[D.n](BinaryFn.max(C[None], A[D.n]), init=ReduceFn.max)

    with pytest.raises(NotationError, match="horner folds"):
        to_yaml(horner)
    assert from_yaml(to_yaml(largest))(np.array([1.0, 3.0, 2.0])) == 3
    for name in dir(lx.ops):
        try:
            text = to_yaml(getattr(lx.ops, name))
        except NotationError:
            continue
        assert to_yaml(from_yaml(text)) == text


def test_a_size_that_is_a_quotient_of_symbols_is_no_equation() -> None:
    @structured_op
    def grouped(
        A=TensorDef(T, S.N),
        B=TensorDef(T, S.M // S.N),
        C=TensorDef(T, S.N, S.K, output=True),
    ):
        C[D.n, D.k] = A[D.n] * B[D.k]

    found = grouped(np.ones(2), np.ones(3))
    assert found.shape == (2, 3)
    np.testing.assert_array_equal(found, grouped.definition.reference(np.ones(2), np.ones(3)))
