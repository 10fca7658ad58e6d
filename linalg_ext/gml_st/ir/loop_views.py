"""The loops of the dialect `gml_st` and what ends their bodies, as frozen views.

loop = LoopView.of(op)
for value, subset in zip(loop.terminator.values, loop.terminator.subsets): ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError
from linalg_ext.gml_st.ir.op_views import (
    ACCUMULATOR_FLAGS,
    DISTRIBUTION,
    INPUT_SLOTS,
    ITERATOR_TYPES,
    OUTPUT_SLOTS,
    SEQUENTIAL,
    texts,
)
from linalg_ext.structured.mixed import segments


@dataclass(frozen=True)
class Accumulator:
    """The combination of a yielded value with the old value of its destination.

    Attributes:
        new, old: the arguments of the region that stand for the two.
        combined: the value that the region yields for them.
    """

    new: ir.Value
    old: ir.Value
    combined: ir.Value


@dataclass(frozen=True)
class YieldView:
    """`gml_st.yield`: what an iteration of a loop gives, and for which subsets of the outputs.

    Attributes:
        subsets: one for each value; none at all where the values are whole tensors.
        accumulated: for each value, whether it is combined with what is there.
        combiner: the block that combines; None where nothing is accumulated.
    """

    op: ir.Operation
    values: tuple[ir.Value, ...]
    subsets: tuple[ir.Value, ...]
    accumulated: tuple[bool, ...]
    combiner: ir.Block | None

    @classmethod
    def of(cls, op: ir.Operation) -> YieldView:
        """The view of an op."""
        groups = segments(op, 2 * OUTPUT_SLOTS)
        values, subsets = (
            _slots(op, groups[at : at + OUTPUT_SLOTS], what)
            for at, what in ((0, "value"), (OUTPUT_SLOTS, "subset"))
        )
        combiner = _only_block(op, 0)
        flags = _flags(op, len(values), combiner)
        return cls(op, values, subsets, flags, combiner)

    @property
    def sources(self) -> tuple[ir.Value, ...]:
        """The values, called as those of `SetYieldView`."""
        return self.values

    @property
    def sets(self) -> tuple[ir.Value, ...]:
        """The subsets, called as those of `SetYieldView`."""
        return self.subsets

    @property
    def accumulators(self) -> tuple[Accumulator | None, ...]:
        """For each value how it is accumulated; None where it replaces what is there."""
        return _accumulators(self.op, self.accumulated, self.combiner)


@dataclass(frozen=True)
class SetYieldView:
    """`gml_st.set_yield`: what an iteration gives, to which sets of which tensors or memrefs.

    Attributes:
        accumulated, combiner: as of `YieldView`.
    """

    op: ir.Operation
    sources: tuple[ir.Value, ...]
    destinations: tuple[ir.Value, ...]
    sets: tuple[ir.Value, ...]
    accumulated: tuple[bool, ...]
    combiner: ir.Block | None

    @classmethod
    def of(cls, op: ir.Operation) -> SetYieldView:
        """The view of an op."""
        groups = segments(op, 3 * OUTPUT_SLOTS)
        sources, destinations, sets = (
            _slots(op, groups[at * OUTPUT_SLOTS : (at + 1) * OUTPUT_SLOTS], what)
            for at, what in enumerate(("source", "destination", "set"))
        )
        if not len(sources) == len(destinations) == len(sets):
            raise ArityError(
                f"{len(sources)} source(s) go into {len(destinations)} destination(s) at "
                f"{len(sets)} set(s)",
                expected="as many of each",
            )
        combiner = _only_block(op, 0)
        flags = _flags(op, len(sources), combiner)
        return cls(op, sources, destinations, sets, flags, combiner)

    @property
    def accumulators(self) -> tuple[Accumulator | None, ...]:
        """For each source how it is accumulated; None where it replaces what is there."""
        return _accumulators(self.op, self.accumulated, self.combiner)


@dataclass(frozen=True)
class _LoopBounds:
    op: ir.Operation
    lower: tuple[ir.Value, ...]
    upper: tuple[ir.Value, ...]
    step: tuple[ir.Value, ...]
    body: ir.Block

    @property
    def rank(self) -> int:
        """The number of induction variables."""
        return len(self.lower)

    @property
    def ivs(self) -> tuple[ir.Value, ...]:
        """The induction variables."""
        return tuple(self.body.arguments)[: self.rank]

    @property
    def last(self) -> ir.Operation:
        """The body's terminator: `gml_st.yield` in a `gml_st.loop`, else `gml_st.set_yield`."""
        name = "gml_st.yield" if self.op.name == "gml_st.loop" else "gml_st.set_yield"
        last = _last_in(self.body)
        if last is None or last.name != name:
            ends = "nothing" if last is None else last.name
            raise ArgumentError(f"the body ends in {ends}", expected=name)
        return last


@dataclass(frozen=True)
class LoopView(_LoopBounds):
    """`gml_st.loop`: a nest over parallel and sequential iterators.

    Attributes:
        iterator_types: `parallel`, `reduction` or `sequential`, one for each induction variable.
        distribution: what runs the iterators, as `block` or `thread`; empty where it is not said.
    """

    ins: tuple[ir.Value, ...]
    outs: tuple[ir.Value, ...]
    iterator_types: tuple[str, ...]
    distribution: tuple[str, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> LoopView:
        """The view of an op."""
        groups = segments(op, 3 + INPUT_SLOTS + OUTPUT_SLOTS)
        lower, upper, step = _bounds(groups)
        if ITERATOR_TYPES not in op.attributes:
            raise ArgumentError(f"{ITERATOR_TYPES} is missing", expected="one for each iterator")
        return cls(
            op,
            lower,
            upper,
            step,
            _body(op),
            _slots(op, groups[3 : 3 + INPUT_SLOTS], "input"),
            _slots(op, groups[3 + INPUT_SLOTS :], "output"),
            texts(op, ITERATOR_TYPES),
            texts(op, DISTRIBUTION) if DISTRIBUTION in op.attributes else (),
        )

    @property
    def region_ins(self) -> tuple[ir.Value, ...]:
        """The arguments of the body that stand for the inputs."""
        return tuple(self.body.arguments)[self.rank : self.rank + len(self.ins)]

    @property
    def region_outs(self) -> tuple[ir.Value, ...]:
        """The arguments of the body that stand for the outputs."""
        return tuple(self.body.arguments)[self.rank + len(self.ins) :]

    @property
    def terminator(self) -> YieldView:
        """The terminator of the body."""
        return YieldView.of(self.last)


@dataclass(frozen=True)
class ForView(_LoopBounds):
    """`gml_st.for`: a sequential nest whose outputs are carried from iteration to iteration."""

    outs: tuple[ir.Value, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> ForView:
        """The view of an op."""
        groups = segments(op, 3 + OUTPUT_SLOTS)
        lower, upper, step = _bounds(groups)
        return cls(op, lower, upper, step, _body(op), _slots(op, groups[3:], "output"))

    @property
    def iterator_types(self) -> tuple[str, ...]:
        """All sequential."""
        return (SEQUENTIAL,) * self.rank

    @property
    def region_outs(self) -> tuple[ir.Value, ...]:
        """The arguments of the body that stand for the outputs."""
        return tuple(self.body.arguments)[self.rank :]

    @property
    def terminator(self) -> SetYieldView:
        """The terminator of the body."""
        return SetYieldView.of(self.last)


@dataclass(frozen=True)
class ParallelView(_LoopBounds):
    """`gml_st.parallel`: a nest in no order, writing to what its `gml_st.set_yield` names.

    Attributes:
        distribution: as of `LoopView`.
    """

    distribution: tuple[str, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> ParallelView:
        """The view of an op."""
        lower, upper, step = _bounds(segments(op, 3))
        distribution = texts(op, DISTRIBUTION) if DISTRIBUTION in op.attributes else ()
        return cls(op, lower, upper, step, _body(op), distribution)

    @property
    def terminator(self) -> SetYieldView:
        """The terminator of the body."""
        return SetYieldView.of(self.last)


AnyLoop: TypeAlias = LoopView | ForView | ParallelView

LOOP_VIEWS: Mapping[str, Callable[[ir.Operation], AnyLoop]] = MappingProxyType(
    {"gml_st.loop": LoopView.of, "gml_st.for": ForView.of, "gml_st.parallel": ParallelView.of}
)
"""The view of each kind of loop, by the name of the op."""


def _bounds(
    groups: list[list[ir.Value]],
) -> tuple[tuple[ir.Value, ...], tuple[ir.Value, ...], tuple[ir.Value, ...]]:
    lower, upper, step = (tuple(group) for group in groups[:3])
    if not len(lower) == len(upper) == len(step):
        raise ArityError(
            f"the loop has {len(lower)} lower bound(s), {len(upper)} upper bound(s) and "
            f"{len(step)} step(s)",
            expected="one of each for every iterator",
        )
    return lower, upper, step


def _slots(op: ir.Operation, groups: list[list[ir.Value]], what: str) -> tuple[ir.Value, ...]:
    """The values of optional slots, which are filled from the first one on."""
    given = [len(group) for group in groups]
    if max(given, default=0) > 1 or given != sorted(given, reverse=True):
        raise ArgumentError(
            f"the slots of its {what}s hold {given} operands", expected="ones, then zeros"
        )
    return tuple(group[0] for group in groups if group)


def _body(op: ir.Operation) -> ir.Block:
    block = _only_block(op, 0)
    if block is None:
        raise ArgumentError("the body is empty", expected="a block with its terminator")
    return block


def _only_block(op: ir.Operation, region: int) -> ir.Block | None:
    if region >= len(op.regions):
        raise ArityError(f"the op has {len(op.regions)} region(s)", expected=f"{region + 1}")
    blocks = list(op.regions[region].blocks)
    if len(blocks) > 1:
        raise ArgumentError(f"the region has {len(blocks)} blocks", expected="one")
    return blocks[0] if blocks else None


def _last_in(block: ir.Block) -> ir.Operation | None:
    """The last op of a block; None where it has none. Bodies may be long, and end well mostly."""
    try:
        found = ir.InsertionPoint.at_block_terminator(block).ref_operation
    except ValueError:
        operations = list(block.operations)
        return operations[-1].operation if operations else None
    return None if found is None else found.operation


def _flags(op: ir.Operation, count: int, combiner: ir.Block | None) -> tuple[bool, ...]:
    """Return for each value whether it is accumulated.

    Without flags, all are accumulated if there is a region.
    """
    if ACCUMULATOR_FLAGS not in op.attributes:
        return (combiner is not None,) * count
    attribute = op.attributes[ACCUMULATOR_FLAGS]
    if not isinstance(attribute, ir.DenseBoolArrayAttr):
        raise ArgumentError(f"{ACCUMULATOR_FLAGS} = {attribute}", expected="array<i1: ...>")
    flags = tuple(bool(flag) for flag in attribute)
    if len(flags) != count:
        raise ArityError(
            f"{ACCUMULATOR_FLAGS} has {len(flags)} flag(s) for {count} value(s)",
            expected="one for each",
        )
    if any(flags) and combiner is None:
        raise ArgumentError(
            f"{ACCUMULATOR_FLAGS} = {attribute}, but the accumulator region is empty",
            hint="combine (new, old) in the region and end it with gml_st.yield",
        )
    return flags


def _accumulators(
    op: ir.Operation, flags: tuple[bool, ...], combiner: ir.Block | None
) -> tuple[Accumulator | None, ...]:
    if combiner is None or not any(flags):
        return (None,) * len(flags)
    arguments = list(combiner.arguments)
    last = _last_in(combiner)
    if last is None or last.name != "gml_st.yield":
        ends = "nothing" if last is None else last.name
        raise ArgumentError(f"the accumulator region ends in {ends}", expected="gml_st.yield")
    values = YieldView.of(last).values
    count = sum(flags)
    if len(arguments) != 2 * count or len(values) != count:
        raise ArityError(
            f"the accumulator region has {len(arguments)} argument(s) and yields {len(values)} "
            f"value(s) for {count} accumulated value(s)",
            expected="two arguments, (new, old), and one value for each",
        )
    found = iter(
        Accumulator(arguments[2 * at], arguments[2 * at + 1], values[at]) for at in range(count)
    )
    return tuple(next(found) if flag else None for flag in flags)
