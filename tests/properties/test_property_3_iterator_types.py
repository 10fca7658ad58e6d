"""Property 3: The Type Of Iterators is Defined Explicitly.

The document's example in words is a histogram: a reduction that the data steer, or, where there
are atomic operations, a parallel loop that uses them in its region.
"""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ScheduleError
from linalg_ext.module import Module
from linalg_ext.symbolic.index_sets import Tile

BINS = 7

COUNT = """
    %i = arith.index_cast %e : i32 to index
    %n = memref.atomic_rmw addi %one, %bins[%i] : (i32, memref<7xi32>) -> i32
"""
HISTOGRAM = f"""
#map = affine_map<(i) -> (i)>
func.func @histogram(%x: memref<?xi32>, %bins: memref<{BINS}xi32>) {{
  %one = arith.constant 1 : i32
  linalg.generic {{indexing_maps = [#map], iterator_types = ["parallel"]}}
    ins(%x : memref<?xi32>) {{
  ^bb0(%e: i32):{COUNT}
    linalg.yield
  }}
  return
}}
"""
# Counts, and gives what it read to an op that reads each of its elements several times.
PRODUCER = f"""
#map = affine_map<(i) -> (i)>
#rows = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<60xi32>, %bins: memref<{BINS}xi32>) -> tensor<60x4xi32> {{
  %one = arith.constant 1 : i32
  %e0 = tensor.empty() : tensor<60xi32>
  %p = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
    ins(%x : tensor<60xi32>) outs(%e0 : tensor<60xi32>) {{
  ^bb0(%e: i32, %o: i32):{COUNT}
    linalg.yield %e : i32
  }} -> tensor<60xi32>
  %e1 = tensor.empty() : tensor<60x4xi32>
  %q = linalg.generic {{indexing_maps = [#rows, #all], iterator_types = ["parallel", "parallel"]}}
    ins(%p : tensor<60xi32>) outs(%e1 : tensor<60x4xi32>) {{
  ^bb0(%e: i32, %o: i32):
    %d = arith.addi %e, %e : i32
    linalg.yield %d : i32
  }} -> tensor<60x4xi32>
  return %q : tensor<60x4xi32>
}}
"""


def data(size: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.random.default_rng(size).integers(0, BINS, size, dtype=np.int32)


def counts(kernel: lx.Kernel, x: np.ndarray[tuple[int], np.dtype[np.int32]]) -> list[int]:
    bins = np.zeros(BINS, np.int32)
    kernel(x, bins)
    return bins.tolist()


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_a_histogram_counts(size: int) -> None:
    x = data(size)
    assert counts(lx.compile(HISTOGRAM), x) == np.bincount(x, minlength=BINS).tolist()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_its_loop_is_shared_by_threads(threads: int) -> None:
    module = lx.parse(HISTOGRAM)
    module.run("convert-linalg-to-parallel-loops")
    kernel = lx.compile(module)
    assert "cut into slices for several threads" in str(kernel.explain())
    x = data(300_000)
    expected = np.bincount(x, minlength=BINS).tolist()
    with lx.options(threads=threads):
        for _ in range(5):
            assert counts(kernel, x) == expected


def test_footprints_see_the_captured_buffer() -> None:
    module = lx.parse(HISTOGRAM)
    op = module.ir.body.operations[0].regions[0].blocks[0].operations[1]
    footprint = lx.structured.interface(op).footprint(Tile((10,), (5,)))
    (captured,) = footprint.captured
    assert str(captured.value.type) == f"memref<{BINS}xi32>"
    assert captured.is_read
    assert captured.is_written
    assert "captured    memref<7xi32>" in str(footprint)
    assert not lx.structured.interface(op).loops[0].is_partition


def check(module: Module | str) -> None:
    x, bins = data(60), np.zeros(BINS, np.int32)
    doubled = lx.compile(module)(x, bins)
    np.testing.assert_array_equal(doubled, np.repeat(2 * x[:, None], 4, axis=1))
    assert bins.tolist() == np.bincount(x, minlength=BINS).tolist()


def test_a_kernel_counts_each_element_once() -> None:
    check(PRODUCER)


@pytest.mark.parametrize("sizes", [[16], [16, 2]])
def test_fusion_into_subset_loops_leaves_it(sizes: list[int]) -> None:
    module = lx.parse(PRODUCER)
    report = lx.transforms.tile_and_fuse(module, tile_sizes=sizes)
    assert "the body reaches memory that is not an operand" in str(report)
    check(module)


def test_an_unused_result_is_no_reason_to_drop_it() -> None:
    lines = PRODUCER.splitlines()
    text = "\n".join(line for line in lines if "return" not in line)
    text = text[: text.index("  %e1 =")] + "  return %x : tensor<60xi32>\n}\n"
    module = lx.parse(text.replace("-> tensor<60x4xi32> {", "-> tensor<60xi32> {"))
    module.run("linalg-ext-tile-and-fuse{tile-sizes=16}")
    x, bins = data(60), np.zeros(BINS, np.int32)
    lx.compile(module)(x, bins)
    assert bins.tolist() == np.bincount(x, minlength=BINS).tolist()


def test_schedules_do_not_repeat_it() -> None:
    module = lx.parse(PRODUCER)
    schedule = lx.Schedule(module)
    schedule.match("generic").fuse_elementwise()
    assert str(module).count("linalg.generic") == 2
    check(module)
    before = str(module)
    with pytest.raises(ScheduleError, match="fuse may repeat iterations of this"):
        lx.Schedule(module).match("generic", position=1).fuse([8, 2])
    with pytest.raises(ScheduleError, match="pad may repeat iterations"):
        lx.Schedule(module).match("generic", position=0).pad([64])
    assert str(module) == before
    lx.Schedule(module).match("generic", position=0).tile([16])
    check(module)
