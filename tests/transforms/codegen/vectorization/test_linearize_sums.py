"""Sums over prefixes, or of which a label names what counts: numbers, and what is left alone."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.opdsl import (
    BinaryFn,
    D,
    S,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    domain,
    index,
    structured_op,
)
from linalg_ext.transforms.codegen.vectorization import linearize_sums as file

AROUND_PREFIXES = (
    "func.func @f(%x: tensor<4x9xf32>, %z: tensor<4x9xf32>) -> tensor<4x9xf32> {"
    "\n{}\nreturn %r : tensor<4x9xf32>\n}"
)
AROUND_LABELS = """
func.func @f(%t: tensor<9x4xf32>, %l: tensor<5xi64>, %z: tensor<5x4xf32>) -> tensor<5x4xf32> {
{}
return %r : tensor<5x4xf32>
}"""


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 17), (5, 33)])
@pytest.mark.parametrize(
    ("name", "accumulate"),
    [
        ("sum", np.add.accumulate),
        ("product", np.multiply.accumulate),
        ("max", np.maximum.accumulate),
        ("min", np.minimum.accumulate),
    ],
)
def test_ops_of_the_library(name: str, accumulate: Any, shape: Any, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(-2 if name != "product" else 1, 3, shape).astype(dtype)
    op = getattr(lx.ops, f"row_cumulative_{name}")
    np.testing.assert_array_equal(op(x), accumulate(x, axis=1))
    start = rng.integers(-3, 4, shape).astype(dtype)
    combine = getattr(np, {"sum": "add", "product": "multiply"}.get(name, f"{name}imum"))
    np.testing.assert_array_equal(op(x, init=start), combine(start, accumulate(x, axis=1)))


def test_a_nan_stays_from_there_on() -> None:
    x = np.array([[1, np.nan, 3], [4, 5, np.inf]], np.float32)
    np.testing.assert_array_equal(lx.ops.row_cumulative_max(x), np.maximum.accumulate(x, axis=1))
    np.testing.assert_array_equal(lx.ops.row_cumulative_sum(x), np.cumsum(x, axis=1))


@structured_op
def suffix_sums_of_products(
    A=TensorDef(T, S.N, S.M), B=TensorDef(T, S.N), C=TensorDef(T, S.M, S.N, output=True)
):
    """Down the columns of A, from each place to the end, and of computed elements."""
    domain(D.m, D.n, D.k)
    C[D.m, D.n] += TernaryFn.select(index(D.k) >= index(D.n), A[D.k, D.m] * B[D.k], 0)


def test_suffixes_of_what_is_computed() -> None:
    a = np.arange(42.0).reshape(6, 7)
    b = np.arange(6.0) - 2
    expected = np.cumsum((a * b[:, None])[::-1], axis=0)[::-1].T
    np.testing.assert_array_equal(suffix_sums_of_products(a, b), expected)
    kernel = lx.jit(suffix_sums_of_products).lower(a, b).compile()
    assert "linalg.index" not in kernel.as_text("linalg"), "no step asks where it is"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("cmpi sle", "cmpi slt", "do not compare two positions"),
        ("cmpi sle", "cmpi ne", "do not compare two positions"),
        ("%a, %zero", "%a, %o", "depends on the result so far"),
        ("%a, %zero", "%a, %a", "selects values at other positions"),
        ("arith.addf", "arith.mulf", "selects values at other positions"),
        ("arith.addf %o, %b", "arith.subf %o, %b", "selects values at other positions"),
        ("%n = linalg.index 1", "%n = linalg.index 0", "do not compare two positions"),
    ],
)
def test_what_means_something_else_stays(old: str, new: str, reason: str) -> None:
    before = examples(file)[0][0]
    assert old in before
    body = "%zero = arith.constant 0.0 : f32\n" + before.replace(old, new, 1)
    module = lx.parse(AROUND_PREFIXES.replace("{}", body, 1))
    text = str(module)
    assert reason in str(file.linearize_sums(module))
    assert str(module) == text


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int8, np.complex64])
@pytest.mark.parametrize(
    ("k", "n", "m"), [(1, 1, 1), (50, 33, 20), (3, 0, 2), (0, 3, 2), (4, 5, 0)]
)
def test_rows_of_a_table(k: int, n: int, m: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(-9, 9, (k, n)).astype(dtype)
    labels = rng.integers(-3, k + 3, m).astype(np.int8)
    expected = np.ones((m, n), dtype)
    for row, label in zip(expected, labels, strict=True):
        if 0 <= label < k:
            row += table[label]
    found = lx.ops.embedding(table, labels, init=np.ones((m, n), dtype))
    np.testing.assert_array_equal(found, expected)
    with lx.options(checked=True):
        found = lx.ops.embedding(table, labels, init=np.ones((m, n), dtype))
    np.testing.assert_array_equal(found, expected)


@structured_op
def chosen_products(
    A=TensorDef(T, S.N, S.M),
    B=TensorDef(T, S.N),
    L=TensorDef(T, S.M),
    C=TensorDef(T, S.M, output=True),
):
    """Of computed elements, down the columns."""
    domain(D.m, D.n)
    C[D.m] += TernaryFn.select(
        BinaryFn.eq(L[D.m], TypeFn.cast_signed(T, index(D.n))), A[D.n, D.m] * B[D.n], 0
    )


def test_what_is_computed_is_looked_up() -> None:
    a, b, labels = np.arange(42).reshape(6, 7), np.arange(6) - 2, np.array([0, 5, 6, -1, 3, 3, 2])
    met = labels == np.arange(6)[:, None]
    np.testing.assert_array_equal(chosen_products(a, b, labels), (met * a * b[:, None]).sum(0))
    kernel = lx.jit(chosen_products).lower(a, b, labels).compile()
    assert "reduction" not in kernel.as_text("linalg")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("cmpi eq", "cmpi ne", "not compared with a label"),
        ("%a, %zero", "%a, %a", "selects values of other positions"),
        ("%a, %zero", "%a, %o", "depends on the result so far"),
        ("linalg.index 2", "linalg.index 1", "not compared with a label"),
    ],
)
def test_what_is_left_alone(old: str, new: str, reason: str) -> None:
    before, _ = examples(file)[1]
    assert old in before
    text = AROUND_LABELS.replace("{}", "%zero = arith.constant 0.0 : f32\n{}")
    module = lx.parse(text.replace("{}", before.replace(old, new)))
    report = file.linearize_sums(module)
    assert not report
    assert reason in str(report)
