"""What is computed inside a sum of products, computed before it."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import kernel
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.contractions.separate_factors import separate_factors
from memrefs import integers


def _text(body: str, second: str = "(m, n, k) -> (k)", type_: str = "tensor<60xf32>") -> str:
    """Sums over k of what `body` makes of an (m, k), something else, and a (k, n)."""
    return f"""
    func.func @f(%a: tensor<50x60xf32>, %c: {type_}, %b: tensor<60x70xf32>,
                 %z: tensor<50x70xf32>) -> tensor<50x70xf32> {{
      %two = arith.constant 2.0 : f32
      %r = linalg.generic {{
          indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<{second}>,
                           affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%a, %c, %b : tensor<50x60xf32>, {type_}, tensor<60x70xf32>)
        outs(%z : tensor<50x70xf32>) {{
      ^bb0(%x: f32, %y: f32, %u: f32, %o: f32):
        {body}
        %t = arith.addf %o, %p : f32
        linalg.yield %t : f32
      }} -> tensor<50x70xf32>
      return %r : tensor<50x70xf32>
    }}"""


def test_both_factors_and_what_they_share() -> None:
    compiled = kernel(
        _text(
            """%s = arith.addf %x, %y : f32
            %d = arith.mulf %u, %two : f32
            %e = arith.subf %d, %y : f32
            %p = arith.mulf %e, %s : f32"""
        )
    )
    a, c, b, z = integers(50, 60), integers(60), integers(60, 70), integers(50, 70)
    np.testing.assert_array_equal(compiled(a, c, b, z), (a + c) @ (2 * b - c[:, None]) + z)
    assert "linalg_ext.plan" in compiled.as_text("loops")


@pytest.mark.parametrize(
    ("body", "second", "type_", "reason"),
    [
        (
            "%s = arith.addf %x, %u : f32\n%p = arith.mulf %s, %y : f32",
            "(m, n, k) -> (k)",
            "tensor<60xf32>",
            "a factor depends on all dimensions",
        ),
        (
            "%i = linalg.index 2 : index\n%j = arith.index_cast %i : index to i32\n"
            "%f = arith.sitofp %j : i32 to f32\n%s = arith.addf %x, %f : f32\n"
            "%p = arith.mulf %s, %u : f32",
            "(m, n, k) -> (k)",
            "tensor<60xf32>",
            "a factor asks for its position",
        ),
        (
            "%s = arith.addf %x, %y : f32\n%p = arith.mulf %s, %u : f32",
            "(m, n, k) -> (m + k)",
            "tensor<109xf32>",
            "a factor is read along a sum of dimensions",
        ),
        (
            "%s = arith.mulf %x, %u : f32\n%p = arith.mulf %s, %two : f32",
            "(m, n, k) -> (k)",
            "tensor<60xf32>",
            "a factor is a constant",
        ),
    ],
)
def test_what_is_left(body: str, second: str, type_: str, reason: str) -> None:
    module = Module.parse(_text(body, second, type_))
    before = str(module)
    report = separate_factors(module)
    assert report.left == {"linalg.generic": {reason}}
    assert str(module) == before


def test_a_factor_that_is_a_part_of_complex_numbers() -> None:
    compiled = kernel(
        _text(
            """%s = complex.re %y : complex<f32>
            %e = arith.addf %s, %x : f32
            %p = arith.mulf %e, %u : f32""",
            type_="tensor<60xcomplex<f32>>",
        ).replace("%y: f32", "%y: complex<f32>")
    )
    a, c, b, z = integers(50, 60), integers(60), integers(60, 70), integers(50, 70)
    found = compiled(a, c.astype(np.complex64), b, z)
    np.testing.assert_array_equal(found, (a + c) @ b + z)


def test_a_factor_that_reads_complex_numbers_alone() -> None:
    compiled = kernel(
        _text("%p = arith.mulf %v, %u : f32")
        .replace("arith.mulf %v", "arith.mulf %s")
        .replace("%p =", "%s = complex.re %x : complex<f32>\n%p =")
        .replace("tensor<50x60xf32>", "tensor<50x60xcomplex<f32>>")
        .replace("^bb0(%x: f32", "^bb0(%x: complex<f32>")
    )
    a, c, b, z = integers(50, 60), integers(60), integers(60, 70), integers(50, 70)
    np.testing.assert_array_equal(compiled(a.astype(np.complex64), c, b, z), a @ b + z)


def test_a_sum_over_what_no_factor_has() -> None:
    module = Module.parse("""
        func.func @f(%a: tensor<f32>, %n: tensor<5xf32>, %z: tensor<f32>) -> tensor<f32> {
          %r = linalg.generic {
              indexing_maps = [affine_map<(k) -> ()>, affine_map<(k) -> (k)>,
                               affine_map<(k) -> ()>],
              iterator_types = ["reduction"]}
            ins(%a, %n : tensor<f32>, tensor<5xf32>) outs(%z : tensor<f32>) {
          ^bb0(%x: f32, %y: f32, %o: f32):
            %s = arith.negf %x : f32
            %p = arith.mulf %x, %s : f32
            %t = arith.addf %o, %p : f32
            linalg.yield %t : f32
          } -> tensor<f32>
          return %r : tensor<f32>
        }""")
    assert separate_factors(module).left == {"linalg.generic": {"a dimension is in neither factor"}}
