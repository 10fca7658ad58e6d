"""Sums of which a label names what counts: the example, numbers, and what is left alone."""

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
from linalg_ext.transforms.codegen.vectorization import look_up_labels as file

AROUND = """
func.func @f(%t: tensor<9x4xf32>, %l: tensor<5xi64>, %z: tensor<5x4xf32>) -> tensor<5x4xf32> {
{}
return %r : tensor<5x4xf32>
}"""


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
    before, _ = examples(file)[0]
    assert old in before
    text = AROUND.replace("{}", "%zero = arith.constant 0.0 : f32\n{}")
    module = lx.parse(text.replace("{}", before.replace(old, new)))
    report = file.look_up_labels(module)
    assert not report
    assert reason in str(report)
