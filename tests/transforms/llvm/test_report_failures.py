"""A failed assertion is an error with the module's own words, wherever it stands."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from kernels import kernel
from linalg_ext import errors
from linalg_ext.module import Module
from linalg_ext.transforms.llvm import report_failures as file

MESSAGE = '`f` stopped: too many rounds: "quoted", 100% ü'
NESTED = """
func.func private @check(%i: index, %most: index) {
  %ok = arith.cmpi slt, %i, %most : index
  cf.assert %ok, "too many rounds: \\22quoted\\22, 100% ünïcode"
  return
}
func.func private @twice(%i: index, %most: index) {
  func.call @check(%i, %most) : (index, index) -> ()
  func.call @check(%i, %most) : (index, index) -> ()
  return
}
func.func @f(%n: index, %most: index, %a: tensor<?xf32>) -> (tensor<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a, %s = %c0) -> (tensor<?xf32>, index) {
    func.call @twice(%i, %most) : (index, index) -> ()
    %u = linalg.map ins(%t, %a : tensor<?xf32>, tensor<?xf32>) outs(%t : tensor<?xf32>)
      (%x: f32, %y: f32, %o: f32) {
        %hundred = arith.constant 100.0 : f32
        %small = arith.cmpf olt, %x, %hundred : f32
        cf.assert %small, "too large"
        %z = arith.addf %x, %y : f32
        linalg.yield %z : f32
      }
    %odd = arith.remui %i, %c1 : index
    %is = arith.cmpi eq, %odd, %c0 : index
    %v = scf.if %is -> tensor<?xf32> {
      cf.assert %is, "never"
      scf.yield %u : tensor<?xf32>
    } else {
      scf.yield %t : tensor<?xf32>
    }
    scf.yield %v, %i : tensor<?xf32>, index
  }
  return %r#0, %r#1 : tensor<?xf32>, index
}
"""


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("checked", [False, True])
def test_nested_assertions_say_which(opt_level: int, checked: bool) -> None:
    run = kernel(NESTED, "f", opt_level=opt_level, checked=checked)
    a = np.array([1, 2], np.float32)
    result, last = run(3, 10, a)
    np.testing.assert_array_equal(result, 4 * a)
    assert last == 2
    with pytest.raises(errors.ExecutionError, match=MESSAGE):
        run(5, 3, a)
    with pytest.raises(errors.ExecutionError, match="`f` stopped: too large"):
        run(5, 10, 50 * a)
    np.testing.assert_array_equal(run(1, 10, a)[0], 2 * a)


def test_the_first_of_several_wins() -> None:
    run = kernel(
        """
        func.func @f(%a: i1, %b: i1, %m: memref<3xi32>) -> i32 {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c7 = arith.constant 7 : i32
          memref.store %c7, %m[%c0] : memref<3xi32>
          cf.assert %a, "first"
          memref.store %c7, %m[%c1] : memref<3xi32>
          cf.assert %b, "second"
          cf.assert %a, "first"
          return %c7 : i32
        }
        """
    )
    memory = np.zeros(3, np.int32)
    with pytest.raises(errors.ExecutionError, match="first"):
        run(False, False, memory)
    assert memory.tolist() == [7, 0, 0]
    with pytest.raises(errors.ExecutionError, match="second"):
        run(True, False, memory)
    assert memory.tolist() == [7, 7, 0]
    assert run(True, True, memory) == 7


def test_in_parallel_loops() -> None:
    text = """
    func.func @f(%a: memref<4xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %two = arith.constant 2.0 : f32
      scf.forall (%i) in (4) {
        %x = memref.load %a[%i] : memref<4xf32>
        %ok = arith.cmpf une, %x, %two : f32
        cf.assert %ok, "two"
      }
      scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
        %x = memref.load %a[%i] : memref<4xf32>
        %ok = arith.cmpf ole, %x, %two : f32
        cf.assert %ok, "above two"
        scf.reduce
      }
      return
    }"""
    run = kernel(text)
    run(np.ones(4, np.float32))
    with pytest.raises(errors.ExecutionError, match="stopped: two"):
        run(np.array([1, 1, 2, 1], np.float32))
    with pytest.raises(errors.ExecutionError, match="above two"):
        run(np.array([1, 1, 1, 3], np.float32))


def test_an_assertion_that_cannot_reach_the_entry() -> None:
    text = """
    func.func private @g(%a: i1) attributes {no_inline} { cf.assert %a, "x"  return }
    func.func @f(%a: i1) { call @g(%a) : (i1) -> ()  return }
    """
    with pytest.raises(errors.LoweringError, match=r"(?s)could not be inlined.*:2:.*no_inline"):
        kernel(text, "f")


def test_a_function_that_takes_no_status() -> None:
    text = "func.func @f(%a: i32) attributes {linalg_ext.status} { return }"
    with pytest.raises(errors.LoweringError, match="takes no status"):
        file.report_failures(Module.parse(text, trusted=True))


def test_without_an_entry_nothing_changes() -> None:
    module = Module.parse('func.func @f(%a: i1) { cf.assert %a, "x"  return }', trusted=True)
    assert not file.report_failures(module)
    assert "cf.assert" in str(module)


def test_a_message_that_is_no_text_is_told_as_far_as_it_goes() -> None:
    text = """
    func.func @f(%is_right: i1) {
      cf.assert %is_right, "a MARK in it"
      return
    }
    """
    data = Module.parse(text).bytecode().replace(b"MARK", b"M\xffRK")
    with pytest.raises(errors.ExecutionError, match=r"a M.RK in it"):
        lx.compile(data)(False)
