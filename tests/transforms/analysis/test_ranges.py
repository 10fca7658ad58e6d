"""Ranges of numbers: no number that a loop gives is outside, and blocks have a greatest size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.module import Module
from linalg_ext.transforms.analysis.ranges import most_trips, range_of
from linalg_ext.transforms.ir_utils.walking import operations

BLOCKS = """
func.func @f(%x: memref<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c100 = arith.constant 100 : index
  %c126 = arith.constant 126 : index
  %c1024 = arith.constant 1024 : index
  scf.for %i = %c0 to SIZE step %c126 {
    %left = arith.subi SIZE, %i : index
    %rows = arith.minsi %left, %c126 : index
    %more = arith.addi %rows, %c5 : index
    %tiles = arith.divui %more, %c6 : index
    scf.for %j = %c0 to %tiles step %c1 {
      %a = memref.load %x[] : memref<f32>
      memref.store %a, %x[] : memref<f32>
    }
  }
  return
}
"""


@pytest.mark.parametrize(("size", "trips"), [("%c1024", (9, 21)), ("%n", (None, 21))])
def test_the_most_rounds_of_a_loop(size: str, trips: tuple[int | None, int]) -> None:
    module = Module.parse(BLOCKS.replace("SIZE", size))
    outer, inner = operations(module.ir.operation, {"scf.for"})
    assert tuple(most_trips(*list(loop.operands)[:3]) for loop in (outer, inner)) == trips


OPS = ("addi", "subi", "muli", "divui", "minsi", "maxsi", "shli", "shrui")


@pytest.mark.parametrize(("first", "second"), list(itertools.product(OPS, OPS)))
def test_numbers_are_in_their_range(first: str, second: str) -> None:
    text = f"""
    func.func @f(%o: memref<12xindex>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c7 = arith.constant 7 : index
      scf.for %i = %c0 to %c3 step %c1 {{
        scf.for %j = %c0 to %c4 step %c1 {{
          %a = arith.addi %i, %c1 : index
          %b = arith.{first} %j, %a : index
          %c = arith.{second} %b, %c7 : index
          %row = arith.muli %i, %c4 : index
          %at = arith.addi %row, %j : index
          memref.store %c, %o[%at] : memref<12xindex>
        }}
      }}
      return
    }}"""
    module = Module.parse(text)
    (store,) = operations(module.ir.operation, {"memref.store"})
    least, greatest = range_of(store.operands[0])
    numbers = np.zeros(12, np.int64)
    lx.compile(text)(numbers)
    assert least <= numbers.min()
    assert numbers.max() <= greatest
    if second == "minsi":
        assert greatest <= 7


def test_a_narrow_number_may_wrap() -> None:
    text = """
    func.func @f(%o: memref<index>) {
      %one = arith.constant 1 : i32
      %most = arith.constant 2147483647 : i32
      %a = arith.addi %most, %one : i32
      %b = arith.index_cast %a : i32 to index
      memref.store %b, %o[] : memref<index>
      return
    }"""
    module = Module.parse(text)
    (store,) = operations(module.ir.operation, {"memref.store"})
    least, _ = range_of(store.operands[0])
    assert least <= -(1 << 31)


def test_a_number_that_may_wrap_has_any_value() -> None:
    text = """
    func.func @f(%o: memref<index>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %many = arith.constant 9223372036854775800 : index
      scf.for %i = %c0 to %many step %c1 {
        %a = arith.addi %i, %many : index
        memref.store %a, %o[] : memref<index>
      }
      return
    }"""
    module = Module.parse(text)
    (store,) = operations(module.ir.operation, {"memref.store"})
    assert range_of(store.operands[0]) == (-(1 << 63), (1 << 63) - 1)
