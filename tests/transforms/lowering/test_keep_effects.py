"""Ops whose bodies reach memory outside are put where upstream's fusion does not reach them."""

from __future__ import annotations

from examples import check_example, examples
from linalg_ext.module import Module
from linalg_ext.transforms.lowering import keep_effects as kept
from linalg_ext.transforms.lowering import release_effects as released

AROUND = """
func.func @f(%x: tensor<9xi32>, %e: tensor<9xi32>, %h: memref<4xi32>, %one: i32) -> tensor<9xi32> {
  {}
  return %r : tensor<9xi32>
}"""


def test_the_examples() -> None:
    check_example(kept.keep_effects, examples(kept)[0], around=AROUND)
    check_example(released.release_effects, examples(released)[0], around=AROUND)


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


def test_what_asserts_is_kept_apart() -> None:
    before, _ = examples(kept)[0]
    asserting = before.replace(
        "%n = memref.atomic_rmw addi %one, %h[%i] : (i32, memref<4xi32>) -> i32",
        '%p = arith.cmpi ne, %a, %one : i32\n      cf.assert %p, "one"',
    )
    module = Module.parse(AROUND.replace("{}", asserting, 1))
    assert kept.keep_effects(module).changed["linalg.generic"] == 1
    assert str(module).count("scf.execute_region") == 1
