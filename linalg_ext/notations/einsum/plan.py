"""A contraction of many operands as steps of one or two: the ops, and their cost.

Operands that are read along a diagonal, or have dimensions that nothing else has, are reduced to
the rest first; then two at a time are contracted along a path. Where the semiring does not
distribute (greatest products of numbers that may be negative), nothing is summed before the last
step. `contract_along` runs the steps: on arrays, MLIR values, traced values and dask arrays alike.

The search for a path is opt_einsum's (Smith and Gray, "opt_einsum - A Python package for optimizing
contraction order for einsum-like expressions", JOSS 2018).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, TypeVar

from linalg_ext.errors import ArgumentError, PathError
from linalg_ext.notations.einsum.definitions import BROADCAST
from linalg_ext.notations.einsum.subscripts import Contraction

Path = tuple[tuple[int, ...], ...]
"""For each step the positions of its operands; its result is appended to those that are left."""

STRATEGIES = (
    "auto",
    "auto-hq",
    "greedy",
    "optimal",
    "dp",
    "branch-all",
    "branch-2",
    "branch-1",
)
"""The names that `optimize=` accepts."""


def find_path(contraction: Contraction, optimize: Any) -> Path:
    """The path that `optimize=` asks for.

    Args:
        contraction: with one operand at least.
        optimize: True or `"auto"`; False, from left to right; the name of a strategy; a pair of a
            name and the number of elements that an intermediate may have; or a path as
            `numpy.einsum_path` gives it: `["einsum_path", (1, 2), (0, 1)]`.

    Raises:
        ArgumentError: it is none of these.
        PathError: the path does not contract all operands into one.
    """
    count = len(contraction.inputs)
    limit = None
    if isinstance(optimize, Sequence) and not isinstance(optimize, str):
        if optimize and optimize[0] == "einsum_path":
            return _checked_path(optimize[1:], count)
        if len(optimize) != 2 or not isinstance(optimize[0], str):
            _refuse_optimize(optimize)
        optimize, limit = optimize
        if isinstance(limit, bool) or not isinstance(limit, int | float) or limit < 0:
            raise ArgumentError(
                f"einsum: the memory limit of optimize= is {limit!r}",
                expected="a number of elements",
            )
    if not isinstance(optimize, str | bool):
        _refuse_optimize(optimize)
    strategy = "auto" if optimize is True else optimize
    if strategy is not False and strategy not in STRATEGIES:
        _refuse_optimize(optimize)
    if count <= 2:
        return (tuple(range(count)),)
    if strategy is False:
        return ((0, 1), *((0, left) for left in range(count - 2, 0, -1)))
    # Not at the top: it takes 30 ms, and einsums of one and two operands need it not.
    from opt_einsum.paths import get_path_fn

    search = get_path_fn(strategy)
    inputs = [frozenset(labels) for labels in contraction.inputs]
    path = search(
        inputs,
        frozenset(contraction.output),
        contraction.sizes,
        None if limit is None else int(limit),
    )
    return tuple(tuple(step) for step in path)


def _checked_path(steps: Sequence[Any], count: int) -> Path:
    path: list[tuple[int, ...]] = []
    remaining = count
    for step in steps:
        try:
            positions = tuple(operator.index(position) for position in step)
        except TypeError:
            raise PathError(
                f"einsum: {step!r} is not a step of a path", expected="a tuple of positions"
            ) from None
        if (
            not positions
            or len({*positions}) < len(positions)
            or not all(0 <= position < remaining for position in positions)
        ):
            raise PathError(
                f"einsum: step {len(path)} of the path, {positions}, does not fit {remaining} "
                "operands",
                expected=f"different positions from 0 to {remaining - 1}",
            )
        path.append(positions)
        remaining += 1 - len(positions)
    if remaining != 1:
        raise PathError(
            f"einsum: the path leaves {remaining} of {count} operands",
            expected="one: the result",
            hint="add steps, or leave the order to optimize='auto'",
        )
    # Without a step there is one operand: its sums are yet to be computed.
    return tuple(path) or ((0,),)


def _refuse_optimize(optimize: object) -> None:
    raise ArgumentError(
        f"einsum: optimize={optimize!r}",
        expected="True, False, one of "
        + ", ".join(map(repr, STRATEGIES))
        + ", a pair of one of these and a memory limit, or ['einsum_path', (0, 1), ...]",
    )


Value = TypeVar("Value")
Labels = tuple[str, ...]
Cost = Callable[[Collection[str], Collection[str], Collection[str]], float]
"""The cost of contracting two operands into a third, each given by its labels."""

PATHS = (*STRATEGIES, "naive", "cost")
"""The values of a contraction's `path`: opt_einsum's strategies, left to right, and ours."""

_MOST_EXACT = 9
"""Operands of which every order is looked at: 3**n steps."""

FLOPS_PER_BYTE = 8.0
"""The default number of operations that a core does in the time that it moves a byte."""


@dataclass(frozen=True)
class Step:
    """One op of a plan, with the labels of its operands and of its result.

    Of the operands those of the contraction are 0, 1, ...; the result of the first step is the
    number after the last of them, and so on.
    """

    operands: tuple[int, ...]
    inputs: tuple[Labels, ...]
    output: Labels

    @classmethod
    def of_all(cls, inputs: Sequence[Labels], output: Labels) -> Step:
        """Return the step that contracts all operands at once."""
        return cls(tuple(range(len(inputs))), tuple(inputs), output)

    @property
    def summed(self) -> Labels:
        """The labels that it sums over."""
        return tuple(dict.fromkeys(x for own in self.inputs for x in own if x not in self.output))


@dataclass(frozen=True)
class ContractionPlan:
    """A contraction and the steps that do it; the last gives the result."""

    contraction: Contraction
    steps: tuple[Step, ...]

    def flops(self, step: Step) -> int:
        """Additions and multiplications of a step, or their counterparts in its semiring."""
        return _flops(step.inputs, step.output, self.contraction.sizes)

    def elements(self, step: Step) -> int:
        """The size of the result of a step."""
        return math.prod(self.contraction.sizes[label] for label in step.output)

    @cached_property
    def total_flops(self) -> int:
        """Those of all steps."""
        return sum(map(self.flops, self.steps))

    @cached_property
    def naive_flops(self) -> int:
        """Those of one loop nest over all operands at once."""
        own = self.contraction
        return _flops(own.inputs, own.output, own.sizes)


def plan_contraction(
    contraction: Contraction,
    path: str = "auto",
    *,
    distributes: bool = True,
    flops_per_byte: float = FLOPS_PER_BYTE,
    bytes_per_element: int = 4,
) -> ContractionPlan:
    """Find the steps of a contraction.

    Args:
        contraction: of one operand at least.
        path: `"optimal"`, `"greedy"`, `"auto"` or another strategy of opt_einsum; `"naive"`, from
            left to right; `"cost"`, the order with the least operations and bytes moved.
        distributes: whether operands may be summed before they are multiplied.
        flops_per_byte: for `"cost"`, how many operations the target does while it moves a byte.
        bytes_per_element: for `"cost"`, of an intermediate result.

    Raises:
        ArgumentError: there is no such path.
    """
    if path not in PATHS:
        raise ArgumentError(
            f"{path!r} is not a contraction path",
            expected="one of " + ", ".join(map(repr, PATHS)),
        )
    key = (contraction.inputs, contraction.output, tuple(contraction.sizes.items()))
    return _planned(*key, path, distributes, flops_per_byte * bytes_per_element)


@lru_cache(maxsize=4096)
def _planned(
    inputs: tuple[Labels, ...],
    output: Labels,
    sizes: tuple[tuple[str, int], ...],
    path: str,
    distributes: bool,
    flops_per_element: float,
) -> ContractionPlan:
    contraction = Contraction(inputs, output, dict(sizes))
    if not distributes or len(inputs) == 1:
        return ContractionPlan(contraction, (Step.of_all(inputs, output),))
    steps = steps_along(_path(contraction, path, flops_per_element), inputs, output)
    return ContractionPlan(contraction, steps)


def _path(contraction: Contraction, path: str, flops_per_element: float) -> Path:
    if path == "cost" and len(contraction.inputs) > 2:
        return cheapest_path(contraction, _roofline(contraction.sizes, flops_per_element))
    return find_path(contraction, {"naive": False, "cost": "auto"}.get(path, path))


@lru_cache(maxsize=4096)
def steps_along(
    path: Path,
    inputs: tuple[Labels, ...],
    output: Labels,
    *,
    distributes: bool = True,
    reads_diagonals: bool = False,
) -> tuple[Step, ...]:
    """Return the steps of a contraction along a path.

    An intermediate has the labels of both operands first, then those of the first alone, then
    those of the second alone: as a batch of matrix products gives them.

    Args:
        path: in which order two operands at a time are contracted.
        inputs: the labels of each operand. A label may be there twice, which reads a diagonal, and
            `BROADCAST` stands for an axis of size 1 that other operands stretch.
        distributes: whether operands may be summed before they are multiplied.
        reads_diagonals: whether a product can read operands along diagonals. Else, each diagonal is
            a step of its own.
    """
    steps: list[Step] = []
    pending = list(enumerate(inputs))

    def add(operands: tuple[int, ...], own: tuple[Labels, ...], result: Labels) -> _Numbered:
        steps.append(Step(operands, own, result))
        return len(inputs) + len(steps) - 1, result

    def reduced(operand: _Numbered, needed: Collection[str]) -> _Numbered:
        """An operand summed over labels that no other operand has, and read along its diagonals."""
        number, labels = operand
        own = [x for x in labels if x != BROADCAST]
        result = tuple(x for x in dict.fromkeys(own) if x in needed)
        is_fit = {*result} == {*own} if reads_diagonals else len(result) == len(own)
        return operand if is_fit else add((number,), (labels,), result)

    def pair(a: _Numbered, b: _Numbered, other_labels: Sequence[Labels]) -> _Numbered:
        needed = {*output, *(label for labels in other_labels for label in labels)}
        if distributes:
            a = reduced(a, {*needed, *b[1]})
            b = reduced(b, {*needed, *a[1]})
        else:
            needed |= {*a[1], *b[1]}
        result = output
        if other_labels:
            batch = [x for x in a[1] if x in b[1]]
            every = dict.fromkeys((*batch, *a[1], *b[1]))
            result = tuple(x for x in every if x in needed and x != BROADCAST)
        return add((a[0], b[0]), (a[1], b[1]), result)

    for positions in path:
        group = [pending.pop(i) for i in sorted(positions, reverse=True)][::-1]
        while len(group) > 1:
            first, second, *rest = group
            group = [pair(first, second, [labels for _, labels in (*rest, *pending)]), *rest]
        pending += group
    (number, labels), *_ = pending
    if labels != output or not steps:
        add((number,), (labels,), output)
    return tuple(steps)


_Numbered = tuple[int, Labels]
"""A value that no step has read yet: its number and its labels."""


def contract_along(
    steps: Sequence[Step], values: Sequence[Value], apply: Callable[[list[Value], Step], Value]
) -> Value:
    """Return the result of the last step; each value is let go once it has been read.

    `apply` contracts the operands of one step.
    """
    pending = dict(enumerate(values))
    for number, step in enumerate(steps, len(values)):
        pending[number] = apply([pending.pop(operand) for operand in step.operands], step)
    (result,) = pending.values()
    return result


def cheapest_path(contraction: Contraction, cost: Cost) -> Path:
    """The order in which contracting two at a time costs least, of two operands or more.

    Every order is looked at for up to 9 operands; beyond, the cheapest pair is taken each time.
    """
    if len(contraction.inputs) > _MOST_EXACT:
        return _cheapest_pairs(contraction, cost)
    count = len(contraction.inputs)
    everything = (1 << count) - 1
    labels = [_needed(contraction, subset) for subset in range(everything + 1)]
    best: dict[int, tuple[float, tuple[int, int] | None]] = {
        1 << position: (0.0, None) for position in range(count)
    }
    for subset in sorted(range(1, everything + 1), key=int.bit_count):
        if subset in best:
            continue
        options = (
            (
                best[part][0]
                + best[subset ^ part][0]
                + cost(labels[part], labels[subset ^ part], labels[subset]),
                (part, subset ^ part),
            )
            for part in _halves(subset)
        )
        best[subset] = min(options, key=lambda option: option[0])
    return _positions(best, everything, count)


def _halves(subset: int) -> Iterator[int]:
    """The parts of a subset that contain its lowest member: one of each pair of complements."""
    lowest = subset & -subset
    rest = subset ^ lowest
    part = rest
    while part:
        part = (part - 1) & rest
        yield part | lowest


def _positions(
    best: Mapping[int, tuple[float, tuple[int, int] | None]], subset: int, count: int
) -> Path:
    subsets = [1 << position for position in range(count)]
    path: list[tuple[int, ...]] = []

    def visit(subset: int) -> None:
        parts = best[subset][1]
        if parts is None:
            return
        for part in parts:
            visit(part)
        positions = tuple(sorted(subsets.index(part) for part in parts))
        path.append(positions)
        for part in parts:
            subsets.remove(part)
        subsets.append(subset)

    visit(subset)
    return tuple(path)


def _cheapest_pairs(contraction: Contraction, cost: Cost) -> Path:
    subsets = [1 << position for position in range(len(contraction.inputs))]
    path: list[tuple[int, ...]] = []
    while len(subsets) > 1:
        labels = {subset: _needed(contraction, subset) for subset in subsets}

        def price(pair: tuple[int, int], labels: dict[int, frozenset[str]] = labels) -> float:
            a, b = pair
            return cost(labels[a], labels[b], _needed(contraction, a | b))

        a, b = min(combinations(subsets, 2), key=price)
        path.append((subsets.index(a), subsets.index(b)))
        subsets = [subset for subset in subsets if subset not in (a, b)] + [a | b]
    return tuple(path)


def _needed(contraction: Contraction, subset: int) -> frozenset[str]:
    """The labels of some operands that the result or another operand has too."""
    inside: set[str] = set()
    outside: set[str] = {*contraction.output}
    for position, labels in enumerate(contraction.inputs):
        (inside if subset >> position & 1 else outside).update(labels)
    return frozenset(inside & outside)


def _roofline(sizes: Mapping[str, int], flops_per_element: float) -> Cost:
    """Operations, and elements read and written, counted as the operations that take as long."""

    def volume(labels: Collection[str]) -> int:
        return math.prod(sizes[label] for label in labels)

    def cost(a: Collection[str], b: Collection[str], result: Collection[str]) -> float:
        moved = volume(a) + volume(b) + volume(result)
        return 2.0 * volume({*a, *b}) + flops_per_element * moved

    return cost


def _flops(inputs: Sequence[Labels], output: Labels, sizes: Mapping[str, int]) -> int:
    labels = {x for own in inputs for x in own} | {*output}
    is_summed = not labels <= {*output}
    return math.prod(sizes[label] for label in labels) * (len(inputs) - 1 + is_summed)
