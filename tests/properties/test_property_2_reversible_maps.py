"""Property 2: Reversible Mappings Between Control and Data Structures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import linalg_ext as lx
from documents import example, with_a_sum
from linalg_ext.errors import ExecutionError, ParseError
from linalg_ext.module import Module
from linalg_ext.structured import StructuredInterface
from linalg_ext.symbolic.index_sets import Tile, indices
from linalg_ext.symbolic.integers import Symbol
from loop_structure import structure

RNG = np.random.default_rng(0)

# The sketch of 2020 says that j is parallel, by the maps; of i, that B is folded along it.
OLDER = """
#maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j)>]
#attrs = {indexing_maps = #maps, iterator_types = ["reduction", "parallel"]}
func.func @example(%A: memref<8x?xf32, strided<[?, ?], offset: ?>>, %B: memref<?xvector<4xf32>>) {
  linalg.generic #attrs
    ins(%A : memref<8x?xf32, strided<[?, ?], offset: ?>>) outs(%B : memref<?xvector<4xf32>>) {
  ^bb0(%a: f32, %b: vector<4xf32>):
    %wide = vector.broadcast %a : f32 to vector<4xf32>
    %c = arith.addf %b, %wide : vector<4xf32>
    linalg.yield %c : vector<4xf32>
  }
  return
}
"""


def asked(module: Module) -> StructuredInterface:
    return lx.structured.interface(module.ir.body.operations[0].regions[0].blocks[0].operations[0])


def test_the_loops_are_those_of_the_document() -> None:
    module = lx.parse(example(2024, 2), allow_unregistered=True)
    module.run("convert-linalg-to-loops")
    assert structure(module) == [
        ("scf.for", "0", "dim(arg0, 1)", "1"),
        ("  scf.for", "0", "8", "1"),
        ("    memref.load", "arg0", "i1", "i0"),
        ("    memref.load", "arg1", "i1"),
        ("    some_compute", "memref.load 0", "memref.load 1"),
        ("    memref.store", "some_compute 0", "arg1", "i1"),
        ("    scf.yield",),
        ("  scf.yield",),
        ("func.return",),
    ]
    shown = lx.parse(example(2024, 2, 1), allow_unregistered=True)
    assert structure(module) == structure(shown)


def test_from_iterations_to_data() -> None:
    module = lx.parse(example(2024, 2), allow_unregistered=True)
    i = Symbol("i", lower=0, upper=90, step=10)
    a, b = asked(module).footprint(Tile((i, 2), (10, 3))).operands
    assert (str(a.tile), a.is_exact, a.is_read, a.is_written) == (
        f"Tile[2, {i}][3, 10][1, 1]",
        *(True, True, False),
    )
    assert (str(b.tile), b.is_exact, b.is_read, b.is_written) == (
        "Tile[2][3][1]",
        *(True, True, True),
    )


def test_from_data_to_iterations() -> None:
    open_sizes = lx.parse(example(2024, 2), allow_unregistered=True)
    (of_b,) = asked(open_sizes).iterations_touching(1, Tile((2,), (3,))).tiles
    # Every i; how many there are the memref does not say.
    assert (of_b.offsets, of_b.size(1), str(of_b.size(0))) == ((0, 2), 3, "n0")
    text = example(2024, 2).replace("8x?xf32", "8x90xf32")
    known = lx.parse(text, allow_unregistered=True)
    of_a = asked(known).iterations_touching(0, Tile((2, 40), (3, 10)))
    assert [str(tile) for tile in of_a.tiles] == ["Tile[40, 2][10, 3][1, 1]"]


@pytest.mark.parametrize("domain", [((1, 2), (3, 4), (1, 1)), ((0, 0), (3, 4), (2, 2))])
def test_both_questions_agree_with_every_iteration(
    domain: tuple[tuple[int, int], tuple[int, int], tuple[int, int]],
) -> None:
    module = lx.parse(example(2024, 2).replace("8x?xf32", "8x7xf32"), allow_unregistered=True)
    part = Tile(*domain)
    touched = asked(module).footprint(part).operands[0]
    assert set(indices(touched.tile)) == {(j, i) for i, j in indices(part)}
    responsible = asked(module).iterations_touching(0, touched.tile).tiles
    found = set(itertools.chain.from_iterable(indices(tile) for tile in responsible))
    assert found == {(i, j) for i in range(7) for j in range(8) if (i, j) in set(indices(part))}


@pytest.mark.parametrize("older", [False, True])
def test_it_runs(older: bool) -> None:
    kernel = lx.compile(OLDER if older else with_a_sum(example(2024, 2)))
    memory = RNG.integers(-4, 5, 64).astype("f4")
    a = np.lib.stride_tricks.as_strided(memory, (8, 5), (8, 8), writeable=False)
    b = RNG.integers(-4, 5, (8, 4)).astype("f4")
    expected = b + a.sum(axis=1)[:, None]
    kernel(a, b)
    np.testing.assert_array_equal(b, expected)
    # The loop over j runs as far as both A and B say.
    with pytest.raises(ExecutionError, match="dimension #0 of input/output operand"):
        kernel(a, np.zeros((7, 4), np.float32))


@pytest.mark.parametrize("number", [0, 1])
def test_the_sketch_of_2020_is_refused_by_its_line(number: int) -> None:
    with pytest.raises(ParseError, match="-:"):
        lx.parse(example(2020, 2, number))
