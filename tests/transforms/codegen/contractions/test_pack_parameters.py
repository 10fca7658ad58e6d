"""Parameters of products become strips, where that is how their nests read them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from kernels import normalized
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.contractions import pack_parameters as file

AROUND = """
func.func @f(%x: tensor<100x320xf32>, %w: {type} {{linalg_ext.parameter}}, %e: tensor<320x640xf32>,
             %c: tensor<100x640xf32>) -> tensor<100x640xf32> {{
  {body}
  return %r : tensor<100x640xf32>
}}"""


def test_the_example() -> None:
    before, after = examples(file)[0]
    module = Module.parse(AROUND.format(type="tensor<640x320xf32>", body=before), trusted=True)
    with lx.target.using("avx2"):
        assert lx.transforms.pack_parameters(module).changed["parameter"] == 1
    module.verify()
    for attribute in list(module.ir.operation.attributes):
        del module.ir.operation.attributes[attribute]
    wanted = Module.parse(AROUND.format(type="tensor<40x320x16xf32>", body=after), trusted=True)
    assert normalized(module.clone().ir) == normalized(wanted.ir)


def contraction(maps: str, x: str, w: str, c: str, extra: str = "") -> str:
    """A function that contracts `x` with the parameter `w`, from zeros."""
    ins = f"%x, %w : tensor<{x}>, tensor<{w}>"
    return f"""
func.func @f(%x: tensor<{x}>, %w: tensor<{w}> {{linalg_ext.parameter}}) -> tensor<{c}> {{
  %zero = arith.constant 0.0 : {c.rpartition("x")[2]}
  %e = tensor.empty() : tensor<{c}>
  %z = linalg.fill ins(%zero : {c.rpartition("x")[2]}) outs(%e : tensor<{c}>) -> tensor<{c}>
  {extra}
  %r = linalg.contract indexing_maps = [{maps}] ins({ins}) outs(%z : tensor<{c}>) -> tensor<{c}>
  return %r : tensor<{c}>
}}"""


def maps(*operands: str) -> str:
    loops = sorted(set("".join(operands)))
    return ", ".join(
        f"affine_map<({', '.join(loops)}) -> ({', '.join(each)})>" for each in operands
    )


def packed(text: str) -> tuple[Module, Any]:
    """The module after the pass, and its report."""
    module = Module.parse(text, trusted=True)
    report = lx.transforms.pack_parameters(module)
    module.verify()
    return module, report


def strips(w: np.ndarray[Any, Any], module: Module) -> np.ndarray[Any, Any]:
    """A parameter as the function takes it."""
    (shape,) = re.findall(r"%arg1: tensor<([\dx]+)xf\d+>", str(module))
    width = int(shape.rpartition("x")[2])
    apart = w.reshape(-1, width, *w.shape[1:])
    return np.ascontiguousarray(np.moveaxis(apart, 1, -1))


@pytest.mark.parametrize("target", [None, "avx2"])
@pytest.mark.parametrize(
    ("subscripts", "x", "w", "dtype"),
    [
        ("mk,nk->mn", (37, 529), (192, 529), "f4"),
        ("km,nk->mn", (196, 130), (384, 196), "f8"),
        ("abk,nk->abn", (5, 7, 301), (384, 301), "f4"),
        ("mkl,nkl->mn", (33, 5, 99), (192, 5, 99), "f4"),
        ("mk,nk->mn", (3, 512), (960, 512), "f4"),
    ],
)
def test_numbers(subscripts: str, x: Any, w: Any, dtype: str, target: str | None) -> None:
    random = np.random.default_rng(0)
    a, b = random.random(x).astype(dtype), random.random(w).astype(dtype)
    wanted = np.einsum(subscripts, a, b)
    element = "f32" if dtype == "f4" else "f64"
    shapes = ["x".join(map(str, shape)) + f"x{element}" for shape in (x, w, wanted.shape)]
    inputs, result = subscripts.split("->")
    with lx.target.using(target or lx.target.current()):
        module, report = packed(contraction(maps(*inputs.split(","), result), *shapes))
        assert report.changed["parameter"] == 1
        kernel = lx.compile(module, trusted=True)
    given = strips(b, module)
    assert given.shape != b.shape
    np.testing.assert_allclose(kernel(a, given), wanted, rtol=1e-4 if dtype == "f4" else 1e-12)
    assert "B none" in str(kernel.explain())


def test_an_epilogue_is_still_done_on_the_tile() -> None:
    text = contraction(maps("mk", "nk", "mn"), "64x480xf32", "192x480xf32", "64x192xf32").replace(
        "return %r",
        """%s = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>,
                                                 affine_map<(m, n) -> (m, n)>],
                                iterator_types = ["parallel", "parallel"]}
             ins(%r : tensor<64x192xf32>) outs(%e : tensor<64x192xf32>) {
           ^bb0(%p: f32, %o: f32):
             %q = arith.maximumf %p, %zero : f32
             linalg.yield %q : f32
           } -> tensor<64x192xf32>
           return %s""",
    )
    module, _ = packed(text)
    kernel = lx.compile(module, trusted=True)
    assert "on the tile in registers" in str(kernel.explain())
    x, w = np.random.default_rng(0).random((2, 192, 480), "f4") - 0.5
    wanted = np.maximum(x[:64] @ w.T, 0)
    np.testing.assert_allclose(kernel(x[:64].copy(), strips(w, module)), wanted, atol=1e-4)


BEST = "best read in place"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (contraction(maps("mk", "nk", "mn"), "64x480xf32", "190x480xf32", "64x190xf32"), BEST),
        (contraction(maps("mk", "kn", "mn"), "64x480xf32", "480x192xf32", "64x192xf32"), "else"),
        (contraction(maps("mk", "nk", "nm"), "64x480xf32", "192x480xf32", "192x64xf32"), "else"),
        (contraction(maps("mk", "nk", "mn"), "1x960xf32", "960x960xf32", "1x960xf32"), BEST),
        (contraction(maps("mk", "nk", "mn"), "9x5xf32", "192x5xf32", "9x192xf32"), BEST),
        (contraction(maps("mk", "nk", "mn"), "9999x96xf32", "192x96xf32", "9999x192xf32"), BEST),
        (contraction(maps("mkl", "nlk", "mn"), "99x8x96xf32", "192x96x8xf32", "99x192xf32"), BEST),
    ],
)
def test_what_is_left(text: str, why: str) -> None:
    module, report = packed(text)
    assert not report.changed
    assert why in str(report)
    assert "tensor.collapse_shape" not in str(module)


def test_what_something_else_reads_is_left() -> None:
    extra = "%i = arith.constant 0 : index\n%t = tensor.extract %w[%i, %i] : tensor<192x480xf32>"
    text = contraction(maps("mk", "nk", "mn"), "64x480xf32", "192x480xf32", "64x192xf32", extra)
    assert not packed(text)[1].changed


def test_arguments_that_are_no_parameters_are_left() -> None:
    text = contraction(maps("mk", "nk", "mn"), "64x480xf32", "192x480xf32", "64x192xf32")
    _, report = packed(text.replace("{linalg_ext.parameter}", ""))
    assert not report.matched
