"""Contractions of complex numbers, as contractions of their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.contractions.split_complex_products import (
    split_complex_products,
)

Array = np.ndarray[Any, Any]

SPECS = {
    "rows by columns": "mk,kn->mn",
    "both transposed": "km,nk->nm",
    "rows by rows": "mk,nk->mn",
    "a matrix and a vector": "mk,k->m",
    "a vector and a matrix": "k,km->m",
    "a batch": "bmk,bkn->mbn",
    "two summed axes": "mkl,lkn->mn",
    "a free axis in the middle": "abk,kc->acb",
    "a batch along memory": "kmb,knb->mnb",
}


def numbers(seed: int, dtype: Any, *shape: int) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def operands(spec: str, dtype: Any, size: int) -> list[Array]:
    sizes = {letter: size + number % 3 for number, letter in enumerate("abcdklmn")}
    inputs = spec.partition("->")[0].split(",")
    return [
        numbers(at, dtype, *(sizes[letter] for letter in letters))
        for at, letters in enumerate(inputs)
    ]


def packed(text: str) -> bool:
    return "linalg_ext.plan" in text


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
@pytest.mark.parametrize(
    ("dtype", "conjugated"),
    [(np.complex64, "neither"), (np.complex128, "first"), (np.complex64, "second")],
)
def test_every_form_is_packed_and_right(spec: str, dtype: Any, conjugated: str) -> None:
    def contract(a: Any, b: Any) -> Any:
        a = a.conj() if conjugated == "first" else a
        b = b.conj() if conjugated == "second" else b
        return np.einsum(spec, a, b)

    a, b = operands(spec, dtype, 23)
    expected = contract(a, b)
    tolerance = 100 * np.finfo(dtype).eps * np.abs(expected).max()
    compiled = lx.jit(contract).lower(a, b).compile()
    np.testing.assert_allclose(compiled(a, b), expected, rtol=0, atol=tolerance)
    assert packed(compiled.kernel.as_text("loops"))
    of_open_sizes = lx.jit(contract, dynamic=True)
    for size in (23, 1, 5):
        a, b = operands(spec, dtype, size)
        found, expected = of_open_sizes(a, b), contract(a, b)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("layout", [(64, 1), (1, 64)], ids=["in rows", "in columns"])
def test_what_is_there_is_added_to_wherever_the_operands_lie(layout: tuple[int, int]) -> None:
    """A view of another matrix lies at an offset, along either axis."""
    strides, offset = list(layout), 64 * 3 + 2
    view = f"memref<9x50xcomplex<f64>, strided<{strides}, offset: {offset}>>"
    kernel = lx.compile(f"""
    func.func @f(%m: memref<64x64xcomplex<f64>>, %x: memref<50x7xcomplex<f64>>,
                 %c: memref<9x7xcomplex<f64>>) {{
      %a = memref.reinterpret_cast %m to offset: [{offset}], sizes: [9, 50], strides: {strides}
        : memref<64x64xcomplex<f64>> to {view}
      linalg.matmul ins(%a, %x : {view}, memref<50x7xcomplex<f64>>)
        outs(%c : memref<9x7xcomplex<f64>>)
      return
    }}""")
    m, x, c = (numbers(at, np.complex128, *s) for at, s in enumerate([(64, 64), (50, 7), (9, 7)]))
    part = m.T[2:11, 3:53] if layout[0] == 1 else m[3:12, 2:52]
    expected = c + part @ x
    kernel(m, x, c)
    np.testing.assert_allclose(c, expected, rtol=0, atol=1e-12)
    assert packed(kernel.as_text("loops"))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("function", [lambda a, b: a @ b, lambda a, b: a.T.conj() @ b])
def test_several_threads_share_it(threads: int, function: Callable[..., Any]) -> None:
    a, b = numbers(0, np.complex64, 200, 200), numbers(1, np.complex64, 200, 200)
    with lx.threads.using(threads):
        found = lx.jit(function)(a, b)
    np.testing.assert_allclose(found, function(a, b), rtol=0, atol=1e-3)


def test_infinities_are_those_of_the_plain_formula() -> None:
    a, b = np.ones((16, 16), np.complex64), np.ones((16, 16), np.complex64)
    a[3, 5] = complex(np.inf, 0)
    with np.errstate(invalid="ignore"):
        expected = np.einsum("mk,kn->mn", a, b)
    np.testing.assert_array_equal(lx.jit(lambda a, b: a @ b)(a, b), expected)


def _generic(body: str, second: str = "(m, n, k) -> (k, n)", size: int = 50) -> str:
    return f"""
    func.func @f(%a: memref<{size}x{size}xcomplex<f32>>, %b: memref<{size}x{size}xcomplex<f32>>,
                 %c: memref<{size}x{size}xcomplex<f32>>) {{
      linalg.generic {{
          indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<{second}>,
                           affine_map<(m, n, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%a, %b : memref<{size}x{size}xcomplex<f32>>, memref<{size}x{size}xcomplex<f32>>)
        outs(%c : memref<{size}x{size}xcomplex<f32>>) {{
      ^bb0(%x: complex<f32>, %y: complex<f32>, %o: complex<f32>):
        {body}
        linalg.yield %s : complex<f32>
      }}
      return
    }}"""


_PRODUCT = "%p = complex.mul %x, %y : complex<f32>\n"
_SUM = "%s = complex.add %o, %p : complex<f32>"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_generic(_PRODUCT + _SUM, size=3), "the product is small"),
        (
            _generic(_PRODUCT + "%s = complex.mul %o, %p : complex<f32>"),
            "the body is not a sum of products",
        ),
        (
            _generic(
                "%e = complex.exp %x : complex<f32>\n%p = complex.mul %e, %y : complex<f32>\n"
                + _SUM
            ),
            "a factor is computed",
        ),
        (
            _generic("%p = complex.mul %x, %x : complex<f32>\n" + _SUM),
            "a factor is computed",
        ),
        (
            _generic(_PRODUCT + _SUM, "(m, n, k) -> (k, k)"),
            "an axis is not indexed by a loop of its own",
        ),
        (_generic(_PRODUCT + _SUM, "(m, n, k) -> (m, k)"), "a loop reaches no factor"),
        (
            _generic(_PRODUCT + _SUM, "(m, n, k) -> (m, n)"),
            "an axis of one operand alone is summed",
        ),
    ],
)
def test_what_stays_is_told(text: str, reason: str) -> None:
    module = Module.parse(text)
    assert split_complex_products(module).left == {"linalg.generic": {reason}}
