"""Make loops of an entry functions of their own: shared ones, those that are alike, long entries.

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

Loops over slices come first, which threads share; then those that are alike, which become calls of
one function; then what is left of an entry that is long. Each is done as the pass of its name says:
`linalg-ext-outline-shared-loops` and so on, which do one kind alone. Before all of them,
`linalg-ext-poll-interrupts` places polls in loops that may run for long: parts take them along.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass

from .outline_long_entries import outline_long_entries
from .outline_repeated_loops import outline_repeated_loops
from .outline_shared_loops import outline_shared_loops
from .poll_interrupts import poll_interrupts

NAME = "linalg-ext-outline-loops"


@module_pass(NAME, on="func.func")
def outline_loops(module: ir.Operation) -> Report:
    """Make loops functions that are shared, that are alike, or whose entry is long."""
    report = Report(NAME)
    outlining = (outline_shared_loops, outline_repeated_loops, outline_long_entries)
    for part in (poll_interrupts, *outlining):
        report.merge(part.apply(module))
    return report
