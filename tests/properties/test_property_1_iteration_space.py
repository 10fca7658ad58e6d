"""Property 1: Input and Output Operands Define The Iteration Space."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from documents import example, with_a_sum
from linalg_ext.errors import ExecutionError, ParseError
from loop_structure import structure

RNG = np.random.default_rng(0)

# The sketch of 2020 has no maps, no layouts and no body: here they are those of its loops.
OLDER = """
#accesses = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
#attrs = {indexing_maps = #accesses, iterator_types = ["parallel"]}
func.func @example(%A: memref<?xf32, strided<[?], offset: ?>>,
                   %B: memref<?xvector<4xf32>, strided<[?], offset: ?>>) {
  linalg.generic #attrs
    ins(%A : memref<?xf32, strided<[?], offset: ?>>)
    outs(%B : memref<?xvector<4xf32>, strided<[?], offset: ?>>) {
  ^bb0(%a: f32, %b: vector<4xf32>):
    %wide = vector.broadcast %a : f32 to vector<4xf32>
    %c = arith.addf %b, %wide : vector<4xf32>
    linalg.yield %c : vector<4xf32>
  }
  return
}
"""


def test_the_loop_is_that_of_the_document() -> None:
    module = lx.parse(example(2024, 1), allow_unregistered=True)
    module.run("convert-linalg-to-loops")
    assert structure(module) == [
        ("scf.for", "0", "dim(arg0, 0)", "1"),
        ("  memref.load", "arg0", "i0"),
        ("  memref.load", "arg1", "i0"),
        ("  some_compute", "memref.load 0", "memref.load 1"),
        ("  memref.store", "some_compute 0", "arg1", "i0"),
        ("  scf.yield",),
        ("func.return",),
    ]
    shown = lx.parse(example(2024, 1, 1), allow_unregistered=True)
    assert structure(module) == structure(shown)


def test_the_operands_are_all_that_the_loop_is_made_from() -> None:
    module = lx.parse(example(2024, 1), allow_unregistered=True)
    asked = lx.structured.interface(module.ir.body.operations[0].regions[0].blocks[0].operations[0])
    assert asked.static_loop_ranges == (None,)
    assert str(asked.shapes_to_loops_map) == "affine_map<(d0, d1) -> (d0)>"


def test_it_runs_on_strided_vectors() -> None:
    kernel = lx.compile(with_a_sum(example(2024, 1)))
    a = RNG.standard_normal(5).astype("f4")
    memory = RNG.standard_normal((11, 4)).astype("f4")
    before, b = memory.copy(), memory[1::2]
    kernel(a, b)
    np.testing.assert_array_equal(b, before[1::2] + a[:, None])
    np.testing.assert_array_equal(memory[::2], before[::2])


@pytest.mark.parametrize(("a", "b"), [(1, 2), (5, 6), (6, 5), (3, 0)])
def test_sizes_that_disagree_are_an_error_of_the_run(a: int, b: int) -> None:
    kernel = lx.compile(with_a_sum(example(2024, 1)))
    memory = np.ones((2 * b + 1, 4), np.float32)
    with pytest.raises(ExecutionError, match="dimension #0 of input/output operand #1 is incomp"):
        kernel(np.ones(a, np.float32), memory[1::2])
    assert (memory == 1).all()


def test_the_assertion_of_2020_is_there() -> None:
    kernel = lx.compile(OLDER)
    assert "assert(%eq)" in example(2020, 1, 1)
    assert "cf.assert" in kernel.as_text("checks")
    a, b = RNG.standard_normal(10).astype("f4")[::2], np.ones((5, 4), np.float32)
    kernel(a, b)
    np.testing.assert_array_equal(b, 1 + a[:, None] * np.ones((1, 4), np.float32))
    with pytest.raises(ExecutionError, match="dimension #0 of input/output operand #1"):
        kernel(a, np.ones((6, 4), np.float32))


@pytest.mark.parametrize("number", [0, 1])
def test_the_sketch_of_2020_is_refused_by_its_line(number: int) -> None:
    with pytest.raises(ParseError, match="-:"):
        lx.parse(example(2020, 1, number))
