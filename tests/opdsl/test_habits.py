"""NumPy's and Python's spellings in the body of an op: they work, or name the one that does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import opdsl
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import ArityError, DefinitionError
from linalg_ext.opdsl import (
    C64,
    F32,
    I8,
    I64,
    T1,
    T2,
    U8,
    U16,
    BinaryFn,
    D,
    ReduceFn,
    S,
    ScalarDef,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    U,
    fold,
    index,
    structured_op,
)

Body = Callable[[Any, Any], Any]


@structured_op
def swish(A=TensorDef(T), C=TensorDef(T, output=True)):
    C[None] = A[None] / (1 + np.exp(-A[None]))


@structured_op
def added(A=TensorDef(T1, S.N), B=TensorDef(T2, S.N), C=TensorDef(U, S.N, output=True)):
    C[D.n] = TypeFn.cast_signed(U, A[D.n]) + TypeFn.cast_signed(U, B[D.n])


@structured_op
def halves(A=TensorDef(T), H=TensorDef(T, output=True), Q=TensorDef(T, output=True)):
    H[None] = A[None] / 2
    Q[None] = H[None] / 2


@structured_op
def total(A=TensorDef(T, S.N), C=TensorDef(T, output=True)):
    C[None] += A[D.n]


def _op(body: Body) -> Any:
    @structured_op
    def made(A=TensorDef(T, S.N), B=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
        C[D.n] = body(A[D.n], B[D.n])

    return made


@pytest.mark.parametrize(
    ("body", "function"),
    [
        (lambda a, b: np.exp(a) - b, lambda a, b: np.exp(a) - b),
        (lambda a, b: np.maximum(a, b), np.maximum),
        (lambda a, b: np.where(a > b, a, 0.5), lambda a, b: np.where(a > b, a, 0.5)),
        (lambda a, b: np.clip(a, 0, b), lambda a, b: np.minimum(np.maximum(a, 0), b)),
        (lambda a, b: np.float32(2) * a + b * np.int64(3), lambda a, b: 2 * a + 3 * b),
        (lambda a, b: np.arctan2(a, np.abs(b)), lambda a, b: np.arctan2(a, np.abs(b))),
        (lambda a, b: math.floor(a) + round(b), lambda a, b: np.floor(a) + np.rint(b)),
        (lambda a, b: swish(a) - b, lambda a, b: a / (1 + np.exp(-a)) - b),
        (lambda a, b: added(a, b) * added(a, 1), lambda a, b: (a + b) * (a + 1)),
        (lambda a, b: halves(a)[1] + halves(b)[0], lambda a, b: a / 4 + b / 2),
        (lambda a, b: lx.ops.exp(a) + b, lambda a, b: np.exp(a) + b),
        (lambda a, b: np.where(D.n <= 1, a, b), lambda a, b: np.where(np.arange(5) <= 1, a, b)),
        (
            lambda a, b: np.where(np.logical_and(a > 0, np.logical_not(b > 0)), a, b),
            lambda a, b: np.where((a > 0) & ~(b > 0), a, b),
        ),
        (lambda a, b: np.where(D.n + 1 > 3, a, b), lambda a, b: np.where(np.arange(5) > 2, a, b)),
    ],
)
def test_numpy_spelling_works(body: Body, function: Callable[..., Any]) -> None:
    a, b = np.random.default_rng(5).uniform(-2, 2, (2, 5))
    op = _op(body)
    np.testing.assert_allclose(op(a, b), function(a, b), rtol=1e-6)
    np.testing.assert_allclose(op.definition.reference(a, b), function(a, b), rtol=1e-6)


def test_a_shift_by_a_number() -> None:
    op = _op(lambda a, b: (a << 3) + b)
    a, b = np.arange(5), np.arange(5) * 2
    np.testing.assert_array_equal(op(a, b), (a << 3) + b)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda a, b: math.exp(a), r"UnaryFn\.exp\(x\) or np\.exp\(x\) in the place of math\.exp"),
        (lambda a, b: a << b, r"no operator `<<`(.|\n)*shift by a number"),
        (lambda a, b: a >> 2, r"no operator `>>`(.|\n)*divide by a power of two"),
        (lambda a, b: np.sum(a), r"`np\.sum` is not a function of elements(.|\n)*ReduceFn\.max"),
        (lambda a, b: np.add.reduce(a), r"`np\.add\.reduce` has no function(.|\n)*\+="),
        (lambda a, b: np.logical_or(a, b), r"`np\.logical_or` has no function of elements"),
        (lambda a, b: np.logaddexp(a, b), r"`np\.logaddexp` has no function of elements"),
        (lambda a, b: TernaryFn.select(a == b, a, b), r"x == y write BinaryFn\.eq\(x, y\)"),
        (lambda a, b: a * D.n, r"wrap it in index\(D\.x\)"),
        (lambda a, b: a / S.N, r"no operand of `div`(.|\n)*cast_signed\(T, size\(S\.N\)\)"),
        (lambda a, b: [a for _ in D.n][0], r"`n` is looped over(.|\n)*name the loop"),  # noqa: RUF015
        (lambda a, b: ReduceFn.max(a), r"ReduceFn\.max_signed is called(.|\n)*\[D\.k\]\(\.\.\.\)"),
        (lambda a, b: [a for _ in range(S.N)][0], r"name the loop by a dimension"),  # noqa: RUF015
        (lambda a, b: total(a), r"total is used in the body of an op, and is not element-wise"),
        (lambda a, b: swish(a, b), r"swish got 2 inputs"),
        (lambda a, b: np.where(D.n // 2 > 1, a, b), r"the index `n floordiv 2` divides"),
    ],
)
def test_what_has_no_meaning_names_what_has(body: Body, message: str) -> None:
    with pytest.raises((DefinitionError, ArityError), match=message) as caught:
        _op(body)
    assert "test_habits.py" in str(caught.value)


def test_an_op_of_mixed_types_asks_for_casts() -> None:
    def declared(a: Any, b: Any) -> Any:
        @structured_op
        def mixed(A=TensorDef(T1, S.N), B=TensorDef(T2, S.N), C=TensorDef(U, S.N, output=True)):
            C[D.n] = added(A[D.n], B[D.n])

        return mixed

    with pytest.raises(DefinitionError, match=r"added: no operand has the type U(.|\n)*cast"):
        declared(1, 2)

    @structured_op
    def cast(A=TensorDef(T1, S.N), B=TensorDef(T2, S.N), C=TensorDef(U, S.N, output=True)):
        C[D.n] = added(TypeFn.cast_signed(U, A[D.n]), TypeFn.cast_signed(U, B[D.n]))

    found = cast(np.arange(3, dtype=np.int8), np.ones(3, np.float32))
    np.testing.assert_array_equal(found, [1, 2, 3])


@pytest.mark.parametrize("name", sorted(PREDEFINED))
def test_every_fixed_type_runs(name: str) -> None:
    fixed = getattr(opdsl, name)

    @structured_op
    def converted(A=TensorDef(T, S.N), C=TensorDef(fixed, S.N, output=True)):
        C[D.n] = TypeFn.cast_signed(fixed, A[D.n])

    given = np.array([0, 1, 100])
    wanted = converted.definition.reference(given)
    found = converted(given)
    assert found.dtype == wanted.dtype == np.dtype(PREDEFINED[name])
    np.testing.assert_array_equal(found.astype(np.complex128), wanted.astype(np.complex128))


def test_fixed_types_keep_their_sign() -> None:
    @structured_op
    def larger(A=TensorDef(U8, S.N), B=TensorDef(U8, S.N), C=TensorDef(U16, S.N, output=True)):
        C[D.n] = TypeFn.cast_signed(U16, BinaryFn.max(A[D.n], B[D.n])) * 2

    a, b = np.array([200, 3], np.uint8), np.array([100, 250], np.uint8)
    np.testing.assert_array_equal(larger(a, b), [400, 500])
    np.testing.assert_array_equal(larger.definition.reference(a, b), [400, 500])
    text = lx.jit(lambda x, y: larger(x, y)).lower(a, b).as_text()
    assert "arith.maxui" in text

    @structured_op
    def squared(A=TensorDef(C64, S.N), k=ScalarDef(I8), C=TensorDef(C64, S.N, output=True)):
        C[D.n] = A[D.n] * A[D.n] * TypeFn.cast_signed(C64, k)

    z = np.array([1 + 2j, -1j], np.complex64)
    np.testing.assert_allclose(squared(z, 2), z * z * 2)


def test_the_example_of_fold_gives_the_place_of_a_maximum() -> None:
    example = [line[8:] for line in str(type(fold).__doc__).splitlines() if line[:8].isspace()]

    @structured_op
    def argmax(
        A=TensorDef(F32, S.M, S.N),
        V=TensorDef(F32, S.M, output=True),
        P=TensorDef(I64, S.M, output=True),
    ):
        names = {"A": A, "V": V, "P": P, "D": D, "I64": I64, "index": index, "fold": fold}
        names |= {"TypeFn": TypeFn, "TernaryFn": TernaryFn, "ReduceFn": ReduceFn}
        exec("\n".join(example), names)

    a = np.random.default_rng(1).random((4, 9), np.float32)
    value, place = argmax(a)
    np.testing.assert_array_equal(value, a.max(1))
    np.testing.assert_array_equal(place, a.argmax(1))


def test_an_unknown_keyword_lists_what_calls_take() -> None:
    with pytest.raises(ArityError) as caught:
        lx.ops.matmul(np.ones((2, 2)), np.ones((2, 2)), brodcast_B=[0])
    message = str(caught.value)
    for keyword in ("dtype", "broadcast_A", "permutation_A", "map_A"):
        assert keyword in message
    assert "did you mean broadcast_B?" in message
