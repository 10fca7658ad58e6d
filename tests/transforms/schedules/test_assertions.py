"""Assertions in bodies are asserted before the vectors: for all elements, and for these alone."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ExecutionError
from rewrite_texts import function, parsed

_MAPS = ", ".join(["affine_map<(i, j) -> (i, j)>"] * 3)
DIVIDED = function(
    "%a: tensor<5x7xf32>, %b: tensor<5x7xf32>, %c: tensor<5x7xf32>",
    f"""%zero = arith.constant 0.0 : f32
  %r = linalg.generic {{indexing_maps = [{_MAPS}], iterator_types = ["parallel", "parallel"]}}
      ins(%a, %b : tensor<5x7xf32>, tensor<5x7xf32>) outs(%c : tensor<5x7xf32>) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    %is = arith.cmpf one, %y, %zero : f32
    cf.assert %is, "division by zero"
    %q = arith.divf %x, %y : f32
    %small = arith.cmpf olt, %q, %x : f32
    cf.assert %small, "not smaller"
    linalg.yield %q : f32
  }} -> tensor<5x7xf32>""",
    "tensor<5x7xf32>",
)


@pytest.mark.parametrize("tile", [[], [2, 4]])
def test_what_is_asserted_holds_or_stops_the_call(tile: list[int]) -> None:
    """Tiles at the rim are masked: what is beside them asserts nothing."""
    changed = parsed(DIVIDED)
    schedule = lx.Schedule(changed).match("generic")
    if tile:
        schedule.tile(tile)
    schedule.vectorize(tile)
    text = str(changed)
    assert "linalg." not in text
    assert text.count("cf.assert") == 2
    assert text.index('"division by zero"') < text.index('"not smaller"') < text.rindex("divf %")
    kernel = lx.compile(changed, entry="main")
    rng = np.random.default_rng(0)
    values = rng.uniform(1, 2, (5, 7)).astype(np.float32)
    divisors = rng.uniform(2, 3, (5, 7)).astype(np.float32)
    start = np.zeros((5, 7), np.float32)
    np.testing.assert_allclose(kernel(values, divisors, start), values / divisors, rtol=1e-6)
    for at, wrong, message in (((4, 6), 0.0, "division by zero"), ((0, 3), 0.5, "not smaller")):
        bad = divisors.copy()
        bad[at] = wrong
        with pytest.raises(ExecutionError, match=message):
            kernel(values, bad, start)
