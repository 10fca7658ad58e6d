"""Rows of equal steps of straight code, such as the rounds of a loop in Python, and their loops.

A step takes values of the step before it, and values that are the same for all steps. Numbers of
a `Line` with open numbers may differ from step to step: the loop computes them, or looks them up.
A result of each step that ops behind the row take is collected: one tensor has those of all steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from linalg_ext.bindings import arith, ir, scf, tensor
from linalg_ext.structured.constants import index
from linalg_ext.structured.mixed import mixed_operands
from linalg_ext.structured.sizes import slice_geometry

from .repeats import (
    FromBefore,
    FromStep,
    Line,
    Link,
    OpenNumber,
    Run,
    copy_of,
    is_init_tensor,
    most_repeated,
    outside_operands,
)
from .tensor_loops import extract_slice, insert_slice
from .walking import ancestor_in, replace_op

_MOST_AT_ONCE = 3
"""The most steps that are taken as one: it bounds how far back a step may take values from."""

_MOST_TURNS = 128
"""Steps of more ops begin where the row begins."""


@dataclass(frozen=True)
class Row:
    """Equal steps, one behind the other.

    Attributes:
        line: the ops.
        steps: at least two.
        links: the origins of the values that a step takes.
        initial: for each result that the next step takes, its place taken in the first step.
        far: the uses of results behind the row: of the last step's, and of those of many steps.
    """

    line: Line
    steps: Sequence[Run]
    links: Sequence[Link]
    initial: Mapping[FromBefore, Any]
    far: Mapping[FromBefore, Sequence[tuple[int, Any]]]

    @property
    def ops(self) -> list[Any]:
        """The ops of the first step."""
        return self.line.ops[self.steps[0].start : self.steps[0].stop]

    @property
    def collected(self) -> list[FromBefore]:
        """The results that are taken behind the row, of steps before the last one too."""
        last = len(self.steps) - 1
        return [link for link, uses in self.far.items() if any(at < last for at, _ in uses)]

    @property
    def differing(self) -> Iterator[tuple[int, list[OpenNumber]]]:
        """The numbers that differ: the place of the op in the step, and the number in each step."""
        for place in range(len(self.ops)):
            opened = (self.line.opened[step.start + place] for step in self.steps)
            for numbers in zip(*opened, strict=True):
                if any(number.value != numbers[0].value for number in numbers):
                    yield place, list(numbers)


def rows(line: Line, least: int) -> Iterator[Row]:
    """Yield rows of at least `least` steps, those first that save the most ops."""
    waiting = [Run(0, len(line.ops))]
    while waiting:
        part = waiting.pop()
        runs = most_repeated(line, part, lambda _: True, 1)
        if len(runs) < least:
            continue
        waiting += [Run(part.start, runs[0].start), Run(runs[-1].stop, part.stop)]
        turned = _turned(line, runs)
        for factor in range(1, _MOST_AT_ONCE + 1):
            row = _row(line, _joined(turned, factor), max(2, least // factor))
            if row is not None:
                yield row
                break


def _turned(line: Line, runs: list[Run]) -> list[Run]:
    """Return runs that begin at the op before which a step hands the fewest elements on."""
    middle = runs[len(runs) // 2]
    period = middle.stop - middle.start
    if period > _MOST_TURNS or len(runs) < 3:
        return runs

    def handed_on(by: int) -> int:
        start = middle.start + by - period
        links = line.links(Run(start + period, start + 2 * period))
        carried = {link for link in links if isinstance(link, FromBefore)}
        return sum(element_count(_result(line, start, link).type) for link in carried)

    by = min(range(period), key=handed_on)
    return [Run(run.start + by, run.stop + by) for run in runs[:-1]] if by else runs


def element_count(type_: Any) -> int:
    """Return how many elements a value has; of open sizes, a thousand."""
    if not isinstance(type_, ir.ShapedType):
        return 1
    return math.prod(type_.shape) if type_.has_static_shape else 1000


def _joined(runs: Sequence[Run], factor: int) -> list[Run]:
    last = len(runs) - factor + 1
    return [Run(runs[at].start, runs[at + factor - 1].stop) for at in range(0, last, factor)]


def _row(line: Line, runs: Sequence[Run], least: int) -> Row | None:
    """Return the longest row among runs; None where it is too short, or cannot be a loop."""
    if len(runs) < least:
        return None
    links = [line.links(run) for run in runs]
    equal = (list(row) for _, row in groupby(range(1, len(runs)), key=links.__getitem__))
    row = max(equal, key=len)
    step_links = links[row[0]]
    if _initial_values(line, runs[row[0] - 1], step_links) is not None:
        row = [row[0] - 1, *row]
    steps = [runs[at] for at in row]
    carried = {link for link in step_links if isinstance(link, FromBefore)}
    far = _far_uses(line, steps)
    if not _are_handed_out(far, carried, len(steps)):
        # Other results of the last step are taken behind the row.
        steps.pop()
        far = _far_uses(line, steps) if steps else {}
    initial = _initial_values(line, steps[0], step_links) if len(steps) >= least else None
    if initial is None or not _are_handed_out(far, carried, len(steps)):
        return None
    ordered = {link: initial[link] for link in sorted(carried)}
    return Row(line, steps, step_links, ordered, far) if ordered or far else None


def _initial_values(
    line: Line, first: Run, step_links: Sequence[Link]
) -> dict[FromBefore, Any] | None:
    """Return the operands of the first step in the place of results of a step before it.

    Args:
        line: the ops.
        first: the first step.
        step_links: the operands of each other step.

    Returns:
        The values by their links; None where the first step differs from the others.
    """
    initial: dict[FromBefore, Any] = {}
    values = chain.from_iterable(line.taken[first.start : first.stop])
    for link, own, value in zip(step_links, line.links(first), values, strict=True):
        if isinstance(link, FromBefore):
            if isinstance(own, FromStep) or initial.setdefault(link, value) != value:
                return None
        elif own != link:
            return None
    return initial


def _far_uses(line: Line, steps: Sequence[Run]) -> dict[FromBefore, list[tuple[int, Any]]]:
    """Return the uses of results by other ops than those of their own step and the next one.

    Returns:
        By the result, as the next step names it: the numbers of steps, and the uses.
    """
    block = line.ops[0].block
    places = {op: place for place, op in enumerate(line.ops)}
    behind = steps[-1].stop
    far: dict[FromBefore, list[tuple[int, Any]]] = {}
    for at, step in enumerate(steps):
        near = range(step.start, min(behind, 2 * step.stop - step.start))
        for place in range(step.start, step.stop):
            for number, result in enumerate(line.ops[place].results):
                for use in result.uses:
                    if places.get(ancestor_in(block, use.owner.operation)) not in near:
                        link = FromBefore(place - step.start, number)
                        far.setdefault(link, []).append((at, use))
    return far


def _are_handed_out(
    far: Mapping[FromBefore, Sequence[tuple[int, Any]]], carried: set[FromBefore], count: int
) -> bool:
    """Return whether a loop can hand out the results that are taken behind the row.

    The last step's are results of the loop where the next step would take them; those of at least
    half of the steps are collected.
    """
    for link, uses in far.items():
        users = {at for at, _ in uses}
        if users == {count - 1} and link in carried:
            continue
        type_ = uses[0][1].owner.operands[uses[0][1].operand_number].type
        if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
            return False
        if len(users) < max(2, count // 2):
            return False
    return True


def write_loop(row: Row) -> None:
    """Move the first step into a loop that takes the place of all steps."""
    line, first, last = row.line, row.steps[0].start, row.steps[-1].start
    block = row.ops[0].block
    collected = {link: _result(line, first, link).type for link in row.collected}
    # Behind the constants that the first step takes.
    behind = line.ops[row.steps[1].start]
    with behind.location, ir.InsertionPoint(behind):
        empty = [
            tensor.EmptyOp([len(row.steps), *type_.shape], type_.element_type).result
            for type_ in collected.values()
        ]
        loop = scf.ForOp(index(0), index(len(row.steps)), index(1), [*row.initial.values(), *empty])
        with ir.InsertionPoint(loop.body):
            end = scf.YieldOp(list(loop.inner_iter_args)).operation
    arguments = dict(zip(row.initial, loop.inner_iter_args, strict=False))
    links = iter(row.links)
    for op in row.ops:
        op.move_before(end)
        for (inner, number), link in zip(outside_operands(op), links, strict=False):
            if link in arguments:
                inner.operands[number] = arguments[link]
    _init_inside(row.ops)
    _write_numbers(row, loop.induction_variable)
    handed_on = [_result(line, first, link) for link in row.initial]
    with end.location, ir.InsertionPoint(end):
        for link, into in zip(collected, list(loop.inner_iter_args)[len(handed_on) :], strict=True):
            part = _result(line, first, link)
            handed_on.append(insert_slice(part, into, *_part(loop.induction_variable, part.type)))
    for number, value in enumerate(handed_on):
        end.operands[number] = value
    for link, result in zip(row.initial, loop.results, strict=False):
        _result(line, last, link).replace_all_uses_with(result)
    for link, whole in zip(collected, list(loop.results)[len(row.initial) :], strict=True):
        for at, use in row.far[link]:
            user: Any = ancestor_in(block, use.owner.operation)
            with user.location, ir.InsertionPoint(user):
                part = extract_slice(whole, *_part(at, collected[link]), dropped=(0,))
            use.owner.operands[use.operand_number] = part
    for op in reversed(line.ops[row.steps[0].stop : row.steps[-1].stop]):
        op.erase()


def _init_inside(ops: Sequence[Any]) -> None:
    """Give each op own copies of the empty and the filled tensors that it takes.

    It overwrites them: those of all rounds would be kept by copying them in each.
    """
    for op in ops:
        for inner, number in outside_operands(op):
            value = inner.operands[number]
            if isinstance(value.type, ir.RankedTensorType) and is_init_tensor(value):
                with op.location, ir.InsertionPoint(op):
                    inner.operands[number] = copy_of(value)


def _result(line: Line, start: int, link: FromBefore) -> Any:
    """Return a result of the step that begins at a place."""
    return line.ops[start + link.place].results[link.number]


def _part(at: Any, type_: Any) -> tuple[list[Any], list[int]]:
    """Return the offsets and the sizes of the part that a step has of a collected tensor."""
    return [at, *[0] * type_.rank], [1, *type_.shape]


def _write_numbers(row: Row, step: Any) -> None:
    """Make the numbers that differ from step to step values that the number of the step gives."""
    offsets: dict[Any, dict[int, Any]] = {}
    for place, numbers in row.differing:
        op, axis, _ = numbers[0]
        around = row.ops[place]
        with around.location, ir.InsertionPoint(around):
            value = _number([number.value for number in numbers], step)
        if axis is None:
            replace_op(op, value)
        else:
            offsets.setdefault(op, {})[axis] = value
    for op, values in offsets.items():
        slice_ = _with_offsets(op, values)
        if op in row.line.ops:
            row.line.ops[row.line.ops.index(op)] = slice_
        replace_op(op, *slice_.results)


def _number(values: Sequence[Any], step: Any) -> Any:
    """Return a value that is, in each step, the integer or the attribute of its place."""
    first, second = values[:2]
    if isinstance(first, int):
        by = second - first
        if all(value == first + by * at for at, value in enumerate(values)):
            return arith.addi(arith.muli(step, index(by)), index(first))
        values = [ir.IntegerAttr.get(ir.IndexType.get(), value) for value in values]
    type_ = ir.RankedTensorType.get([len(values)], values[0].type)
    elements: Any = ir.DenseElementsAttr.get(values, type_)
    table = arith.ConstantOp(type_, elements)
    return tensor.extract(table.result, [step])


def _with_offsets(op: Any, new: Mapping[int, Any]) -> Any:
    """Return a slice, before an op that is one, with other offsets along some axes."""
    is_taken = op.name == "tensor.extract_slice"
    tensors = list(op.operands)[: 1 if is_taken else 2]
    offsets, sizes, strides = slice_geometry(op, len(tensors))
    moved = [new.get(axis, offset) for axis, offset in enumerate(offsets)]
    with op.location, ir.InsertionPoint(op):
        geometry = mixed_operands(moved, sizes, strides)
        if is_taken:
            return tensor.ExtractSliceOp(op.results[0].type, *tensors, *geometry).operation
        return tensor.InsertSliceOp(*tensors, *geometry).operation
