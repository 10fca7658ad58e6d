"""The loops of a long entry become functions of their own.

LLVM's time grows with the square of the length of a function: an entry of 36,000 instructions, such
as a model whose ops are all tiled, takes it 94 s as one function and 2 s in parts.

before:
    func.func @entry(%a: memref<8xf32>, %status: memref<1xi64>) attributes {linalg_ext.status} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %a[%i] : memref<8xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %a[%i] : memref<8xf32>
      }
      return
    }
after:
    func.func @entry(%a: memref<8xf32>, %status: memref<1xi64>) attributes {linalg_ext.status} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      call @linalg_ext_loops_0(%a) : (memref<8xf32>) -> ()
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

The example is with `longest=0 least=1`. Which functions are then kept, and not inlined again,
`keep_shared_functions` says.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.module_functions import Functions, functions_with_status
from linalg_ext.transforms.ir_utils.outlining import STEM, outermost_loops, part_of
from linalg_ext.transforms.ir_utils.walking import count_operations

NAME = "linalg-ext-outline-long-entries"


@module_pass(NAME, on="scf.for")
def outline_long_entries(module: ir.Operation, *, longest: int = 1500, least: int = 30) -> Report:
    """Make each outermost loop a function, in an entry with a status that is long.

    Args:
        module: in which the entry is.
        longest: how many ops the loops of an entry may have that is left as it is: LLVM makes some
            seven instructions of each.
        least: how many ops a loop has that is worth a call.
    """
    report = Report(NAME)
    functions = Functions(module, STEM)
    for entry in functions_with_status(module):
        loops = {loop: count_operations(loop) for loop in outermost_loops(entry)}
        if sum(loops.values()) <= longest:
            continue
        report.matched["scf.for"] += len(loops)
        for loop, length in loops.items():
            part = part_of(loop) if length >= least else None
            if part is None:
                continue
            report.changed["scf.for"] += 1
            functions.call(functions.adopt(loop, part.function), part.operands, [loop])
            loop.erase()
    return report
