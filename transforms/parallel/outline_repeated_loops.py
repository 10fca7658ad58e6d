"""Loops that are alike become calls of one function.

before:
    func.func @entry(%a: memref<8xf32>, %b: memref<8xf32>, %status: memref<1xi64>)
        attributes {linalg_ext.status} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %a[%i] : memref<8xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %a[%i] : memref<8xf32>
      }
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %b[%i] : memref<8xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %b[%i] : memref<8xf32>
      }
      return
    }
after:
    func.func @entry(%a: memref<8xf32>, %b: memref<8xf32>, %status: memref<1xi64>)
        attributes {linalg_ext.status} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      call @linalg_ext_loops_0(%a) : (memref<8xf32>) -> ()
      call @linalg_ext_loops_0(%b) : (memref<8xf32>) -> ()
      return
    }
    func.func private @linalg_ext_loops_0(%a: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %a[%i] : memref<8xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %a[%i] : memref<8xf32>
      }
      return
    }

Layers of a model are the same loops on other buffers: what comes after is done once for all of
them. Loops are alike that are the same text but for the values from outside; constants from outside
are part of it. What is fused, and which buffers there are, has been decided by then, and stays.
"""

from __future__ import annotations

from collections import Counter

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.module_functions import Functions, functions_with_status
from linalg_ext.transforms.ir_utils.outlining import STEM, outermost_loops, part_of

NAME = "linalg-ext-outline-repeated-loops"


@module_pass(NAME, on="scf.for")
def outline_repeated_loops(module: ir.Operation) -> Report:
    """Make outermost loops that are alike, in the entry that takes a status, one function."""
    report = Report(NAME)
    loops = [loop for each in functions_with_status(module) for loop in outermost_loops(each)]
    report.matched["scf.for"] = len(loops)
    parts = [(loop, part) for loop in loops if (part := part_of(loop)) is not None]
    found = [(loop, part, part.text) for loop, part in parts]
    counts = Counter(text for *_, text in found)
    functions = Functions(module, STEM)
    for loop, part, text in found:
        if counts[text] == 1:
            continue
        report.changed["scf.for"] += 1
        name = functions.known(text) or functions.adopt(text, part.function)
        functions.call(name, part.operands, [loop])
        loop.erase()
    return report
