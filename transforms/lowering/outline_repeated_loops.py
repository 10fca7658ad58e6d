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
from collections.abc import Sequence
from typing import NamedTuple

from linalg_ext.bindings import func, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.codegen._functions import Functions

from ._outlining import is_repeated, taken_from_outside
from ._status import functions_with_status
from ._walk import producer, replace_operands

NAME = "linalg-ext-outline-repeated-loops"

_STEM = "linalg_ext_loops"
_SCALARS = frozenset({"f32", "f64", "i1", "i8", "i16", "i32", "i64", "index"})
"""What a call takes besides buffers, as it is."""


class _Part(NamedTuple):
    """A loop as a function.

    Attributes:
        text: of the function, without a number in its name.
        operands: of its call.
    """

    text: str
    operands: Sequence[ir.Value]

    def named(self, name: str) -> str:
        """The text of the function, with a name of its own."""
        return self.text.replace(f"@{_STEM}(", f"@{name}(", 1)


@module_pass(NAME, on="scf.for")
def outline_repeated_loops(module: ir.Operation) -> Report:
    """Make outermost loops that are alike, in the entry that takes a status, one function."""
    report = Report(NAME)
    scratch = ir.Module.create()
    loops = [loop for each in functions_with_status(module) for loop in _loops(each)]
    report.matched["scf.for"] = len(loops)
    found = [(loop, part) for loop in loops if (part := _part(loop, scratch)) is not None]
    counts = Counter(part.text for _, part in found)
    functions = Functions(module, _STEM)
    for loop, part in found:
        if counts[part.text] == 1:
            continue
        report.changed["scf.for"] += 1
        name = functions.known(part.text) or functions.add(part.text, None, part.named)
        functions.call(name, part.operands, [loop])
        loop.erase()
    return report


def _loops(function: ir.Operation) -> list[ir.Operation]:
    """The outermost loops that give no values."""
    ops = (op.operation for block in function.regions[0].blocks for op in block.operations)
    return [op for op in ops if op.name == "scf.for" and not len(op.results)]


def _part(loop: ir.Operation, scratch: ir.Module) -> _Part | None:
    """A loop as a function; None where that cannot take what the loop takes from outside."""
    outside = list(dict.fromkeys([*loop.operands, *taken_from_outside(loop)]))
    operands = [value for value in outside if not is_repeated(value)]
    if not all(map(_may_be_handed_over, operands)):
        return None
    with ir.InsertionPoint(scratch.body):
        types = [value.type for value in operands]
        function = func.FuncOp(_STEM, (types, []), visibility="private")
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        inside: dict[ir.Value, ir.Value] = dict(zip(operands, block.arguments, strict=True))
        for value in outside:
            if value not in inside:
                inside[value] = producer(value).clone().results[0]
        replace_operands(loop.clone(), inside)
        func.ReturnOp([])
    text = function.operation.get_asm(use_local_scope=True)
    function.erase()
    return _Part(text, operands)


def _may_be_handed_over(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType) or str(value.type) in _SCALARS
