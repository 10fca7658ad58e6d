"""Work in loops that carry buffers: shared where nothing writes these by another name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.executable import code_variants
from linalg_ext.module import Module
from linalg_ext.transforms.parallel import _partition


@pytest.fixture(autouse=True)
def _every_work_is_worth_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_partition, "WORTH_SHARING", 0)
    monkeypatch.setattr(_partition, "LEAST_SLICE", 1e-3)
    monkeypatch.setattr(code_variants, "LEAST_BYTES", 0)


RECURRENCE = """
func.func @steps(%x: tensor<{steps}x7x12xf32>, %w: tensor<12x12xf32>, %h: tensor<7x12xf32>)
    -> (tensor<7x12xf32>, tensor<7x12xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant {steps} : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7x12xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<7x12xf32>) -> tensor<7x12xf32>
  %r:2 = scf.for %t = %c0 to %end step %c1 iter_args(%a = %h, %b = %z)
      -> (tensor<7x12xf32>, tensor<7x12xf32>) {{
    %xt = tensor.extract_slice %x[%t, 0, 0] [1, 7, 12] [1, 1, 1]
      : tensor<{steps}x7x12xf32> to tensor<7x12xf32>
    %p = linalg.matmul ins(%a, %w : tensor<7x12xf32>, tensor<12x12xf32>)
                       outs(%xt : tensor<7x12xf32>) -> tensor<7x12xf32>
    %n = linalg.tanh ins(%p : tensor<7x12xf32>) outs(%e : tensor<7x12xf32>) -> tensor<7x12xf32>
    %s = linalg.add ins(%b, %a : tensor<7x12xf32>, tensor<7x12xf32>)
                    outs(%e : tensor<7x12xf32>) -> tensor<7x12xf32>
    scf.yield {handed_on} : tensor<7x12xf32>, tensor<7x12xf32>
  }}
  return %r#0, %r#1 : tensor<7x12xf32>, tensor<7x12xf32>
}}
"""


def _expected(x: Any, w: Any, h: Any, *, swapped: bool) -> tuple[Any, Any]:
    a, b = h, np.zeros_like(h)
    for row in x:
        new = np.tanh(row + a @ w), b + a
        a, b = new[::-1] if swapped else new
    return a, b


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_recurrence_is_the_same_on_any_number_of_threads(steps: int, swapped: bool) -> None:
    text = RECURRENCE.format(steps=steps, handed_on="%s, %n" if swapped else "%n, %s")
    kernel = lx.compile(text)
    rng = np.random.default_rng(steps)
    shapes = (steps, 7, 12), (12, 12), (7, 12)
    x, w, h = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    expected = _expected(x, w, h, swapped=swapped)
    assert kernel.shared is not None
    for threads in (1, 2, 3, 5):
        for found, wanted in zip(kernel(x, w, h, threads=threads), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


LOOP = """
#id = affine_map<(m, n) -> (m, n)>
func.func @entry(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %status: memref<1xi64>)
    attributes {{linalg_ext.status}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %first = memref.alloc() : memref<8x8xf32>
  %part = memref.subview %first[0, 0] [8, 8] [1, 1]
    : memref<8x8xf32> to memref<8x8xf32, strided<[8, 1]>>
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%x = {first}) -> (memref<8x8xf32>) {{
    %new = memref.alloc() : memref<8x8xf32>
    {body}
    scf.yield {last} : memref<8x8xf32>
  }}
  return
}}
"""

COPY = """
linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
  ins({0}) outs({1}) {{
  ^bb0(%p: f32, %q: f32): linalg.yield %p : f32 }}
"""


def copy(source: str, destination: str, type_: str = "memref<8x8xf32>") -> str:
    return COPY.format(f"{source} : memref<8x8xf32>", f"{destination} : {type_}")


@pytest.mark.parametrize(
    ("first", "body", "last", "is_shared"),
    [
        ("%first", copy("%x", "%new"), "%new", True),
        ("%first", copy("%x", "%new"), "%x", True),
        ("%a", copy("%x", "%new"), "%new", True),
        # What is carried is written, by its name or another one.
        ("%first", copy("%new", "%x"), "%new", False),
        ("%first", copy("%x", "%first"), "%new", False),
        ("%first", copy("%x", "%part", "memref<8x8xf32, strided<[8, 1]>>"), "%new", False),
        ("%a", copy("%x", "%a"), "%new", False),
        # It is handed on by another name than it is written by.
        ("%first", copy("%x", "%b"), "%b", False),
    ],
)
def test_what_is_carried_is_read_where_nothing_writes_it(
    first: str, body: str, last: str, is_shared: bool
) -> None:
    module = Module.parse(LOOP.format(first=first, body=body, last=last), trusted=True)
    assert bool(lx.transforms.share_work(module, threads=2)) == is_shared
    assert ("scf.forall" in str(module)) == is_shared
