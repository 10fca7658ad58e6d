"""The same properties by the document of 2020, whose examples are sketches.

None of them is whole: maps, layouts and bodies are missing, and the spelling is no longer MLIR's.
Here each is completed in today's spelling, with what its text says it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import linalg_ext as lx
from documents import example
from linalg_ext.errors import ExecutionError, ParseError
from native_library import ADD, SOURCE, count, shared_library

RNG = np.random.default_rng(0)

SKETCHES = [(1, 0), (1, 1), (2, 0), (2, 1), (4, 0), (4, 1), (5, 0), (5, 1), (5, 2)]


@pytest.mark.parametrize(("property_", "number"), SKETCHES)
def test_a_sketch_is_refused_by_its_line(property_: int, number: int) -> None:
    with pytest.raises(ParseError) as found:
        lx.parse(example(2020, property_, number))
    assert "-:" in str(found.value)


def on_vectors(maps: str, iterators: str, first: str) -> str:
    """An op on scalars and vectors that computes a sum."""
    second = "memref<?xvector<4xf32>, strided<[?], offset: ?>>"
    return f"""
    func.func @example(%A: {first}, %B: {second}) {{
      linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
        ins(%A : {first}) outs(%B : {second}) {{
      ^bb0(%a: f32, %b: vector<4xf32>):
        %wide = vector.broadcast %a : f32 to vector<4xf32>
        %c = arith.addf %b, %wide : vector<4xf32>
        linalg.yield %c : vector<4xf32>
      }}
      return
    }}"""


def test_the_operands_must_agree_on_the_iteration_space() -> None:
    map_ = "affine_map<(i) -> (i)>"
    kernel = lx.compile(
        on_vectors(f"{map_}, {map_}", '"parallel"', "memref<?xf32, strided<[?], offset: ?>>")
    )
    # The document's `assert(%eq)`, which comes back as an error.
    assert "cf.assert" in kernel.as_text("checks")
    a, b = RNG.standard_normal(10).astype("f4")[::2], np.ones((5, 4), np.float32)
    kernel(a, b)
    np.testing.assert_array_equal(b, 1 + a[:, None] * np.ones((1, 4), np.float32))
    with pytest.raises(ExecutionError, match="dimension #0 of input/output operand #1"):
        kernel(a, np.ones((6, 4), np.float32))


def test_the_loop_bounds_are_the_inverse_of_the_maps() -> None:
    kernel = lx.compile(
        on_vectors(
            "affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j)>",
            '"reduction", "parallel"',
            "memref<8x?xf32, strided<[?, ?], offset: ?>>",
        )
    )
    a, b = RNG.integers(-4, 5, (8, 3)).astype("f4"), np.zeros((8, 4), np.float32)
    kernel(np.asfortranarray(a), b)
    np.testing.assert_array_equal(b, np.repeat(a.sum(axis=1)[:, None], 4, axis=1))
    with pytest.raises(ExecutionError, match="dimension #0 of input/output operand #1"):
        kernel(a, np.zeros((9, 4), np.float32))


ADDITION = """
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


def test_the_region_is_what_is_computed() -> None:
    module = lx.parse(ADDITION)
    module.run("convert-linalg-to-loops")
    body = str(module).partition("scf.for")[2].partition("scf.for")[2]
    assert [body.count(f"memref.{op} ") for op in ("load", "store")] == [2, 1]
    a, b, c = RNG.standard_normal((3, 4, 6)).astype("f4")
    lx.compile(ADDITION)(a, b, c)
    np.testing.assert_array_equal(c, a + b)


NAME = "pointwise_add_sxsxf32_sxsxf32"
CALL = f"""
func.func private @{NAME}(memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)
func.func @example(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {{
  call @{NAME}(%A, %B, %C) : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>) -> ()
  return
}}
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = SOURCE.replace("void add(", f"void {NAME}(")
    return shared_library(source, tmp_path_factory.mktemp("native"))


@pytest.fixture
def registered(native: Path) -> Iterator[Path]:
    with lx.library("native", native, {NAME: ADD.replace("add(", f"{NAME}(")}):
        yield native


@pytest.mark.parametrize(
    "text",
    [ADDITION.replace('"parallel"]}', '"parallel"], library_call = "pointwise_add"}'), CALL],
    ids=["op", "call"],
)
def test_the_library_is_called_by_the_name_of_the_document(text: str, registered: Path) -> None:
    assert f"call @{NAME}" in example(2020, 5, 1)
    a, b, c = RNG.standard_normal((3, 4, 6)).astype("f4")
    before = count(registered, "add")
    lx.compile(text, "example")(a, b, c)
    np.testing.assert_array_equal(c, a + b)
    assert count(registered, "add") == before + 1
