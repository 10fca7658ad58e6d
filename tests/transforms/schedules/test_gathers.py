"""Bodies that read tensors at places that they compute are vectorized, by gathers."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ExecutionError
from linalg_ext.module import Module
from rewrite_texts import function, parsed


def _taken(body: str) -> Module:
    maps = ", ".join(["affine_map<(i, j) -> (i, j)>"] * 2)
    return parsed(
        function(
            "%a: tensor<4x8xf32>, %p: tensor<4x8xi64>, %c: tensor<4x8xf32>",
            f"""%last = arith.constant 7 : index
    %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
        ins(%p : tensor<4x8xi64>) outs(%c : tensor<4x8xf32>) {{
    ^bb0(%x: i64, %o: f32):
      %i = linalg.index 0 : index
      {body}
      %q = tensor.extract %a[%i, %k] : tensor<4x8xf32>
      linalg.yield %q : f32
    }} -> tensor<4x8xf32>""",
            "tensor<4x8xf32>",
        )
    )


GIVEN = "%k = arith.index_cast %x : i64 to index"
TURNED = """%j = linalg.index 1 : index
      %k = arith.subi %last, %j : index"""


@pytest.mark.parametrize("tile", [[], [3, 5]])
@pytest.mark.parametrize("body", [GIVEN, TURNED], ids=["given", "turned"])
def test_what_is_read_is_what_numpy_takes(body: str, tile: list[int]) -> None:
    """Tiles leave affine.apply in the body; those at the rim are masked."""
    changed = _taken(body)
    schedule = lx.Schedule(changed).match("generic")
    if tile:
        schedule.tile(tile)
    schedule.vectorize(tile)
    assert "vector.gather" in str(changed)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 8)).astype(np.float32)
    places = rng.integers(0, 8, (4, 8))
    found = lx.compile(changed, entry="main")(values, places, np.zeros((4, 8), np.float32))
    wanted = values[:, ::-1] if body is TURNED else np.take_along_axis(values, places, 1)
    np.testing.assert_array_equal(found, wanted)


def test_a_place_outside_memory_is_an_error() -> None:
    changed = _taken(GIVEN)
    lx.Schedule(changed).match("generic").vectorize()
    places = np.full((4, 8), 10**9)
    empty = np.zeros((4, 8), np.float32)
    with pytest.raises(ExecutionError, match="out-of-bounds"):
        lx.compile(changed, entry="main")(empty, places, empty.copy())
