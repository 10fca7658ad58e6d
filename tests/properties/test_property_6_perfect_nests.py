"""Property 6: Perfectly Nested Writes To The Whole Output Operands.

The document has no example: it says that imperfect nests become perfect by distribution and by
embedding conditionals, and that the predication is undone after lowering. Softmax without its
maximum is the nest here: a sum for each row, and a division of all of it.
"""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.module import Module
from loop_structure import structure

RNG = np.random.default_rng(0)
M, K = 6, 9

IMPERFECT = f"""
func.func @example(%a: memref<{M}x{K}xf32>, %c: memref<{M}xf32>, %d: memref<{M}xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = arith.constant {M} : index
  %k = arith.constant {K} : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %m step %c1 {{
    memref.store %zero, %c[%i] : memref<{M}xf32>
    scf.for %j = %c0 to %k step %c1 {{
      %x = memref.load %a[%i, %j] : memref<{M}x{K}xf32>
      %y = memref.load %c[%i] : memref<{M}xf32>
      %z = arith.addf %y, %x : f32
      memref.store %z, %c[%i] : memref<{M}xf32>
    }}
    %s = memref.load %c[%i] : memref<{M}xf32>
    %e = math.exp %s : f32
    memref.store %e, %d[%i] : memref<{M}xf32>
  }}
  return
}}
"""

# The same as one structured op: what surrounded the inner loop is predicated by its index.
PREDICATED = f"""
#rows = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func @example(%a: memref<{M}x{K}xf32>, %c: memref<{M}xf32>, %d: memref<{M}xf32>) {{
  linalg.generic {{indexing_maps = [#all, #rows, #rows],
                   iterator_types = ["parallel", "reduction"]}}
    ins(%a : memref<{M}x{K}xf32>) outs(%c, %d : memref<{M}xf32>, memref<{M}xf32>) {{
  ^bb0(%x: f32, %y: f32, %old: f32):
    %j = linalg.index 1 : index
    %c0 = arith.constant 0 : index
    %end = arith.constant {K - 1} : index
    %zero = arith.constant 0.0 : f32
    %first = arith.cmpi eq, %j, %c0 : index
    %last = arith.cmpi eq, %j, %end : index
    %before = arith.select %first, %zero, %y : f32
    %z = arith.addf %before, %x : f32
    %new = scf.if %last -> f32 {{
      %e = math.exp %z : f32
      scf.yield %e : f32
    }} else {{
      scf.yield %old : f32
    }}
    linalg.yield %z, %new : f32, f32
  }}
  return
}}
"""


def check(module: Module | str) -> None:
    a = RNG.standard_normal((M, K)).astype("f4")
    c, d = RNG.standard_normal((2, M)).astype("f4")
    lx.compile(module, "example")(a, c, d)
    np.testing.assert_allclose(c, a.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(d, np.exp(a.sum(axis=1)), rtol=1e-4)


def loops(module: Module) -> list[str]:
    """The loops and the ops on memory and conditions of a module, with their depth."""
    wanted = ("scf.for", "scf.if", "memref.load", "memref.store", "arith.cmpi", "arith.select")
    lines = [line[0] for line in structure(module)]
    return [line for line in lines if line.strip() in (*wanted, "math.exp")]


@pytest.mark.parametrize("text", [IMPERFECT, PREDICATED])
def test_both_mean_the_same(text: str) -> None:
    check(text)


def test_distribution_makes_three_perfect_nests() -> None:
    module = lx.parse(IMPERFECT)
    assert lx.transforms.distribute_loops(module)
    assert loops(module) == [
        *("scf.for", "  memref.store"),
        *("scf.for", "  scf.for", "    memref.load", "    memref.load", "    memref.store"),
        *("scf.for", "  memref.load", "  math.exp", "  memref.store"),
    ]
    check(module)


def test_embedded_conditionals_make_one_perfect_nest() -> None:
    module = lx.parse(IMPERFECT)
    assert lx.transforms.embed_conditionals(module)
    assert loops(module) == [
        *("scf.for", "  scf.for"),
        *("    arith.cmpi", "    scf.if", "      memref.store"),
        *("    memref.load", "    memref.load", "    memref.store"),
        *("    arith.cmpi", "    scf.if"),
        *("      memref.load", "      math.exp", "      memref.store"),
    ]
    check(module)


def test_the_predication_is_undone() -> None:
    module = lx.parse(IMPERFECT)
    lx.transforms.embed_conditionals(module)
    lx.transforms.undo_predication(module)
    found = loops(module)
    assert not any("if" in line or "cmpi" in line for line in found)
    # All iterations of the inner loop but the first and the last, which stand around it.
    assert [line for line in structure(module) if "scf.for" in line[0]] == [
        ("scf.for", "0", str(M), "1"),
        ("  scf.for", "1", str(K - 1), "1"),
    ]
    assert found.count("  math.exp") == 1
    assert found.count("    math.exp") == 0
    check(module)


def test_the_predication_of_a_structured_op_is_undone_after_lowering() -> None:
    module = lx.parse(PREDICATED)
    module.run("convert-linalg-to-loops")
    assert {"    arith.select", "    scf.if"} <= set(loops(module))
    module.run("linalg-ext-undo-predication")
    found = loops(module)
    assert not any(word in line for line in found for word in ("if", "cmpi", "select"))
    assert found.count("  math.exp") == 1
    check(module)


def test_a_structured_op_writes_all_of_its_output() -> None:
    module = lx.parse(PREDICATED)
    op = module.ir.body.operations[0].regions[0].blocks[0].operations[0]
    asked = lx.structured.interface(op)
    footprint = asked.footprint(asked.iteration_space)
    sums = footprint.operands[1]
    assert sums.is_written
    assert sums.is_exact
    assert sums.tile.sizes == (M,)
