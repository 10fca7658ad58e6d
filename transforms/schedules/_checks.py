"""Refusals: what upstream would crash on, leave invalid, or say no to without a place."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.errors import ScheduleError
from linalg_ext.structured.payload import reaches_outside_memory
from linalg_ext.transforms.ir_utils.walking import place, producer

from ._facts import Loops, has_loops, has_maps, loops_of, on_tensors, softmax_dims


def refusal(
    op: ir.Operation, what: str, *, expected: str | None = None, hint: str | None = None
) -> ScheduleError:
    """The error of a step that cannot be taken on `op`."""
    return ScheduleError(what, where=place(op), expected=expected, hint=hint)


def structured_loops(op: ir.Operation, step: str) -> Loops:
    """The loops of an op that any step may ask for.

    Raises:
        ScheduleError: it is no structured op.
    """
    if not has_loops(op):
        is_elementwise = op.name.startswith(("math.", "arith."))
        raise refusal(
            op,
            f"{step} is for structured ops; {op.name} is not one",
            expected="an op of linalg, or tensor.pad",
            hint='run("convert-elementwise-to-linalg") makes one of it' if is_elementwise else None,
        )
    return loops_of(op)


def check_maps(op: ir.Operation, step: str) -> Loops:
    """The loops of an op with indexing maps.

    Raises:
        ScheduleError: it has none.
    """
    if not has_maps(op):
        raise refusal(
            op,
            f"{step} is for ops with indexing maps; {op.name} has none",
            hint="decompose() may turn it into ops that have",
        )
    return loops_of(op)


def check_tensors(op: ir.Operation, step: str) -> None:
    """Raise `ScheduleError` for an op on buffers."""
    if not on_tensors(op):
        raise refusal(
            op,
            f"{step} is for ops on tensors; this {op.name} writes to buffers",
            hint="take this step before those that bufferize",
        )


def check_repeatable(op: ir.Operation, step: str, *, by: str = "") -> None:
    """An op whose iterations may be done again, or more of them than there are.

    Raises:
        ScheduleError: its body reaches memory that is no operand, and a histogram counts twice.
    """
    if reaches_outside_memory(op):
        raise refusal(
            op,
            f"{step} may repeat iterations of this {op.name}{by}, whose body reaches memory that "
            "is no operand",
            expected="a body that computes its results, and does nothing else",
            hint="take another op, or make the memory an operand",
        )


def check_buffers(op: ir.Operation, step: str) -> None:
    """Raise `ScheduleError` for an op on tensors."""
    if on_tensors(op):
        raise refusal(
            op,
            f"{step} is for ops on buffers; this {op.name} makes tensors",
            hint="take the step bufferize() first, and match again",
        )


def check_sizes(
    op: ir.Operation,
    name: str,
    sizes: Sequence[int],
    loops: Loops,
    *,
    whole: bool = False,
    zeros: bool = True,
) -> None:
    """Sizes for loops, outermost first.

    Args:
        op: whose loops they are.
        name: of the argument.
        sizes: one for each loop, or for the first ones.
        loops: the iteration space of the op.
        whole: True where every loop must have one.
        zeros: True where 0, which leaves a loop alone, may be one; not all may be 0.

    Raises:
        ScheduleError: they cannot be sizes for these loops.
    """
    if len(sizes) > loops.count or (whole and len(sizes) != loops.count):
        raise refusal(
            op,
            f"{name} has {len(sizes)} numbers; {op.name} has {loops.count} loops",
            expected=f"{'' if whole else 'at most '}{loops.count}, for {loops}",
        )
    for position, size in enumerate(sizes):
        if size < 0 or (size == 0 and not zeros):
            least = "0 (leave this loop alone) or more" if zeros else "1 or more"
            raise refusal(op, f"{name}[{position}] is {size}", expected=least)
    if not any(sizes):
        raise refusal(op, f"{name} leaves every loop alone", expected=f"sizes for {loops}")
    check_not_empty(op, loops)


def check_not_empty(op: ir.Operation, loops: Loops) -> None:
    """Raise `ScheduleError` for an op on empty operands, which upstream crashes on."""
    if 0 in loops.ranges:
        raise refusal(
            op,
            f"loop {loops.ranges.index(0)} of this op runs 0 times: there is nothing to schedule",
            hint="leave it out: match(..., where=...) or position=...",
        )


def check_rows(op: ir.Operation, name: str, sizes: Sequence[int]) -> None:
    """Raise `ScheduleError` where rows of a softmax are cut: upstream makes one of each piece."""
    for loop in softmax_dims(op):
        if loop < len(sizes) and sizes[loop]:
            raise refusal(
                op,
                f"{name}[{loop}] is {sizes[loop]}, but each sum of this softmax is over all of it",
                expected="0 there",
                hint="decompose() first makes loops of it that can be cut",
            )


def check_permutation(op: ir.Operation, name: str, order: Sequence[int], count: int) -> None:
    """Raise `ScheduleError` unless `order` has each of 0 to count - 1 once."""
    if sorted(order) != list(range(count)):
        raise refusal(
            op,
            f"{name} {list(order)} is no order of {count} loops",
            expected=f"each of 0 to {count - 1} once",
        )


def check_least(op: ir.Operation, name: str, value: int, least: int) -> None:
    """Raise `ScheduleError` for a number below `least`."""
    if value < least:
        raise refusal(op, f"{name} is {value}", expected=f"{least} or more")


def check_loop(op: ir.Operation, name: str, loop: int, loops: Loops) -> None:
    """Raise `ScheduleError` for the number of a loop that the op does not have."""
    if not 0 <= loop < loops.count:
        raise refusal(
            op, f"{name} is {loop}; {op.name} has {loops.count} loops", expected=f"{loops}"
        )
    check_not_empty(op, loops)


def check_choice(op: ir.Operation, name: str, value: str, choices: Sequence[str]) -> None:
    """Raise `ScheduleError` for a word that is none of `choices`."""
    if value not in choices:
        raise refusal(op, f"{name} is {value!r}", expected=" or ".join(choices))


def check_factor(op: ir.Operation, factor: int, loop: ir.Operation) -> None:
    """Raise `ScheduleError` for a loop that cannot be unrolled so often."""
    check_least(op, "factor", factor, 2)
    bounds = [_constant(value) for value in list(loop.operands)[:3]]
    most = _MOST_COPIES
    if None not in bounds:
        first, last, step = (each or 0 for each in bounds)
        most = min(most, max(1, -((first - last) // max(1, step))))
    if factor > most:
        raise refusal(op, f"factor is {factor}", expected=f"at most {most} for this loop")


_MOST_COPIES = 1024


def _constant(value: ir.Value) -> int | None:
    op = producer(value)
    if op is None or op.operation.name != "arith.constant":
        return None
    return ir.IntegerAttr(op.operation.attributes["value"]).value


def enclosing(op: ir.Operation, step: str, loop: int, name: str = "scf.for") -> ir.Operation:
    """The loop around `op`, counted outwards from 0.

    Raises:
        ScheduleError: there are not that many.
    """
    check_least(op, "loop", loop, 0)
    around = []
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        if parent.operation.name == name:
            around.append(parent.operation)
        parent = parent.operation.parent
    if loop >= len(around):
        raise refusal(
            op,
            f"{step} needs a loop; {len(around)} of {name} stand around {op.name}",
            hint="tile it first, or give loop= a number that is there",
        )
    return around[loop]
