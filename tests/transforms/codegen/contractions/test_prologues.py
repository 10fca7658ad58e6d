"""What is computed of an operand while it is packed: casts, scales, zero points."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from kernels import entry_of, kernel
from linalg_ext import target


def text(
    kind: str, scaled: str, a_order: str = "mk", b_order: str = "kn", dynamic: bool = False
) -> str:
    """`((a - p) * s) @ ((b - q) * t)`, integers of 8 bits, in f32.

    Args:
        kind: `i8`, or a float.
        scaled: what s and t have: the lines of an operand, its depth, both or nothing (`tensor`).
        a_order: the axes of a in memory.
        b_order: those of b.
        dynamic: whether sizes are open.
    """
    axes = {"line": ("m", "n"), "depth": ("k", "k"), "both": ("mk", "kn"), "tensor": ("", "")}
    s, t = axes[scaled]
    size = {"m": "?" if dynamic else "13", "n": "?" if dynamic else "37"} | {
        "k": "?" if dynamic else "70"
    }
    types = [
        f"tensor<{''.join(size[axis] + 'x' for axis in order)}{element}>"
        for order, element in ((a_order, kind), (b_order, kind), (s, "f32"), (t, "f32"))
    ]
    c = f"tensor<{size['m']}x{size['n']}xf32>"

    def computed(name: str, source: str, scale: str, place: str, order: str, point: str) -> str:
        wide = f"tensor<{''.join(size[axis] + 'x' for axis in order)}f32>"
        sizes = ", ".join(f"%size_{axis}" for axis in order) if dynamic else ""
        cast = "arith.sitofp" if kind.startswith("i") else "arith.extf"
        dims = ", ".join(order)
        return f"""
      %{name}e = tensor.empty({sizes}) : {wide}
      %{name} = linalg.generic {{
          indexing_maps = [affine_map<({dims}) -> ({dims})>,
                           affine_map<({dims}) -> ({", ".join(place)})>,
                           affine_map<({dims}) -> ({dims})>],
          iterator_types = ["parallel", "parallel"]}}
        ins(%{source}, %{scale} : {types["ab".index(source)]}, {types[2 + "st".index(scale)]})
        outs(%{name}e : {wide}) {{
      ^bb0(%in: {kind}, %scale: f32, %o: f32):
        %w = {cast} %in : {kind} to f32
        %d = arith.subf %w, %{point} : f32
        %r = arith.mulf %d, %scale : f32
        linalg.yield %r : f32
      }} -> {wide}"""

    wide = [f"tensor<{''.join(size[x] + 'x' for x in o)}f32>" for o in (a_order, b_order)]
    sizes = "" if not dynamic else f"""
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %size_m = tensor.dim %a, %c{a_order.index("m")} : {types[0]}
      %size_k = tensor.dim %a, %c{a_order.index("k")} : {types[0]}
      %size_n = tensor.dim %b, %c{b_order.index("n")} : {types[1]}"""  # fmt: skip
    given = "%size_m, %size_n" if dynamic else ""
    return f"""
    func.func @f(%a: {types[0]}, %b: {types[1]}, %s: {types[2]}, %t: {types[3]}, %p: f32)
        -> {c} {{
      %q = arith.constant 3.0 : f32
      %z = arith.constant 0.0 : f32
      {sizes}
      {computed("x", "a", "s", s, a_order, "p")}
      {computed("y", "b", "t", t, b_order, "q")}
      %e = tensor.empty({given}) : {c}
      %f = linalg.fill ins(%z : f32) outs(%e : {c}) -> {c}
      %c = linalg.generic {{
          indexing_maps = [affine_map<(m, n, k) -> ({", ".join(a_order)})>,
                           affine_map<(m, n, k) -> ({", ".join(b_order)})>,
                           affine_map<(m, n, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%x, %y : {wide[0]}, {wide[1]}) outs(%f : {c}) {{
      ^bb0(%l: f32, %g: f32, %o: f32):
        %v = arith.mulf %l, %g : f32
        %u = arith.addf %o, %v : f32
        linalg.yield %u : f32
      }} -> {c}
      return %c : {c}
    }}"""


def scales(place: str, sizes: dict[str, int], seed: int) -> Any:
    """Powers of two, so that sums stay exact."""
    random = np.random.default_rng(seed)
    return (2.0 ** random.integers(-2, 3, [sizes[axis] for axis in place])).astype(np.float32)


@pytest.mark.parametrize("kind", ["i8", "bf16", "f16"])
@pytest.mark.parametrize("scaled", ["tensor", "line", "depth", "both"])
@pytest.mark.parametrize(("a_order", "b_order"), [("mk", "kn"), ("km", "nk")])
@pytest.mark.parametrize("dynamic", [False, True])
def test_scaled_operands(kind: str, scaled: str, a_order: str, b_order: str, dynamic: bool) -> None:
    compiled = kernel(text(kind, scaled, a_order, b_order, dynamic))
    assert "linalg_ext.plan" in compiled.as_text("loops")
    assert "arith.mulf" not in entry_of(compiled)
    # A depth that may be great is done in blocks, with buffers for their sums.
    assert dynamic or "scf.for" not in entry_of(compiled)
    assert dynamic or "memref.alloc" not in entry_of(compiled)
    dtype = {"i8": np.int8, "bf16": ml_dtypes.bfloat16, "f16": np.float16}[kind]
    random = np.random.default_rng(0)
    for m, n, k in [(13, 37, 70), (1, 3, 5), (0, 4, 4), (50, 70, 1100)] if dynamic else [
        (13, 37, 70)
    ]:  # fmt: skip
        sizes = {"m": m, "n": n, "k": k}
        a = random.integers(-9, 9, [sizes[axis] for axis in a_order]).astype(dtype)
        b = random.integers(-9, 9, [sizes[axis] for axis in b_order]).astype(dtype)
        axes = {"line": ("m", "n"), "depth": ("k", "k"), "tensor": ("", "")}
        places = axes.get(scaled, (a_order, b_order)) if scaled != "both" else ("mk", "kn")
        s, t = (scales(place, sizes, seed) for seed, place in enumerate(places))
        wide_a = a.astype(np.float64).transpose([a_order.index(axis) for axis in "mk"]) - 2
        wide_b = b.astype(np.float64).transpose([b_order.index(axis) for axis in "kn"]) - 3
        wide_a *= np.broadcast_to(s[:, None] if scaled == "line" else s, wide_a.shape)
        wide_b *= np.broadcast_to(t[:, None] if scaled == "depth" else t, wide_b.shape)
        got = compiled(a, b, s, t, np.float32(2))
        np.testing.assert_array_equal(got, (wide_a @ wide_b).astype(np.float32))


def test_dequantized_and_finished() -> None:
    """From int8 to int8 in one nest: nothing of the size of an operand is made."""
    ops = lx.ops

    @lx.jit
    def layer(a: Any, b: Any, bias: Any) -> Any:
        x = ops.dequantize(a, np.float32(0.5), np.int32(3))
        y = ops.dequantize(b, np.float32(0.25), np.int32(-4))
        return ops.gelu_tanh(lx.einsum("mk,kn->mn", x, y) + bias)

    random = np.random.default_rng(1)
    a, b = random.integers(-5, 6, (33, 40), np.int8), random.integers(-5, 6, (40, 50), np.int8)
    bias = random.standard_normal(50).astype(np.float32)
    compiled = layer.lower(a, b, bias).compile()
    assert "scf.for" not in entry_of(compiled)
    assert "memref.alloc" not in entry_of(compiled)
    sums = ((a - 3.0) * 0.5) @ ((b + 4.0) * 0.25) + bias
    wanted = 0.5 * sums * (1 + np.tanh(np.sqrt(2 / np.pi) * (sums + 0.044715 * sums**3)))
    np.testing.assert_allclose(layer(a, b, bias), wanted, rtol=2e-6, atol=2e-6)


def test_other_machines() -> None:
    for machine in ("avx2", "generic-x86-64"):
        if target.named(machine).missing_on(target.host()):
            continue
        with target.using(machine):
            compiled = kernel(text("i8", "line"))
            random = np.random.default_rng(0)
            a, b = (random.integers(-9, 9, shape, np.int8) for shape in ((13, 70), (70, 37)))
            s, t = np.full(13, 2, np.float32), np.full(37, 0.5, np.float32)
            got = compiled(a, b, s, t, np.float32(2))
            np.testing.assert_array_equal(got, (a - 2.0) @ (b - 3.0))


def test_a_product_that_is_wanted_otherwise_too_is_made_once() -> None:
    """Two readers: the operand is in memory, and each reads it there."""
    both = text("i8", "tensor").replace("-> tensor<13x37xf32> {", "-> (tensor<13x37xf32>, "
                                        "tensor<13x70xf32>) {", 1)  # fmt: skip
    both = both.replace("return %c : tensor<13x37xf32>", "return %c, %x : tensor<13x37xf32>, "
                        "tensor<13x70xf32>")  # fmt: skip
    compiled = kernel(both)
    a, b = np.ones((13, 70), np.int8), np.ones((70, 37), np.int8)
    one = np.float32(1)
    product, wide = compiled(a, b, np.float32(4), one, one - 2)
    assert (wide == 8).all()
    assert (product == 70 * 8 * -2).all()
