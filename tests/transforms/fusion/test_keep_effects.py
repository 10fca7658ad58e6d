"""Ops whose bodies reach memory outside are put where upstream's fusion does not reach them."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.fusion import keep_effects as kept
from linalg_ext.transforms.fusion import release_effects as released

AROUND = """
func.func @f(%x: tensor<9xi32>, %e: tensor<9xi32>, %h: memref<4xi32>, %one: i32) -> tensor<9xi32> {
  {}
  return %r : tensor<9xi32>
}"""


def test_ops_that_only_compute_are_left() -> None:
    before, _ = examples(kept)[0]
    pure = before.replace(
        "%n = memref.atomic_rmw addi %one, %h[%i] : (i32, memref<4xi32>) -> i32", ""
    )
    module = Module.parse(AROUND.replace("{}", pure, 1))
    assert not kept.keep_effects(module)


def test_regions_of_several_blocks_stay() -> None:
    module = Module.parse("""
    func.func @f(%c: i1) -> i32 {
      %r = scf.execute_region -> i32 {
        %one = arith.constant 1 : i32
        %two = arith.constant 2 : i32
        cf.cond_br %c, ^a, ^b
      ^a:
        scf.yield %one : i32
      ^b:
        scf.yield %two : i32
      }
      return %r : i32
    }""")
    report = released.release_effects(module)
    assert not report
    assert "it has several blocks" in str(report)


LOOKS_UP = "%v = tensor.extract %t[%a] : tensor<9xf32>"
ASSERTS = """%c = arith.cmpi ne, %a, %zero : index
        cf.assert %c, "zero"
        %v = arith.constant 1.0 : f32"""
ITSELF = "%q = tensor.cast %r : tensor<9xf32> to tensor<9xf32>"
NEGATED = """%q = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
          ins(%r : tensor<9xf32>) outs(%e : tensor<9xf32>) {
      ^bb0(%a: f32, %o: f32):
        %n = arith.negf %a : f32
        linalg.yield %n : f32
      } -> tensor<9xf32>"""


def reading(body: str, *, reader: str, shape: str = "5x9", between: str = ITSELF) -> str:
    """An op whose body looks something up, or asserts, and one that reads its elements."""
    return f"""
    #row = affine_map<(i) -> (i)>
    #all = affine_map<(j, i) -> (j, i)>
    func.func @f(%x: tensor<9xindex>, %t: tensor<9xf32>, %e: tensor<9xf32>, %y: tensor<{shape}xf32>)
        -> tensor<{shape}xf32> {{
      %zero = arith.constant 0 : index
      %r = linalg.generic {{indexing_maps = [#row, #row], iterator_types = ["parallel"]}}
          ins(%x : tensor<9xindex>) outs(%e : tensor<9xf32>) {{
      ^bb0(%a: index, %o: f32):
        {body}
        linalg.yield %v : f32
      }} -> tensor<9xf32>
      {between}
      %s = linalg.generic {{indexing_maps = [{reader}, #all],
                           iterator_types = ["parallel", "parallel"]}}
          ins(%q : tensor<9xf32>) outs(%y : tensor<{shape}xf32>) {{
      ^bb0(%a: f32, %o: f32):
        %d = arith.addf %a, %a : f32
        linalg.yield %d : f32
      }} -> tensor<{shape}xf32>
      return %s : tensor<{shape}xf32>
    }}"""


@pytest.mark.parametrize("between", [ITSELF, NEGATED])
@pytest.mark.parametrize(
    ("reader", "shape", "is_kept"),
    [
        ("affine_map<(j, i) -> (i)>", "5x9", True),
        ("affine_map<(j, i) -> (i)>", "1x9", False),
        ("affine_map<(j, i) -> (i)>", "?x9", True),
        ("affine_map<(j, i) -> (j)>", "9x5", True),
        ("affine_map<(j, i) -> (j)>", "9x1", False),
    ],
)
def test_what_is_read_several_times_is_looked_up_once(
    between: str, reader: str, shape: str, is_kept: bool
) -> None:
    module = Module.parse(reading(LOOKS_UP, reader=reader, shape=shape, between=between))
    assert kept.keep_effects(module).changed["linalg.generic"] == is_kept
    module.run("linalg-fuse-elementwise-ops")
    assert str(module).count("linalg.generic") == (1 + is_kept)


def test_what_asserts_is_kept_apart() -> None:
    module = Module.parse(reading(ASSERTS, reader="affine_map<(j, i) -> (i)>", shape="1x9"))
    assert kept.keep_effects(module).changed["linalg.generic"] == 1


def test_what_several_ops_read_is_not_fused_anyway() -> None:
    twice = (
        NEGATED
        + """
      %again = tensor.insert_slice %r into %y[0, 0] [1, 9] [1, 1]
        : tensor<9xf32> into tensor<5x9xf32>"""
    )
    module = Module.parse(reading(LOOKS_UP, reader="affine_map<(j, i) -> (i)>", between=twice))
    assert not kept.keep_effects(module)


def test_long_chains_become_several_bodies() -> None:
    count = 3000
    lines = "".join(f"%v{at + 1} = arith.addf %v{at}, %x : tensor<4xf32>\n" for at in range(count))
    kernel = lx.compile(
        f"func.func @f(%x: tensor<4xf32>, %v0: tensor<4xf32>) -> tensor<4xf32> {{ {lines}"
        f" return %v{count} : tensor<4xf32> }}"
    )
    ones = np.ones(4, np.float32)
    np.testing.assert_array_equal(kernel(ones, 0 * ones), count * ones)
    bodies = kernel.as_text("linalg").split("linalg.generic")[1:]
    assert 2 < len(bodies) < 20
    assert max(body.count("arith.addf") for body in bodies) <= 1024
