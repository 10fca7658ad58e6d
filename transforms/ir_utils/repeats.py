"""Stretches of a block that repeat themselves, such as the layers of a model.

Each op has a shape: its name, attributes, types and body, all but the values that it takes from
outside. A stretch repeats itself with a period where each op has the shape of the op one period
later. Runs of a period are then compared whole, with the values that their ops take: `key_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linalg_ext.bindings import ir
from linalg_ext.structured.group import is_within
from linalg_ext.structured.mixed import STATIC_OFFSETS
from linalg_ext.structured.operands import ops_inside

from .walking import copied_on, producer

_REPEATED = frozenset(
    {
        *("arith.constant", "complex.constant", "tensor.empty", "memref.get_global"),
        *("ub.poison", "vector.constant_mask", "vector.step"),
    }
)
"""Ops without operands: a function has a copy of them, instead of being given their value."""

_FILL = "linalg.fill"
"""A constant, where a constant fills an empty tensor."""

_CAN_FAIL = frozenset(
    {"cf.assert", "tensor.extract", "tensor.gather", "tensor.insert", "tensor.scatter"}
)
"""Ops that tell their place where they fail, or become such ops: it is part of their shape."""

_SLICES = frozenset({"tensor.extract_slice", "tensor.insert_slice"})

_MOST_PERIODS = 32
"""The most periods that are tried on a stretch, those first that most ops recur with."""


def is_repeated(value: ir.Value) -> bool:
    """Return whether a function has a copy of a value's producer, instead of the value.

    Large constants that differ from element to element are weights: ops that differ in them alone
    are the same.
    """
    op = producer(value)
    return op is not None and _gives_repeated(op)


def is_init_tensor(value: ir.Value) -> bool:
    """Return whether a value is an empty tensor, or one that a constant fills."""
    op = producer(value)
    return op is not None and op.name in ("tensor.empty", _FILL) and _is_constant(op)


def _gives_repeated(op: Any) -> bool:
    if not _is_constant(op):
        return False
    if op.name == "arith.constant" and isinstance(op.results[0].type, ir.RankedTensorType):
        elements = op.attributes["value"]
        return isinstance(elements, ir.DenseElementsAttr) and elements.is_splat
    return True


def _is_constant(op: Any) -> bool:
    if op.name == _FILL and len(op.results):
        return all(map(is_repeated, op.operands))
    return op.name in _REPEATED and not len(op.operands)


def copy_of(value: ir.Value) -> ir.Value:
    """Return a copy, at the insertion point, of a value that is repeated."""
    op = producer(value)
    result: ir.Value = copied_on(op, list(map(copy_of, op.operands))).results[0]
    return result


class Line:
    """The ops of a block in order, with the shape of each and the values that it takes.

    Attributes:
        ops: the ops, without constants.
        shapes: a number for each op; equal numbers are equal shapes.
        taken: for each op the values that it, or its body, takes from outside of it.
        opened: for each op the numbers that its shape lacks.
    """

    def __init__(self, ops: Sequence[Any], *, open_numbers: bool = False) -> None:
        """Read the shapes of some ops of a block.

        Args:
            ops: in order.
            open_numbers: shapes lack the offsets of slices of tensors, and scalar constants in
                bodies.
        """
        self.ops = [op for op in ops if not _is_constant(op)]
        self.taken: list[list[Any]] = [[] for _ in self.ops]
        self.opened: list[list[OpenNumber]] = [[] for _ in self.ops]
        self._numbers: dict[Hashable, int] = {}
        self.shapes = [
            self._number(_shape(op, values, {}, opened if open_numbers else None))
            for op, values, opened in zip(self.ops, self.taken, self.opened, strict=True)
        ]
        self._given: dict[Any, tuple[int, int]] = {}
        """The place of the op that gives a value, and the value's number among the results."""
        for position, op in enumerate(self.ops):
            for number, value in enumerate(op.results):
                self._given[value] = position, number
        self._constants: dict[Any, int | None] = {}

    def _number(self, shape: Hashable) -> int:
        return self._numbers.setdefault(shape, len(self._numbers))

    def place_of(self, value: Any) -> int | None:
        """Return the position of the op that gives a value; None for any other value."""
        origin = self._given.get(value)
        return None if origin is None else origin[0]

    def key_of(self, run: Run) -> Hashable:
        """Return all that a run is, but for the names of the values that it takes from outside.

        Runs with equal keys are equal: the same ops, attributes, types and constants, the same
        values among their own, and the same equalities among those from outside.
        """
        outside: dict[Any, int] = {}

        def name(value: Any) -> Hashable:
            origin = self._given.get(value)
            if origin is not None and run.start <= origin[0] < run.stop:
                return "own", origin[0] - run.start, origin[1]
            constant = None if origin is not None else self._constant(value)
            if constant is not None:
                return "constant", constant
            return "outside", outside.setdefault(value, len(outside))

        return tuple(
            (self.shapes[position], *map(name, self.taken[position]))
            for position in range(run.start, run.stop)
        )

    def _constant(self, value: Any) -> int | None:
        """Return the number of a value that is repeated, equal for equal ones; else None."""
        if value not in self._constants:
            op = producer(value)
            shape = self._shape_of_constant(op) if op is not None and _gives_repeated(op) else None
            self._constants[value] = None if shape is None else self._number(shape)
        return self._constants[value]

    def _shape_of_constant(self, op: Any) -> Hashable:
        """Return all that the op of a repeated value is; a fill has the body of its name."""
        attributes = tuple(op.attributes.items())
        return op.name, attributes, *op.results.types, *map(self._constant, op.operands)

    def links(self, run: Run) -> tuple[Link, ...]:
        """Return for each value that a run takes where it is from, its step before included."""
        before = run.start - (run.stop - run.start)

        def link(value: Any) -> Link:
            origin = self._given.get(value)
            if origin is not None and run.start <= origin[0] < run.stop:
                return FromStep(origin[0] - run.start, origin[1])
            if origin is not None and before <= origin[0] < run.start:
                return FromBefore(origin[0] - before, origin[1])
            constant = None if origin is not None else self._constant(value)
            return FromOutside(value if constant is None else constant)

        return tuple(
            [link(value) for operands in self.taken[run.start : run.stop] for value in operands]
        )

    def outside(self, run: Run) -> list[Any]:
        """Return the values that a run takes from outside, constants included, in order."""
        operands = dict.fromkeys(chain.from_iterable(self.taken[run.start : run.stop]))
        return [value for value in operands if not self._is_own(value, run)]

    def _is_own(self, value: Any, run: Run) -> bool:
        position = self.place_of(value)
        return position is not None and run.start <= position < run.stop


@dataclass(frozen=True, order=True)
class FromStep:
    """A result of an op of the same step: the place of the op in the step, and which result."""

    place: int
    number: int


@dataclass(frozen=True, order=True)
class FromBefore:
    """A result of an op of the step before."""

    place: int
    number: int


@dataclass(frozen=True)
class FromOutside:
    """A value from before all steps, or the number of a constant."""

    value: Any


Link: TypeAlias = "FromStep | FromBefore | FromOutside"
"""The origin of a value that a step takes."""


class OpenNumber(NamedTuple):
    """A number that a shape lacks.

    Attributes:
        op: a slice, or a constant.
        axis: of the offset that it is; None for the value of a constant.
        value: an integer, or the attribute of a constant.
    """

    op: Any
    axis: int | None
    value: Any


class Run(NamedTuple):
    """The ops of a line from `start` to before `stop`."""

    start: int
    stop: int


def shape_of(op: Any) -> Hashable:
    """Return all that an op is, but for the values that it takes from outside."""
    return _shape(op, [], {})


def _shape(
    op: Any, outside: list[Any], own: dict[Any, int], opened: list[OpenNumber] | None = None
) -> Hashable:
    """Return an op without the values that it takes from outside, which are added to `outside`.

    Args:
        op: whose shape it is.
        outside: receives the values from outside.
        own: numbers of the values that are defined in the op around it.
        opened: receives the numbers that are open; None where none is.
    """
    operands: list[Hashable] = []
    for value in op.operands:
        number = own.get(value) if own else None
        if number is None:
            outside.append(value)
            operands.append(value.type)
        else:
            operands.append(number)
    name = op.name
    attributes = tuple(op.attributes.items())
    if opened is not None and name in _SLICES:
        offsets = list(op.attributes[STATIC_OFFSETS])
        opened += [OpenNumber(op, axis, offset) for axis, offset in enumerate(offsets)]
        gap = ir.ShapedType.get_dynamic_size()
        attributes = tuple(item for item in attributes if item[0] != STATIC_OFFSETS)
        operands += [offset == gap for offset in offsets]
    elif opened is not None and name == "arith.constant" and own and not _is_shaped(op):
        opened.append(OpenNumber(op, None, op.attributes["value"]))
        attributes = ()
    return (
        name,
        str(op.location) if name in _CAN_FAIL else None,
        attributes,
        tuple(operands),
        tuple(op.results.types),
        tuple([_region(region, outside, own, opened) for region in op.regions]),
    )


def _is_shaped(op: Any) -> bool:
    return isinstance(op.results[0].type, ir.ShapedType)


def _region(
    region: Any, outside: list[Any], own: dict[Any, int], opened: list[OpenNumber] | None
) -> Hashable:
    blocks = list(region)
    if len(blocks) == 1:
        return _block(blocks[0], outside, own, blocks, opened)
    for argument in (argument for block in blocks for argument in block.arguments):
        own[argument] = len(own)
    return tuple([_block(block, outside, own, blocks, opened) for block in blocks])


def _block(
    block: Any,
    outside: list[Any],
    own: dict[Any, int],
    blocks: list[Any],
    opened: list[OpenNumber] | None,
) -> Hashable:
    types = []
    for argument in block.arguments:
        own.setdefault(argument, len(own))
        types.append(argument.type)
    shapes: list[Hashable] = []
    for op_view in block:
        op = op_view.operation
        shapes.append(_shape(op, outside, own, opened))
        if len(blocks) > 1:
            shapes += [blocks.index(to) for to in op.successors]
        for result in op.results:
            own[result] = len(own)
    return tuple(types), tuple(shapes)


def outside_operands(op: Any) -> list[tuple[Any, int]]:
    """Return where an op takes values from outside: the op in it and the number of the operand.

    They are in the order of `Line.taken`.
    """
    return [
        (inner, at)
        for inner in (op, *ops_inside(op, pre_order=True))
        for at, value in enumerate(inner.operands)
        if not is_within(value, op)
    ]


def may_repeat(ops: Sequence[Any], least: int, times: int = 2) -> bool:
    """Return whether names of ops recur that often: cheap to ask before shapes are made.

    Args:
        ops: of a block.
        least: the number of ops of a run, constants not counted.
        times: the number of runs.
    """
    numbers: dict[str, int] = {}
    names = (name for name in (op.name for op in ops) if name not in _REPEATED)
    line = np.array([numbers.setdefault(name, len(numbers)) for name in names])
    return any(
        np.diff(_edges(line[:-period] == line[period:])).max(initial=0) >= (times - 1) * period
        for period in range(least, len(line) // times + 1)
    )


def repeated_runs(line: Line, is_seam: Callable[[int], bool], *, least: int) -> Iterator[list[Run]]:
    """Yield groups of equal runs, two or more each, that begin and end at seams.

    Args:
        line: the ops.
        is_seam: whether the line may be cut before the op at a position.
        least: the number of ops of a run that is worth a call.
    """
    waiting = [Run(0, len(line.ops))]
    while waiting:
        part = waiting.pop()
        runs = most_repeated(line, part, is_seam, least)
        if not runs:
            continue
        waiting += [Run(part.start, runs[0].start), Run(runs[-1].stop, part.stop)]
        groups: dict[Hashable, list[Run]] = {}
        for run in runs:
            groups.setdefault(line.key_of(run), []).append(run)
        yield from (group for group in groups.values() if len(group) > 1)


def most_repeated(line: Line, part: Run, is_seam: Callable[[int], bool], least: int) -> list[Run]:
    """Return the runs of the period that saves the most ops; none where nothing is repeated."""
    shapes = np.array(line.shapes[part.start : part.stop])
    best: list[Run] = []
    saved = 0
    for period in _periods(shapes, least):
        for start, stop in _edges(shapes[:-period] == shapes[period:]).tolist():
            if stop - start <= saved:
                continue
            runs = _runs(part.start + start, part.start + stop + period, period, is_seam)
            if (len(runs) - 1) * period > saved:
                best, saved = runs, (len(runs) - 1) * period
    return best


def _periods(shapes: NDArray[np.int_], least: int) -> list[int]:
    """Return the distances at which shapes recur, the commonest first, or multiples of them."""
    last: dict[int, int] = {}
    distances: Counter[int] = Counter()
    for position, shape in enumerate(shapes.tolist()):
        if shape in last:
            distances[position - last[shape]] += 1
        last[shape] = position
    common = [distance * -(-least // distance) for distance, _ in distances.most_common()]
    return list(dict.fromkeys(common))[:_MOST_PERIODS]


def _edges(equal: NDArray[np.bool_]) -> NDArray[np.int_]:
    """Return the start and the stop of each stretch of True, a row each."""
    framed = np.zeros(len(equal) + 2, np.bool_)
    framed[1:-1] = equal
    return np.flatnonzero(framed[1:] != framed[:-1]).reshape(-1, 2)


def _runs(start: int, stop: int, period: int, is_seam: Callable[[int], bool]) -> list[Run]:
    """Cut a stretch into runs of a period, where the most of them begin and end at seams."""
    best: list[Run] = []
    for first in range(start, min(start + period, stop - 2 * period + 1)):
        if not is_seam(first + period):
            continue
        cuts = range(first, stop + 1, period)
        runs = [
            Run(cut, cut + period) for cut in cuts[:-1] if is_seam(cut) and is_seam(cut + period)
        ]
        if len(runs) > len(best):
            best = runs
    return best
