"""Loops that are alike, and those of a long entry, become functions.

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

Layers of a model are the same loops on other buffers: later passes see them once for all. Loops are
alike that are the same text but for the values from outside; constants from outside are part of it.
Fusion and the choice of buffers have been decided by then, and stay.

LLVM's time grows with the square of the length of a function: an entry of 36,000 instructions, such
as a model whose ops are all tiled, takes it 94 s as one function and 2 s in parts. Loops that are
like no other are outlined where those of an entry have more than `longest` ops together. Which
functions are then kept, and not inlined again, `keep_shared_functions` says.
"""

from __future__ import annotations

from collections import Counter

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.module_functions import Functions, functions_with_status
from linalg_ext.transforms.ir_utils.outlining import STEM, outermost_loops, part_of
from linalg_ext.transforms.ir_utils.walking import count_operations

NAME = "linalg-ext-outline-loops"


@module_pass(NAME, on="scf.for")
def outline_loops(module: ir.Operation, *, longest: int = 1500, least: int = 30) -> Report:
    """Make outermost loops functions that are alike, or whose entry with a status is long.

    Args:
        module: the module of the entry.
        longest: the most ops in the loops of an entry that is not long: LLVM makes some seven
            instructions of each.
        least: the fewest ops of a loop that is worth a call by itself.
    """
    report = Report(NAME)
    loops_of_entries = [outermost_loops(entry) for entry in functions_with_status(module)]
    report.matched["scf.for"] = sum(map(len, loops_of_entries))
    parts = {
        loop: (part, part.text)
        for loops in loops_of_entries
        for loop in loops
        if (part := part_of(loop)) is not None
    }
    counts = Counter(text for _, text in parts.values())
    outlined = {loop: known for loop, known in parts.items() if counts[known[1]] > 1}
    for loops in loops_of_entries:
        lengths = {loop: count_operations(loop) for loop in loops if loop not in outlined}
        if sum(lengths.values()) > longest:
            long = (loop for loop in lengths if loop in parts and lengths[loop] >= least)
            outlined.update((loop, parts[loop]) for loop in long)
    functions = Functions(module, STEM)
    for loop, (part, text) in outlined.items():
        name = functions.known(text) or functions.adopt(text, part.function)
        functions.call(name, part.operands, [loop])
        loop.erase()
    report.changed["scf.for"] = len(outlined)
    return report
