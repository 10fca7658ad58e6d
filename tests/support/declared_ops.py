"""Ops of each kind that a declaration can make, to be called."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.opdsl import (
    T1,
    T2,
    BinaryFn,
    BinaryFnAttrDef,
    D,
    IndexAttrDef,
    ReduceFn,
    S,
    ScalarDef,
    T,
    TensorDef,
    TypeFn,
    TypeFnAttrDef,
    U,
    UnaryFn,
    UnaryFnAttrDef,
    structured_op,
)

Array = np.ndarray[Any, Any]


@structured_op
def matmul_plus(
    A=TensorDef(T1, S.M, S.K), B=TensorDef(T2, S.K, S.N), C=TensorDef(U, S.M, S.N, output=True)
):
    C[D.m, D.n] += TypeFn.cast_signed(U, A[D.m, D.k]) * TypeFn.cast_signed(U, B[D.k, D.n])


@structured_op
def correlate(
    I=TensorDef(T, S.O * S.SH + S.K * S.DH),  # noqa: E741  # upstream's name for an input
    K=TensorDef(T, S.K),
    O=TensorDef(T, S.O, output=True),  # noqa: E741
    strides=IndexAttrDef(S.SH, default=[1]),
    dilations=IndexAttrDef(S.DH, default=[1]),
):
    O[D.o] += I[D.o * S.SH + D.k * S.DH] * K[D.k]


@structured_op
def row_max(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
    C[D.m] = ReduceFn.max_signed[D.n](A[D.m, D.n])


@structured_op
def row_min(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
    C[D.m] = ReduceFn.min_signed[D.n](A[D.m, D.n])


@structured_op
def row_reduce(
    A=TensorDef(T, S.M, S.N),
    C=TensorDef(T, S.M, output=True),
    by=BinaryFnAttrDef(default=BinaryFn.add),
):
    C[D.m] = by[D.n](A[D.m, D.n])


@structured_op
def apply_to(
    A=TensorDef(T1),
    C=TensorDef(U, output=True),
    fun=UnaryFnAttrDef(default=UnaryFn.exp),
    cast=TypeFnAttrDef(default=TypeFn.cast_signed),
):
    C[None] = fun(cast(U, A[None]))


@structured_op
def axpy(a=ScalarDef(T), X=TensorDef(T), Y=TensorDef(T), O=TensorDef(T, output=True)):  # noqa: E741
    O[None] = a * X[None] + Y[None]


@structured_op
def add_(A=TensorDef(T), B=TensorDef(T), C=TensorDef(T, output=True)):
    C[None] = A[None] + B[None]


@structured_op
def stats(
    A=TensorDef(T, S.M, S.N), Sum=TensorDef(T, S.M, output=True), Max=TensorDef(T, S.M, output=True)
):
    Sum[D.m] += A[D.m, D.n]
    Max[D.m] = ReduceFn.max_signed[D.n](A[D.m, D.n])


@structured_op
def differences(A=TensorDef(T, S.M), C=TensorDef(T, S.M, S.M, output=True)):
    C[D.i, D.j] = A[D.i] - A[D.j]


@structured_op
def decay(A=TensorDef(T), C=TensorDef(T, output=True)):
    C[None] = C[None] * 0.5 + A[None]


def random(*shape: int, dtype: Any = np.float64) -> Array:
    return np.random.default_rng(7).integers(-9, 9, shape).astype(dtype)
