"""The canonical form: what it looks through, and what it tells apart."""

from __future__ import annotations

from collections import defaultdict

import pytest

import linalg_ext as lx
from linalg_ext.definition import OpDefinition
from linalg_ext.definition.equivalence import equivalent
from linalg_ext.opdsl import (
    TV,
    BinaryFn,
    D,
    S,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    U,
    UnaryFn,
    const,
    domain,
    structured_op,
)


def _product(**changes: bool) -> OpDefinition:
    """A matrix product under other names, and with one change."""

    @structured_op
    def product(
        X=TensorDef(TV.A, S.P, S.Q),
        Y=TensorDef(TV.B, S.Q, S.R),
        Z=TensorDef(TV.C, S.P, S.R, output=True),
    ):
        """Another text."""
        if changes.get("order"):
            domain(D.c, D.a, D.b)
        x = TypeFn.cast_signed(TV.C, X[D.a, D.c])
        once = TypeFn.cast_signed(TV.C, Y[D.c, D.b])
        y = once + once if changes.get("twice") else once
        Z[D.a, D.b] += y * x if changes.get("commuted") else x * y

    return product.definition


@pytest.mark.parametrize("change", ["none", "order", "commuted"])
def test_the_same_operation_under_another_form(change: str) -> None:
    one, other = _product(), _product(**{change: True})
    assert one.equivalent(other)
    assert hash(one.canonical()) == hash(other.canonical())
    assert equivalent(other, one)


def test_another_operation_is_told_apart() -> None:
    assert not _product().equivalent(_product(twice=True))
    assert not _product().equivalent(lx.ops.row_sum.definition)


def test_no_two_ops_of_the_library_are_equivalent() -> None:
    groups = defaultdict(set)
    for name in dir(lx.ops):
        groups[getattr(lx.ops, name).definition.canonical()].add(name)
    assert [names for names in groups.values() if len(names) > 1] == []


def test_a_canonical_form_is_its_own() -> None:
    for name in ("matmul", "conv_2d_nhwc_hwcf", "pooling_nhwc_max", "fill_rng_2d", "exp"):
        canonical = getattr(lx.ops, name).definition.canonical()
        assert canonical.canonical() == canonical


def test_a_square_is_a_product_with_itself() -> None:
    @structured_op
    def one(A=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
        C[D.n] = UnaryFn.square(A[D.n])

    @structured_op
    def other(A=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
        C[D.n] = A[D.n] * A[D.n]

    assert one.definition.equivalent(other.definition)


def test_a_select_asks_whether_its_condition_is_zero() -> None:
    def chosen(unequal_to: int | None) -> OpDefinition:
        @structured_op
        def op(A=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
            one = TypeFn.cast_signed(T, const(1))
            asked = one
            if unequal_to is not None:
                asked = BinaryFn.ne(one, TypeFn.cast_signed(T, const(unequal_to)))
            C[D.n] = TernaryFn.select(asked, A[D.n], one)

        return op.definition

    assert equivalent(chosen(0), chosen(None))
    assert not equivalent(chosen(2), chosen(None))


def test_a_symbol_that_an_index_uses_is_not_only_a_size() -> None:
    @structured_op
    def reverse(A=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
        C[D.n] = A[S.N - 1 - D.n]

    @structured_op
    def mirrored(B=TensorDef(U, S.K), E=TensorDef(U, S.K, output=True)):
        E[D.i] = B[S.K - D.i - 1]

    @structured_op
    def other_size(B=TensorDef(U, S.K), E=TensorDef(U, S.L, output=True)):
        E[D.i] = B[S.L - D.i - 1]

    assert reverse.definition.equivalent(mirrored.definition)
    assert not reverse.definition.equivalent(other_size.definition)
