"""Splitting a loop where a comparison of its induction variable changes its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.symbolic.integers import Number, ceildiv, is_le, maximum, minimum
from linalg_ext.transforms.ir_utils.walking import operations, select

from ._indices import along, counts_in_indices

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
    """The first comparison in a loop by which it can be split; None if absent."""
    read = IndexReader()
    lower, upper, step = (read(value) for value in list(loop.operands)[:3])
    if not counts_in_indices(loop) or not isinstance(step, int) or step < 1:
        return None
    for op in operations(loop, [COMPARISON]):
        found = _changes(op, loop, read)
        if found is not None:
            ends, answers = found
            last = maximum(lower, upper)
            rounded = [_at_step(end, lower, last, step) for end in ends]
            return Split(op, tuple(rounded), answers)
    return None


def split_at(loop: ir.Operation, split: Split) -> list[ir.Operation]:
    """Replace a loop by its parts, one after another; an empty one is left out."""
    place = select(loop, lambda _: True).index(split.comparison)
    read = IndexReader()
    bounds = [read(loop.operands[0]), *split.ends, read(loop.operands[1])]
    parts: list[ir.Operation] = []
    with loop.location, ir.InsertionPoint(loop):
        values = _emitted(loop, split.ends)
        carried = list(loop.operands)[3:]
        for number, answer in enumerate(split.answers):
            if is_le(bounds[number + 1], bounds[number]):
                continue
            part = loop.clone()
            part.operands[0], part.operands[1] = values[number : number + 2]
            for at, value in enumerate(carried):
                part.operands[3 + at] = value
            _answer(select(part, lambda _: True)[place], answer)
            carried = list(part.results)
            parts.append(part)
    for result, value in zip(loop.results, carried, strict=True):
        result.replace_all_uses_with(value)
    loop.erase()
    return parts


def _emitted(loop: ir.Operation, ends: Sequence[Number]) -> list[ir.Value]:
    emitter = Emitter()
    return [loop.operands[0], *map(emitter.value, ends), loop.operands[1]]


def _at_step(end: Number, lower: Number, last: Number, step: int) -> Number:
    """The first value at or behind an end that the loop reaches, between its bounds."""
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
    match predicate:
        case 0:
            return (number, number + 1), (False, True, False)
        case 1:
            return (number, number + 1), (True, False, True)
        case 2:
            return (number,), (True, False)
        case 3:
            return (number + 1,), (True, False)
        case 4:
            return (number + 1,), (False, True)
    return (number,), (False, True)
