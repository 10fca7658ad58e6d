"""The loops of kernels and modules, as a tree and as boxes."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

import linalg_ext as lx
from linalg_ext.errors import ArgumentTypeError

TEXT = """func.func @f(%a: memref<8x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c8, %n) step (%c2, %c1) {
    %k = arith.addi %i, %c1 : index
    %x = memref.load %a[%k, %j] : memref<8x?xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%i, %j] : memref<8x?xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
  }
  return
}"""


def test_ranges_and_work_without_the_arithmetic_of_indices() -> None:
    assert repr(lx.explain.loop_nests(TEXT)).splitlines() == [
        "@f",
        "  parallel 0 to 8 by 2, 0 to %arg1: memref.load, arith.addf, memref.store",
    ]


def test_a_kernel_shows_its_nests() -> None:
    a = np.ones((64, 64), np.float32)
    compiled = lx.jit(lambda a, b: a @ b).lower(a, a).compile()
    nests = lx.explain.loop_nests(compiled)
    assert nests == lx.explain.loop_nests(compiled.kernel)
    (nest,) = (each for each in nests.functions if "contraction" in each.head)
    innermost = [each for each in _all((nest,)) if not each.inner]
    assert max(each.work.get("vector.fma", 0) for each in innermost) > 1


def test_it_is_a_tree_in_a_terminal_and_boxes_in_a_notebook() -> None:
    nests = lx.explain.loop_nests(TEXT)
    console = Console(file=io.StringIO(), width=100, record=True)
    console.print(nests)
    assert "└── parallel 0 to 8 by 2" in console.export_text()
    boxes = ElementTree.fromstring(nests.to_html())
    assert [box.text for box in boxes.iter("b")] == [nest.head for nest in _all(nests.functions)]


def _all(nests: tuple[lx.explain.Nest, ...]) -> list[lx.explain.Nest]:
    return [each for nest in nests for each in (nest, *_all(nest.inner))]


def test_what_has_no_loops_is_refused_by_its_name() -> None:
    with pytest.raises(ArgumentTypeError, match="int is not a kernel of this process"):
        lx.explain.loop_nests(3)
