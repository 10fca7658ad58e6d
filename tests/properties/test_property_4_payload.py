"""Property 4: The Compute Payload is Specified With a Region."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from documents import example
from linalg_ext.definition.scalar import Access
from linalg_ext.errors import ParseError
from loop_structure import structure

RNG = np.random.default_rng(0)

LOOPS = [
    ("scf.for", "0", "dim(arg0, 0)", "1"),
    ("  scf.for", "0", "dim(arg0, 1)", "1"),
    ("    memref.load", "arg0", "i0", "i1"),
    ("    memref.load", "arg1", "i0", "i1"),
    ("    arith.addf", "memref.load 0", "memref.load 1"),
    ("    memref.store", "arith.addf 0", "arg2", "i0", "i1"),
    ("    scf.yield",),
    ("  scf.yield",),
    ("func.return",),
]

# The sketch of 2020 lists two maps for three operands, and its region returns.
OLDER = """
#map = affine_map<(i, j) -> (i, j)>
func.func @example(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
    ins(%A, %B : memref<?x?xf32>, memref<?x?xf32>) outs(%C : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.addf %a, %b : f32
    linalg.yield %d : f32
  }
  return
}
"""


@pytest.mark.parametrize("older", [False, True])
def test_the_loops_are_those_of_the_document(older: bool) -> None:
    module = lx.parse(OLDER if older else example(2024, 4))
    module.run("convert-linalg-to-loops")
    assert structure(module) == LOOPS
    assert structure(lx.parse(example(2024, 4, 1))) == LOOPS


@pytest.mark.parametrize("shape", [(4, 6), (1, 1), (0, 3), (33, 65)])
def test_it_runs(shape: tuple[int, int]) -> None:
    a, b, c = RNG.standard_normal((3, *shape)).astype("f4")
    lx.compile(example(2024, 4))(a, b, c)
    np.testing.assert_array_equal(c, a + b)


def test_the_region_is_that_of_a_definition() -> None:
    module = lx.parse(example(2024, 4))
    op = module.ir.body.operations[0].regions[0].blocks[0].operations[0]
    definition = lx.structured.definition_of(op)
    assert [each.value for each in definition.iterator_types] == ["parallel", "parallel"]
    (assignment,) = definition.assignments
    read = [each.operand for each in assignment.value.walk() if isinstance(each, Access)]
    assert read == [operand.name for operand in definition.inputs]


def test_a_region_may_write_into_a_buffer_that_it_captures() -> None:
    last = "%d = arith.addf %a, %b : f32"
    text = OLDER.replace("%C: memref<?x?xf32>)", "%C: memref<?x?xf32>, %S: memref<f32>)")
    kernel = lx.compile(text.replace(last, f"{last}\n memref.store %d, %S[] : memref<f32>"))
    a, b, c = RNG.standard_normal((3, 4, 6)).astype("f4")
    s = np.zeros((), np.float32)
    kernel(a, b, c, s)
    np.testing.assert_array_equal(c, a + b)
    assert s in c


@pytest.mark.parametrize("number", [0, 1])
def test_the_sketch_of_2020_is_refused_by_its_line(number: int) -> None:
    with pytest.raises(ParseError, match="-:"):
        lx.parse(example(2020, 4, number))
