"""Element-wise work on a contraction's result, done while that is in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from kernels import entry_of, kernel
from memrefs import integers

BIAS_RESIDUAL = """
    %s = arith.addf %x, %y : f32
    %p = arith.cmpf ogt, %s, %z : f32
    %t = arith.select %p, %s, %z : f32
    %u = arith.addf %t, %q : f32
    %v = arith.subf %u, %w : f32
    linalg.yield %v : f32"""


def text(m: int, n: int, k: int, body: str = BIAS_RESIDUAL, after: str = "%r") -> str:
    """A product, then `body` of it, of a bias of the columns, a residual and a bias of the rows."""
    c = f"tensor<{m}x{n}xf32>"
    return f"""
    func.func @f(%a: tensor<{m}x{k}xf32>, %b: tensor<{k}x{n}xf32>, %bias: tensor<{n}xf32>,
                 %residual: {c}, %rows: tensor<{m}xf32>) -> {c} {{
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : {c}
      %f = linalg.fill ins(%z : f32) outs(%e : {c}) -> {c}
      %c = linalg.matmul ins(%a, %b : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)
                         outs(%f : {c}) -> {c}
      %r = linalg.generic {{
          indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                           affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                           affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]}}
        ins(%c, %bias, %residual, %rows : {c}, tensor<{n}xf32>, {c}, tensor<{m}xf32>)
        outs(%e : {c}) {{
      ^bb0(%x: f32, %y: f32, %q: f32, %w: f32, %o: f32): {body}
      }} -> {c}
      return {after} : {c}
    }}"""


def operands(m: int, n: int, k: int) -> list[Any]:
    shapes = [(m, k), (k, n), (n,), (m, n), (m,)]
    return [integers(*shape, seed=seed) for seed, shape in enumerate(shapes)]


def loops(compiled: Any) -> int:
    """How many nests of loops of the entry are left beside the packed nest."""
    return entry_of(compiled).count("scf.for")


@pytest.mark.parametrize(
    "sizes",
    [(64, 64, 64), (100, 80, 64), (7, 19, 30), (7, 19, 1300), (33, 130, 2000), (65, 3, 1100)],
)
def test_bias_activation_and_residual(sizes: tuple[int, int, int]) -> None:
    compiled = kernel(text(*sizes))
    a, b, bias, residual, rows = operands(*sizes)
    expected = np.maximum(a @ b + bias, 0) + residual - rows[:, None]
    np.testing.assert_array_equal(compiled(a, b, bias, residual, rows), expected)
    assert "linalg_ext.plan" in compiled.as_text("loops")
    assert loops(compiled) == 0
    assert "memref.alloc" not in compiled.as_text("loops").partition("func.func private")[0]


def test_the_result_is_nan_where_its_sum_is() -> None:
    compiled = kernel(text(13, 37, 600))
    a, b, bias, residual, rows = operands(13, 37, 600)
    a[12, 0] = np.nan
    got = compiled(a, b, bias, residual, rows)
    # ogt is false of NaN: the activation gives 0.
    expected = np.where(np.isnan(a @ b), 0, np.maximum(a @ b + bias, 0))
    np.testing.assert_array_equal(got, expected + residual - rows[:, None])


@pytest.mark.parametrize(
    ("why", "changed"),
    [
        ("it asks for its position", text(32, 32, 32).replace(
            "%s = arith.addf %x, %y : f32",
            "%at = linalg.index 0 : index\n%row = arith.index_cast %at : index to i32\n"
            "%at_f = arith.sitofp %row : i32 to f32\n%xy = arith.addf %x, %y : f32\n"
            "%s = arith.addf %xy, %at_f : f32",
        )),
        ("the product is wanted too", text(32, 32, 32, after="%c")),
        ("it is read transposed", text(32, 32, 32).replace(
            "indexing_maps = [affine_map<(i, j) -> (i, j)>",
            "indexing_maps = [affine_map<(i, j) -> (j, i)>",
        )),
    ],
)  # fmt: skip
def test_left_to_loops(why: str, changed: str) -> None:
    both = changed.replace(
        "return %c : tensor<32x32xf32>", "return %c, %r : tensor<32x32xf32>, tensor<32x32xf32>"
    )
    if both != changed:
        both = both.replace("-> tensor<32x32xf32> {\n      %z", "-> (tensor<32x32xf32>, "
                            "tensor<32x32xf32>) {\n      %z")  # fmt: skip
    compiled = kernel(both)
    assert loops(compiled) > 0, why
    a, b, bias, residual, rows = operands(32, 32, 32)
    product = a @ b
    got = compiled(a, b, bias, residual, rows)
    if isinstance(got, tuple):
        np.testing.assert_array_equal(got[0], product)
        got = got[1]
    seen = product.T if "(j, i)" in changed else product
    if "linalg.index" in changed:
        seen = seen + np.arange(32, dtype=np.float32)[:, None]
    expected = np.maximum(seen + bias, 0) + residual - rows[:, None]
    np.testing.assert_array_equal(got, expected)


def test_two_layers() -> None:
    """The result of one is an operand of the next: each has an epilogue of its own."""

    def layer(number: int, source: str, weights: str, sizes: tuple[int, int, int]) -> str:
        m, n, k = sizes
        c = f"tensor<{m}x{n}xf32>"
        return f"""
      %e{number} = tensor.empty() : {c}
      %f{number} = linalg.fill ins(%z : f32) outs(%e{number} : {c}) -> {c}
      %m{number} = linalg.matmul ins({source}, {weights} : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)
                                 outs(%f{number} : {c}) -> {c}
      %r{number} = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>,
                                                     affine_map<(i, j) -> (i, j)>],
                                    iterator_types = ["parallel", "parallel"]}}
        ins(%m{number} : {c}) outs(%e{number} : {c}) {{
      ^bb0(%in: f32, %o: f32):
        %q = arith.maximumf %in, %z : f32
        linalg.yield %q : f32
      }} -> {c}"""

    compiled = kernel(f"""
    func.func @f(%x: tensor<40x50xf32>, %v: tensor<50x60xf32>, %w: tensor<60x30xf32>)
        -> tensor<40x30xf32> {{
      %z = arith.constant 0.0 : f32
      {layer(0, "%x", "%v", (40, 60, 50))}
      {layer(1, "%r0", "%w", (40, 30, 60))}
      return %r1 : tensor<40x30xf32>
    }}""")
    assert loops(compiled) == 0
    x, v, w = integers(40, 50), integers(50, 60), integers(60, 30)
    np.testing.assert_array_equal(compiled(x, v, w), np.maximum(np.maximum(x @ v, 0) @ w, 0))


def test_a_bias_in_another_shape() -> None:
    """As norms have them: of a shape made after the product, its axes of one element read by 0."""
    reshaped = text(40, 48, 64).replace("affine_map<(i, j) -> (j)>", "affine_map<(i, j) -> (j, 0)>")
    reshaped = reshaped.replace(
        "%r = linalg.generic",
        """%wide = tensor.expand_shape %bias [[0, 1]] output_shape [48, 1]
        : tensor<48xf32> into tensor<48x1xf32>
      %r = linalg.generic""",
    ).replace("%c, %bias, %residual", "%c, %wide, %residual")
    compiled = kernel(
        reshaped.replace(
            ", tensor<48xf32>, tensor<40x48xf32>, tensor<40xf32>)\n",
            ", tensor<48x1xf32>, tensor<40x48xf32>, tensor<40xf32>)\n",
        )
    )
    assert loops(compiled) == 0
    a, b, bias, residual, rows = operands(40, 48, 64)
    expected = np.maximum(a @ b + bias, 0) + residual - rows[:, None]
    np.testing.assert_array_equal(compiled(a, b, bias, residual, rows), expected)


@pytest.mark.parametrize("sizes", [(4, 9, 64), (8, 8, 17), (13, 37, 64), (33, 40, 8)])
def test_a_mask_of_booleans(sizes: tuple[int, int, int]) -> None:
    """A byte each in memory: a vector of them must not be read as bits."""
    m, n, k = sizes
    a, b = integers(m, k, seed=0), integers(k, n, seed=1)
    mask = np.tril(np.ones((m, n), bool))

    def masked(a: Any, b: Any, mask: Any) -> Any:
        return np.where(mask, (a @ b) / np.float64(8), -1e30)

    expected = masked(a, b, mask)
    np.testing.assert_array_equal(lx.jit(masked)(a, b, mask), expected)
    np.testing.assert_array_equal(lx.jit(lambda a, b: masked(a, b, mask))(a, b), expected)


@pytest.mark.parametrize("sizes", [(4, 9, 64), (8, 8, 17), (13, 37, 64), (300, 40, 8)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_a_comparison_is_written_in_bytes(sizes: tuple[int, int, int], dtype: Any) -> None:
    """A vector of truth values must not be written as bits."""
    m, n, k = sizes
    a, b = integers(m, k, seed=0).astype(dtype), integers(k, n, seed=1).astype(dtype)
    compiled = lx.jit(lambda a, b: a @ b > 0).lower(a, b).compile()
    assert loops(compiled) == 0
    np.testing.assert_array_equal(compiled(a, b), a @ b > 0)


def test_a_mask_in_pieces() -> None:
    """Where a vector of the mask lies in several pieces, the next keeps what the last one read."""
    a, b = integers(24, 30, seed=0), integers(30, 6, 12, seed=1)
    mask = np.arange(24 * 6 * 20).reshape(24, 6, 20) % 7 < 3

    def masked(a: Any, b: Any, mask: Any) -> Any:
        return np.where(mask[:, :, :12], np.einsum("ik,knm->inm", a, b), 0)

    with lx.target.using("avx2"):
        compiled = lx.jit(masked).lower(a, b, mask).compile()
    assert loops(compiled) == 0
    np.testing.assert_array_equal(compiled(a, b, mask), masked(a, b, mask))


def test_layers_alike_each_have_their_epilogue() -> None:
    """Their destinations are filled before the first of them is a nest."""
    rng = np.random.default_rng(0)
    x, u, v = (rng.standard_normal((64, 64), np.float32) for _ in range(3))
    layers = lx.jit(lambda x, u, v: np.maximum(np.maximum(x @ u, 0.0) @ v, 0.0))
    explained = str(layers.explain(x, u, v))
    assert explained.count("epilogue") == explained.count("packed contraction")
    assert "added to" not in explained
    wide = [array.astype(np.float64) for array in (x, u, v)]
    expected = np.maximum(np.maximum(wide[0] @ wide[1], 0.0) @ wide[2], 0.0)
    np.testing.assert_allclose(layers(x, u, v), expected, rtol=1e-4, atol=1e-3)
