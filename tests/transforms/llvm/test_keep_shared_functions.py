"""Functions of buffers that are called from several places stay, and tell of failures."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from linalg_ext.errors import ExecutionError
from linalg_ext.module import Module
from linalg_ext.transforms.llvm import keep_shared_functions as file


def test_what_is_called_once_is_left_to_be_inlined() -> None:
    text = examples(file)[0][0].replace("call @part(%b) : (memref<8xf32>) -> ()", "")
    assert not file.keep_shared_functions(Module.parse(text, trusted=True))


def test_functions_of_scalars_are_left_to_be_inlined() -> None:
    text = examples(file)[0][0].replace("memref<8xf32>", "f32")
    text = text.replace("%room = memref.alloc() : f32", "")
    text = text.replace("memref.copy %a, %room : f32 to f32", "")
    assert not file.keep_shared_functions(Module.parse(text, trusted=True))


def test_a_function_whose_address_is_taken_keeps_its_type() -> None:
    text = examples(file)[0][0].replace(
        "call @part(%a)", "%f = func.constant @part : (memref<8xf32>) -> ()\ncall @part(%a)"
    )
    assert not file.keep_shared_functions(Module.parse(text, trusted=True))


def test_where_nothing_fails_there_is_no_status() -> None:
    text = examples(file)[0][0]
    text = text.replace("%room = memref.alloc() : memref<8xf32>", "")
    text = text.replace("memref.copy %a, %room", "memref.copy %a, %a")
    module = Module.parse(text, trusted=True)
    assert file.keep_shared_functions(module)
    assert "cf.assert" not in str(module)
    assert "no_inline" in str(module)


def test_open_sizes_are_handed_over() -> None:
    text = examples(file)[0][0].replace("memref<8xf32>", "memref<?xf32>")
    text = text.replace("memref.alloc()", "memref.alloc(%c8)")
    text = text.replace("%room =", "%c8 = arith.constant 8 : index\n%room =")
    module = Module.parse(text, trusted=True)
    assert file.keep_shared_functions(module)
    assert "llvm.bareptr" not in str(module)


FAILING = """
func.func private @inner(%a: memref<?xf32>, %i: index) {
  %c4 = arith.constant 4 : index
  %ok = arith.cmpi slt, %i, %c4 : index
  cf.assert %ok, "beyond four"
  %x = memref.load %a[%i] : memref<?xf32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %a[%i] : memref<?xf32>
  return
}
func.func @entry(%a: memref<?xf32>, %n: index, %status: memref<1xi64>)
    attributes {linalg_ext.status, llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @inner(%a, %i) : (memref<?xf32>, index) -> ()
  }
  scf.for %i = %c0 to %n step %c1 {
    func.call @inner(%a, %i) : (memref<?xf32>, index) -> ()
  }
  return
}
"""


def test_a_failure_within_a_failing_part_reaches_the_entry() -> None:
    """Through a loop that became a function, of a function that it calls."""
    text = FAILING.replace(", %status: memref<1xi64>", "").replace(
        "attributes {linalg_ext.status, llvm.emit_c_interface}", ""
    )
    kernel = lx.compile(text, "entry")
    array = np.ones(4, np.float32)
    kernel(array, 4)
    assert array.tolist() == [4.0] * 4
    with pytest.raises(ExecutionError, match="beyond four"):
        kernel(np.ones(6, np.float32), 6)
