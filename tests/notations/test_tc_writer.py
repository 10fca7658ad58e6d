"""Definitions as TC, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
import linalg_ext.opdsl_defs as library
from linalg_ext.definition.model import OpDefinition, Operand
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr
from linalg_ext.errors import ArgumentError, NotationError
from linalg_ext.notations.std_functions import concrete
from linalg_ext.notations.tc import to_tc
from linalg_ext.opdsl import (
    BinaryFn,
    D,
    IndexAttrDef,
    S,
    ScalarDef,
    StructuredOp,
    T,
    TensorDef,
    TypeFn,
    U,
    UnaryFn,
    const,
    domain,
    structured_op,
)
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineSymbol
from tc_texts import ALL, BATCHMATMUL_2024

LIBRARY = {
    name: op for name in dir(library) if isinstance(op := getattr(library, name), StructuredOp)
}


def _renamed(definition: OpDefinition) -> Any:
    """The definition with dimensions and symbols called by their positions.

    Of a reduction the function alone is kept: the iterator types say its dimensions.
    """
    names: dict[AffineExpr, AffineExpr | int] = {
        **{AffineDim(d): AffineDim(f"d{i}") for i, d in enumerate(definition.dims)},
        **{AffineSymbol(s): AffineSymbol(f"s{i}") for i, s in enumerate(definition.symbols)},
    }

    def indices(exprs: tuple[AffineExpr, ...]) -> tuple[AffineExpr, ...]:
        return tuple(expr.substitute(names) for expr in exprs)

    def scalar(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, Access):
            return replace(expr, indices=indices(expr.indices))
        assert isinstance(expr, Apply)
        return replace(expr, args=tuple(map(scalar, expr.args)))

    def operand(each: Operand) -> Operand:
        dims = None if each.index_dims is None else indices(each.index_dims)
        return replace(each, shape=indices(each.shape), index_dims=dims, attribute_type=None)

    return (
        tuple(map(operand, definition.operands)),
        definition.iterator_types,
        [
            (scalar(a.target), scalar(a.value), a.reduction and a.reduction.function)
            for a in definition.assignments
        ],
        (definition.name, definition.cpp_class_name, definition.doc, definition.implements),
    )


@pytest.mark.parametrize("text", ALL)
def test_a_text_comes_back(text: str) -> None:
    op = lx.tc(text)
    again = lx.tc(to_tc(op))
    assert again.definition == op.definition
    assert to_tc(again) == to_tc(op)


def _writable(types: str) -> list[str]:
    names = []
    for name, op in LIBRARY.items():
        try:
            to_tc(op, types)
        except NotationError:
            continue
        names.append(name)
    return names


@pytest.mark.parametrize("types", ["f32", "i64"])
def test_the_library_comes_back(types: str) -> None:
    names = _writable(types)
    assert len(names) >= 80
    for name in names:
        op = LIBRARY[name]
        again = lx.tc(to_tc(op, types))
        assert _renamed(again.definition) == _renamed(concrete(op.definition, types)), name


def test_what_the_text_says() -> None:
    assert to_tc(lx.ops.matvec, "f32").endswith(
        "{\n  x(m) = std_addf<n>(std_mulf(A(m, n), y(n)));\n}\n"
    )
    assert to_tc(lx.tc(BATCHMATMUL_2024)).split() == BATCHMATMUL_2024.split()


def test_types_for_variables() -> None:
    text = to_tc(lx.ops.batch_matmul, {"T1": "i8", "T2": "i16", "U": "i32"})
    assert "std_muli(std_sexti32(A(b, m, k)), std_sexti32(B(b, k, n)))" in text
    op = lx.tc(text)
    result = op(np.full((1, 2, 3), 100, np.int8), np.full((1, 3, 1), 300, np.int16))
    assert result.tolist() == [[[90000], [90000]]]


def _op(body) -> StructuredOp:
    @structured_op
    def op(A=TensorDef(T, S.M, S.N), X=TensorDef(T, S.M), R=TensorDef(T, S.M, output=True)):
        body(A, X, R)

    return op


def _square(A, X, R):
    R[D.m] += UnaryFn.square(A[D.m, D.n] + X[D.m])


def _constant(A, X, R):
    R[D.m] += A[D.m, D.n] * X[D.m] + TypeFn.cast_signed(T, const(2))


def _two_accesses(A, X, R):
    R[D.m] += A[D.m, D.n] * X[D.m] * X[D.n]


def _order(A, X, R):
    domain(D.n, D.m)
    R[D.m] += A[D.m, D.n] * X[D.m]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (_square, "applies square on f32"),
        (_constant, "no constants"),
        (_two_accesses, "uses X with two different indices"),
        (_order, r"iterates over \(n, m\), and TC orders .*: \(m, n\)"),
    ],
)
def test_what_tc_cannot_hold(body, says: str) -> None:
    with pytest.raises(NotationError, match=says):
        to_tc(_op(body), "f32")


@structured_op
def _scaled(A=TensorDef(T, S.M), s=ScalarDef(T), R=TensorDef(T, S.M, output=True)):
    R[D.m] = A[D.m] * s


@structured_op
def _by_default_two(
    A=TensorDef(T, S.N),
    R=TensorDef(T, S.M, output=True),
    s=IndexAttrDef(S.S, default=[2]),
):
    R[D.m] = A[D.m * S.S]


@structured_op
def _any_rank(A=TensorDef(T), R=TensorDef(U, output=True)):
    R[None] = BinaryFn.add(A[None], A[None])


@pytest.mark.parametrize(
    ("op", "says"),
    [
        (_scaled, "has the scalar s"),
        (_by_default_two, r"s with the default \(2,\)"),
        (_any_rank, "element-wise at any rank"),
        (lx.ops.matmul_transpose_a, "function attribute cast"),
        (lx.ops.copy, "defines hasCanonicalizer|function attribute|any rank"),
    ],
)
def test_which_ops_tc_cannot_hold(op: StructuredOp, says: str) -> None:
    with pytest.raises(NotationError, match=says):
        to_tc(op, "f32")


def test_type_variables_need_types() -> None:
    with pytest.raises(NotationError, match=r'type variable T1(.|\n)*types=\{"T1": "f32"\}'):
        to_tc(lx.ops.matvec)
    with pytest.raises(ArgumentError, match="no type variable 'X'"):
        to_tc(lx.ops.matvec, {"X": "f32"})
    with pytest.raises(ArgumentError, match="not an element type of TC"):
        to_tc(lx.ops.matvec, "float")


def test_only_ops_are_written() -> None:
    with pytest.raises(NotationError, match="is not an op"):
        to_tc("matmul")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ALL[4], "fixed type I8"),
        (ALL[5], "array_attr|f32_attr"),
        (
            "def f(A: f32(M)) -> (C: f32(M)) attr(s: 2xi64) { C(m) = A(m); }",
            "attribute s, which no index uses",
        ),
    ],
)
def test_what_yaml_cannot_hold(text: str, says: str) -> None:
    with pytest.raises(NotationError, match=says):
        lx.to_yaml(lx.tc(text))
