"""Roll up equal steps of straight code, such as those of a loop in Python, into one loop.

before:
    func.func @f(%x: vector<8xf32>) -> vector<8xf32> {
      %0 = math.sin %x : vector<8xf32>
      %1 = math.sin %0 : vector<8xf32>
      %2 = math.sin %1 : vector<8xf32>
      return %2 : vector<8xf32>
    }
after:
    func.func @f(%x: vector<8xf32>) -> vector<8xf32> {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %c1 = arith.constant 1 : index
      %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %x) -> (vector<8xf32>) {
        %1 = math.sin %v : vector<8xf32>
        scf.yield %1 : vector<8xf32>
      }
      return %0 : vector<8xf32>
    }

The example is with `least=3`. A step takes values of the step before, and values that are the same
for all steps. Each step waits for the one before it, rolled up or not; hundreds of copies of it
would be lowered one by one, and exceed the cache of instructions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, pairwise
from typing import Any

from linalg_ext.bindings import ir, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.transforms.ir_utils.module_functions import PLAN
from linalg_ext.transforms.ir_utils.repeats import (
    FromBefore,
    FromStep,
    Line,
    Link,
    Run,
    most_repeated,
)
from linalg_ext.transforms.ir_utils.walking import functions, ops_of

NAME = "linalg-ext-roll-up-steps"

_COMPUTES = ("arith.", "math.", "complex.", "vector.fma")
"""Name prefixes of ops whose only effect is their result."""


@module_pass(NAME, on=lambda name: name.startswith(_COMPUTES))
def roll_up_steps(module: ir.Operation, *, least: int = 32) -> Report:
    """Replace long rows of equal steps by loops.

    Args:
        module: on vectors or scalars.
        least: the number of steps of a row that is rolled up.
    """
    report = Report(NAME)
    for function in functions(module):
        if PLAN in function.attributes:
            continue
        stretches = [ops for ops in _straight_code(function) if _may_repeat(ops, least)]
        report.changed["scf.for"] += sum(_roll_up(ops, least) for ops in stretches)
    return report


def _straight_code(op: Any) -> Iterator[list[Any]]:
    """Yield the stretches of ops that only compute; constants may stand among them."""
    for region in op.regions:
        for block in region.blocks:
            stretch: list[Any] = []
            for inner in ops_of(block):
                if inner.name.startswith(_COMPUTES):
                    stretch.append(inner)
                    continue
                yield stretch
                stretch = []
                if len(inner.regions):
                    yield from _straight_code(inner)
            yield stretch


def _may_repeat(ops: list[Any], least: int) -> bool:
    return len(ops) >= least and max(Counter(op.name for op in ops).values()) >= least


def _roll_up(ops: list[Any], least: int) -> bool:
    """Roll up the steps of a stretch that save the most ops; return whether there are such."""
    line = Line(ops)
    runs = most_repeated(line, Run(0, len(line.ops)), lambda _: True, 1)
    if len(runs) < least:
        return False
    for factor in range(1, _MOST_AT_ONCE + 1):
        if _roll_up_runs(line, _joined(runs, factor), max(2, least // factor)):
            return True
    return False


_MOST_AT_ONCE = 3
"""The most steps that are taken as one: it bounds how far back a step may take values from."""


def _joined(runs: Sequence[Run], factor: int) -> list[Run]:
    last = len(runs) - factor + 1
    return [Run(runs[at].start, runs[at + factor - 1].stop) for at in range(0, last, factor)]


def _roll_up_runs(line: Line, runs: Sequence[Run], least: int) -> bool:
    if len(runs) < least:
        return False
    links = [line.links(run) for run in runs]
    rows = (list(row) for _, row in groupby(range(1, len(runs)), key=links.__getitem__))
    row = max(rows, key=len)
    step_links = links[row[0]]
    if _initial_values(line, runs[row[0] - 1], step_links) is not None:
        row = [row[0] - 1, *row]
    steps = [runs[at] for at in row]
    carried = sorted({link for link in step_links if isinstance(link, FromBefore)})
    if not set(_leaving(line, steps[-1])) <= set(carried):
        steps.pop()  # its other results are taken behind the row
    initial = _initial_values(line, steps[0], step_links) if len(steps) >= least else None
    if initial is None or not carried or not _are_apart(line, steps):
        return False
    _write_loop(line, steps, step_links, {link: initial[link] for link in carried})
    return True


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


def _leaving(line: Line, step: Run) -> Iterator[FromBefore]:
    """Yield the results of a step that ops behind it take, as the next step names them."""
    own = set(line.ops[step.start : step.stop])
    for place in range(step.start, step.stop):
        for number, result in enumerate(line.ops[place].results):
            if any(use.owner.operation not in own for use in result.uses):
                yield FromBefore(place - step.start, number)


def _are_apart(line: Line, steps: Sequence[Run]) -> bool:
    """Return whether the results of each step, the last one excepted, go to the next one alone."""
    for step, after in pairwise(steps):
        near = set(line.ops[step.start : after.stop])
        results = chain.from_iterable(op.results for op in line.ops[step.start : step.stop])
        if any(use.owner.operation not in near for result in results for use in result.uses):
            return False
    return True


def _write_loop(
    line: Line, steps: Sequence[Run], step_links: Sequence[Link], initial: dict[FromBefore, Any]
) -> None:
    """Move the first step into a loop that takes the place of all steps."""
    first, second, last = steps[0], steps[1], steps[-1]
    ops = line.ops[first.start : first.stop]
    # Behind the constants that the first step takes.
    behind = line.ops[second.start]
    with behind.location, ir.InsertionPoint(behind):
        loop = scf.ForOp(index(0), index(len(steps)), index(1), list(initial.values()))
    arguments = dict(zip(initial, loop.inner_iter_args, strict=True))
    with behind.location, ir.InsertionPoint(loop.body):
        end = scf.YieldOp([_result(line, first, link) for link in initial]).operation
    links = iter(step_links)
    for op in ops:
        op.move_before(end)
        for place in range(len(op.operands)):
            link = next(links)
            if isinstance(link, FromBefore):
                op.operands[place] = arguments[link]
    for link, result in zip(initial, loop.results, strict=True):
        _result(line, last, link).replace_all_uses_with(result)
    for op in reversed(line.ops[first.stop : last.stop]):
        op.erase()


def _result(line: Line, step: Run, link: FromBefore) -> Any:
    return line.ops[step.start + link.place].results[link.number]
