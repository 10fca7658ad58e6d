"""Undo predication: split loops where their predicates change, and hoist invariants.

before:
    scf.for %k = %c0 to %c9 step %c1 {
      %first = arith.cmpi eq, %k, %c0 : index
      scf.if %first {
        memref.store %zero, %c[] : memref<f32>
      }
      %x = memref.load %a[%k] : memref<9xf32>
      %t = math.exp %s : f32
      %y = arith.mulf %x, %t : f32
      %z = memref.load %c[] : memref<f32>
      %w = arith.addf %y, %z : f32
      memref.store %w, %c[] : memref<f32>
    }
after:
    memref.store %zero, %c[] : memref<f32>
    %x = memref.load %a[%c0] : memref<9xf32>
    %t = math.exp %s : f32
    %y = arith.mulf %x, %t : f32
    %z = memref.load %c[] : memref<f32>
    %w = arith.addf %y, %z : f32
    memref.store %w, %c[] : memref<f32>
    scf.for %k = %c1 to %c9 step %c1 {
      %x_0 = memref.load %a[%k] : memref<9xf32>
      %y_0 = arith.mulf %x_0, %t : f32
      %z_0 = memref.load %c[] : memref<f32>
      %w_0 = arith.addf %y_0, %z_0 : f32
      memref.store %w_0, %c[] : memref<f32>
    }

An equality makes three loops of one: before it, of one iteration, and behind it; an inequality
makes two. Loops that then run once are no loops any more, those that never run are gone, and what a
predicate left out is gone with it. Predicates that all iterations answer alike become constants, by
the bounds of the loops around them. Upstream's canonicalization, its hoisting of invariant code and
its common subexpressions do the rest.

Predicates are comparisons of indices, with signs, of an induction variable plus or minus a number
that the loop does not change. `most_parts` is how many loops one may become; a loop that would be
more stays predicated.

Source: "Perfectly Nested Writes To The Whole Output Operands" of MLIR's linalg document: "this
conversion to deep predication needs to be undone once we are done with Linalg transformations".
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.transforms.ir_utils.walking import operations

from ._bands import FOR
from ._splitting import COMPARISON, decide, find_split, split_at

NAME = "linalg-ext-undo-predication"

_CLEANING = ("canonicalize", "loop-invariant-code-motion", "canonicalize", "cse")


@module_pass(NAME, on=FOR)
def undo_predication(module: ir.Operation, *, most_parts: int = 16) -> Report:
    """Split loops where predicates in them change, and hoist invariants."""
    if most_parts < 1:
        raise ArgumentError(f"most_parts is {most_parts}", expected="1 or more")
    report = Report(NAME)
    _run(module, ("canonicalize", "cse"))
    report.matched[COMPARISON] += len(operations(module, [COMPARISON]))
    for loop in [op for op in operations(module, [FOR]) if not _is_inside_loop(op, module)]:
        _undo(loop, most_parts, report)
    _run(module, _CLEANING)
    return report


def _undo(loop: ir.Operation, most_parts: int, report: Report) -> None:
    """Split a loop, then those in its parts."""
    open_ = [loop]
    done: list[ir.Operation] = []
    while open_:
        one = open_.pop(0)
        report.changed[COMPARISON] += decide(one)
        split = find_split(one)
        if split is None:
            done.append(one)
        elif len(open_) + len(done) + len(split.answers) > most_parts:
            report.leave(FOR, f"the predicates would split the loop into more than {most_parts}")
            done.append(one)
        else:
            report.changed[COMPARISON] += 1
            open_ = [*split_at(one, split), *open_]
    for part in done:
        inner = [op for op in operations(part, [FOR]) if op != part]
        for each in [op for op in inner if not _is_inside_loop(op, part)]:
            _undo(each, most_parts, report)


def _is_inside_loop(op: ir.Operation, root: ir.Operation) -> bool:
    """Return whether another `scf.for` below a root is around an op."""
    around = op.parent
    while around is not None and around.operation != root:
        if around.operation.name == FOR:
            return True
        around = around.operation.parent
    return False


def _run(module: ir.Operation, passes: tuple[str, ...]) -> None:
    pass_manager("any", module.context, ",".join(passes)).run(module)
