"""Nests of loops taken apart, made perfect, and rid of their predicates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import linalg_ext as lx
from examples import examples
from linalg_ext.errors import ArgumentError
from linalg_ext.module import Module
from linalg_ext.transforms.ir_utils.walking import operations
from linalg_ext.transforms.loop_raising import undo_predication as undoing
from loop_nests import nests, results


def is_perfect(module: Module) -> bool:
    """Return whether no loop that holds a loop holds an op on memory, or a condition, besides."""
    for loop in operations(module.ir, ["scf.for"]):
        names = {each.operation.name for each in loop.regions[0].blocks[0].operations}
        if "scf.for" in names and names & {"memref.load", "memref.store", "scf.if"}:
            return False
    return True


@settings(max_examples=12, deadline=None)
@given(nests())
def test_random_nests_mean_the_same(text: str) -> None:
    expected = results(text)
    apart, perfect = lx.parse(text), lx.parse(text)
    lx.transforms.distribute_loops(apart)
    lx.transforms.embed_conditionals(perfect)
    assert is_perfect(perfect)
    undone = perfect.clone()
    lx.transforms.undo_predication(undone)
    lx.transforms.embed_conditionals(apart)
    for module in (apart, perfect, undone):
        for found, array in zip(results(module), expected, strict=True):
            np.testing.assert_array_equal(found, array)


def test_a_dependence_backwards_keeps_parts_together() -> None:
    text = """
    func.func @f(%a: memref<9xf32>, %c: memref<9xf32>, %x: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      scf.for %i = %c0 to %c8 step %c1 {
        %u = memref.load %c[%i] : memref<9xf32>
        memref.store %u, %a[%i] : memref<9xf32>
        scf.for %k = %c0 to %c8 step %c1 {
          %next = arith.addi %i, %c1 : index
          memref.store %x, %c[%next] : memref<9xf32>
        }
      }
      return
    }"""
    module = lx.parse(text)
    report = lx.transforms.distribute_loops(module)
    assert not report
    assert "an iteration depends on a later part of an earlier iteration" in str(report)
    # An element that was read in the same iteration may be written by any later part.
    same = lx.parse(text.replace("%c[%next]", "%c[%i]"))
    assert lx.transforms.distribute_loops(same)
    assert str(same).count("scf.for") == 3


def test_arguments_of_a_function_that_is_called_may_overlap() -> None:
    text = """
    func.func @f(%a: memref<9xf32>, %c: memref<9xf32>, %x: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      scf.for %i = %c0 to %c8 step %c1 {
        memref.store %x, %a[%i] : memref<9xf32>
        scf.for %k = %c0 to %c8 step %c1 {
          %u = memref.load %c[%k] : memref<9xf32>
          memref.store %u, %c[%i] : memref<9xf32>
        }
      }
      return
    }"""
    assert lx.transforms.distribute_loops(lx.parse(text))
    caller = """
    func.func @g(%a: memref<9xf32>, %x: f32) {
      call @f(%a, %a, %x) : (memref<9xf32>, memref<9xf32>, f32) -> ()
      return
    }"""
    assert not lx.transforms.distribute_loops(lx.parse(text + caller))


def test_loops_that_carry_values_are_left() -> None:
    text = """
    func.func @f(%a: memref<9xf32>, %c: memref<9xf32>, %x: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c9 = arith.constant 9 : index
      scf.for %i = %c0 to %c9 step %c1 {
        %s = scf.for %k = %c0 to %c9 step %c1 iter_args(%y = %x) -> (f32) {
          %z = memref.load %a[%k] : memref<9xf32>
          %w = arith.addf %y, %z : f32
          scf.yield %w : f32
        }
        memref.store %s, %c[%i] : memref<9xf32>
      }
      return
    }"""
    module = lx.parse(text)
    before = str(module)
    assert "a loop carries values" in str(lx.transforms.embed_conditionals(module))
    assert str(module) == before


def test_loops_that_count_in_integers_are_left() -> None:
    text = """
    func.func @f(%a: memref<9xf32>, %c: memref<9xf32>, %x: f32, %n: i32) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      scf.for %i = %c0 to %n step %c1 : i32 {
        %k = arith.index_cast %i : i32 to index
        memref.store %x, %a[%k] : memref<9xf32>
        scf.for %j = %c0 to %n step %c1 : i32 {
          memref.store %x, %c[%k] : memref<9xf32>
        }
      }
      return
    }"""
    report = lx.transforms.embed_conditionals(lx.parse(text))
    assert "the inner loop counts in integers" in str(report)
    assert lx.transforms.distribute_loops(lx.parse(text))


@pytest.mark.parametrize(
    ("predicate", "parts"),
    [("eq", 3), ("ne", 3), ("slt", 2), ("sle", 2), ("sgt", 2), ("sge", 2), ("ult", 1)],
)
@pytest.mark.parametrize("operands", ["%k, %p", "%p, %k", "%q, %p"])
def test_every_predicate_with_signs(predicate: str, parts: int, operands: str) -> None:
    text = f"""
    func.func @f(%c: memref<20xi32>, %p: index) -> i32 {{
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %c11 = arith.constant 11 : index
      %c20 = arith.constant 20 : index
      %one = arith.constant 1 : i32
      %r = scf.for %k = %c3 to %c20 step %c3 iter_args(%s = %one) -> (i32) {{
        %q = arith.subi %c11, %k : index
        %b = arith.cmpi {predicate}, {operands} : index
        scf.if %b {{
          memref.store %one, %c[%k] : memref<20xi32>
        }}
        %t = arith.addi %s, %s : i32
        scf.yield %t : i32
      }}
      return %r : i32
    }}"""
    module = lx.parse(text)
    lx.transforms.undo_predication(module)
    assert str(module).count("scf.for") == parts
    assert ("scf.if" in str(module)) == (parts == 1)
    before, after = lx.compile(text), lx.compile(module)
    for p in (-5, 0, 2, 3, 4, 6, 8, 11, 18, 19, 25):
        one, other = np.zeros((2, 20), np.int32)
        assert before(one, p) == after(other, p)
        np.testing.assert_array_equal(one, other)


def test_how_many_parts_there_may_be() -> None:
    with pytest.raises(ArgumentError, match="most_parts is 0"):
        lx.transforms.undo_predication(lx.parse("func.func @f() { return }"), most_parts=0)
    before, _ = examples(undoing)[0]
    around = """
    func.func @f(%a: memref<9xf32>, %c: memref<f32>, %s: f32, %zero: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c9 = arith.constant 9 : index
      {}
      return
    }"""
    module = lx.parse(around.replace("{}", before, 1))
    report = lx.transforms.undo_predication(module, most_parts=1)
    assert "the predicates would split the loop into more than 1" in str(report)
    assert "scf.if" in str(module)
