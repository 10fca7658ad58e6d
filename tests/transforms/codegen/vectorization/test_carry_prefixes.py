"""Reductions over prefixes: the example, numbers of each kind, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.opdsl import D, S, T, TensorDef, TernaryFn, domain, index, structured_op
from linalg_ext.transforms.codegen.vectorization import carry_prefixes as file

AROUND = (
    "func.func @f(%x: tensor<4x9xf32>, %z: tensor<4x9xf32>) -> tensor<4x9xf32> {"
    "\n{}\nreturn %r : tensor<4x9xf32>\n}"
)


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
    module = lx.parse(AROUND.replace("{}", body, 1))
    text = str(module)
    assert reason in str(file.carry_prefixes(module))
    assert str(module) == text
