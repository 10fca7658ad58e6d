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
makes two. Loops that then run once are not loops any more, those that never run are gone, and so
are iterations that a predicate left out. Predicates that all iterations answer alike become
constants, by the bounds of the loops around them. Upstream's canonicalization, its hoisting of
invariant code and its common subexpressions do the rest.

Predicates are comparisons of indices, with signs, of an induction variable plus or minus a number
that the loop does not change. `most_parts` is how many loops one may become; a loop that would be
more stays predicated.

Source: "Perfectly Nested Writes To The Whole Output Operands" of MLIR's linalg document: "this
conversion to deep predication needs to be undone once we are done with Linalg transformations".
"""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.symbolic.integers import Number, ceildiv, is_le, maximum, minimum
from linalg_ext.transforms.ir_utils.walking import operations

from ._bands import FOR, along, counts_in_indices, nested
from .raising import outermost

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
    for loop in outermost(module):
        _undo(loop, most_parts, report)
    _run(module, _CLEANING)
    return report


def _undo(loop: ir.Operation, most_parts: int, report: Report) -> None:
    """Split a loop, then those in its parts."""
    waiting = [loop]
    parts: list[ir.Operation] = []
    while waiting:
        first = waiting.pop(0)
        report.changed[COMPARISON] += decide(first)
        split = find_split(first)
        if split is None:
            parts.append(first)
        elif len(waiting) + len(parts) + len(split.answers) > most_parts:
            report.leave(FOR, f"the predicates would split the loop into more than {most_parts}")
            parts.append(first)
        else:
            report.changed[COMPARISON] += 1
            waiting = [*split_at(first, split), *waiting]
    for part in parts:
        for inner in outermost(part):
            _undo(inner, most_parts, report)


def _run(module: ir.Operation, passes: tuple[str, ...]) -> None:
    pass_manager("any", module.context, ",".join(passes)).run(module)


COMPARISON = "arith.cmpi"


@dataclass(frozen=True)
class Split:
    """A comparison, and where its answer changes.

    Attributes:
        comparison: an op in the body of the loop.
        ends: the ends of all parts but the last, by the induction variable.
        answers: of the comparison, in each part.
    """

    comparison: ir.Operation
    ends: tuple[Number, ...]
    answers: tuple[bool, ...]


def decide(loop: ir.Operation) -> int:
    """Put answers in the place of comparisons that all iterations answer alike; how many."""
    read = IndexReader()
    decided = 0
    for op in operations(loop, [COMPARISON]):
        truth = read.truth(op.results[0])
        if isinstance(truth, bool):
            _answer(op, truth)
            decided += 1
    return decided


def find_split(loop: ir.Operation) -> Split | None:
    """Return the first comparison in a loop by which it can be split; None if absent."""
    read = IndexReader()
    lower, upper, step = (read(value) for value in list(loop.operands)[:3])
    if not counts_in_indices(loop) or not isinstance(step, int) or step < 1:
        return None
    for op in operations(loop, [COMPARISON]):
        changes = _changes(op, loop, read)
        if changes is not None:
            ends, answers = changes
            last = maximum(lower, upper)
            rounded = [_at_step(end, lower, last, step) for end in ends]
            return Split(op, tuple(rounded), answers)
    return None


def split_at(loop: ir.Operation, split: Split) -> list[ir.Operation]:
    """Replace a loop by its parts, one after another; an empty one is left out."""
    position = nested(loop).index(split.comparison)
    read = IndexReader()
    bounds = [read(loop.operands[0]), *split.ends, read(loop.operands[1])]
    parts: list[ir.Operation] = []
    with loop.location, ir.InsertionPoint(loop):
        emitter = Emitter()
        values = [loop.operands[0], *map(emitter.value, split.ends), loop.operands[1]]
        carried = list(loop.operands)[3:]
        for number, answer in enumerate(split.answers):
            if is_le(bounds[number + 1], bounds[number]):
                continue
            part = loop.clone()
            part.operands[0], part.operands[1] = values[number : number + 2]
            for carried_number, value in enumerate(carried):
                part.operands[3 + carried_number] = value
            _answer(nested(part)[position], answer)
            carried = list(part.results)
            parts.append(part)
    for result, value in zip(loop.results, carried, strict=True):
        result.replace_all_uses_with(value)
    loop.erase()
    return parts


def _at_step(end: Number, lower: Number, last: Number, step: int) -> Number:
    """Return the first value at or behind an end that the loop reaches, between its bounds."""
    inside = maximum(lower, minimum(end, last))
    return lower + ceildiv(inside - lower, step) * step


def _answer(op: ir.Operation, answer: bool) -> None:
    with op.location, ir.InsertionPoint(op):
        value = integer_constant(ir.IntegerType.get_signless(1), int(answer))
    op.results[0].replace_all_uses_with(value)
    op.erase()


_EQ, _NE, _SLT, _SLE, _SGT, _SGE = range(6)
"""The predicates of `arith.cmpi` that know signs."""

_MIRRORED = {_EQ: _EQ, _NE: _NE, _SLT: _SGT, _SLE: _SGE, _SGT: _SLT, _SGE: _SLE}

_ANSWERS: dict[int, tuple[tuple[int, ...], tuple[bool, ...]]] = {
    _EQ: ((0, 1), (False, True, False)),
    _NE: ((0, 1), (True, False, True)),
    _SLT: ((0,), (True, False)),
    _SLE: ((1,), (True, False)),
    _SGT: ((1,), (False, True)),
    _SGE: ((0,), (False, True)),
}
"""The points where the answer to `iv <predicate> n` changes, relative to n; the answers between."""


def _changes(
    op: ir.Operation, loop: ir.Operation, read: IndexReader
) -> tuple[tuple[Number, ...], tuple[bool, ...]] | None:
    """Return the points where the answer of a comparison changes, and the answers between them.

    None where the answer does not change with this loop.
    """
    left, right = op.operands
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    if not isinstance(left.type, ir.IndexType) or predicate not in _MIRRORED:
        return None
    difference = along(read(left) - read(right), loop, read)
    if difference is None or abs(difference.factor) != 1:
        return None
    # `iv` compared with a number, on whichever side it stood.
    number = -difference.rest * difference.factor
    if difference.factor < 0:
        predicate = _MIRRORED[predicate]
    offsets, answers = _ANSWERS[predicate]
    return tuple(number + offset for offset in offsets), answers
