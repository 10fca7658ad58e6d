"""The ops of the dialect `gml_st`, as frozen views.

    tile = TileView.of(op)
    tile.superset, tile.offsets, tile.sizes, tile.strides
    loop = LoopView.of(op)
    for value, subset in zip(loop.terminator.sources, loop.terminator.sets): ...

A view names the operands and attributes of an op, and lives as long as the op does. It alone knows
how the op lays its operands out. Operands of several types have an optional slot each, and
`operandSegmentSizes` counts them:

    loop        lower.., upper.., step.., inputs (slots), outputs (slots)
    for         lower.., upper.., step.., outputs (slots)
    parallel    lower.., upper.., step..
    yield       values (slots), subsets (slots)
    set_yield   sources (slots), destinations (slots), sets (slots)
    tile        superset, offsets.., sizes.., strides..

A loop's results have slots as well, which `resultSegmentSizes` counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError, counted
from linalg_ext.structured.extension import integers
from linalg_ext.structured.mixed import (
    STATIC_OFFSETS,
    STATIC_SIZES,
    STATIC_STRIDES,
    Index,
    mixed,
    segments,
)

NAMESPACE = "gml_st."
QUERIES = ("gml_st.offset", "gml_st.size", "gml_st.stride")
COMBINATIONS = ("gml_st.intersection", "gml_st.convex_union", "gml_st.difference")
DIMS_OPS = ("gml_st.drop_dims", "gml_st.transpose_dims")
LOOPS = ("gml_st.loop", "gml_st.for", "gml_st.parallel")
YIELDS = ("gml_st.yield", "gml_st.set_yield")

INPUT_SLOTS, OUTPUT_SLOTS = 16, 8
"""The greatest number of inputs and of outputs of a loop."""

STATIC_INDICES = "static_indices"
REMAINING_DIMS, PERMUTATION = "remaining_dims", "permutation"
ITERATOR_TYPES, DISTRIBUTION = "iterator_types", "distribution"
ACCUMULATOR_FLAGS = "accumulator_flags"
RESULT_SEGMENTS = "resultSegmentSizes"

PARALLEL, REDUCTION, SEQUENTIAL = "parallel", "reduction", "sequential"
ITERATORS = (PARALLEL, REDUCTION, SEQUENTIAL)
"""The types of iterators: `reduction` and `sequential` mean the same."""


def operand_of(op: ir.Operation, position: int) -> ir.Value:
    """An operand by its place.

    Raises:
        ArityError: the op has fewer operands.
    """
    operands = op.operands
    if position >= len(operands):
        raise ArityError(
            f"the op has {counted(len(operands), 'operand')}", expected=f"{position + 1} or more"
        )
    return operands[position]


def texts(op: ir.Operation, name: str) -> tuple[str, ...]:
    """The texts of an array attribute.

    Raises:
        ArgumentError: it is something else.
    """
    attribute = op.attributes[name]
    if isinstance(attribute, ir.ArrayAttr) and all(isinstance(a, ir.StringAttr) for a in attribute):
        return tuple(ir.StringAttr(text).value for text in attribute)
    raise ArgumentError(f"{name} = {attribute}", expected='texts, as in ["parallel"]')


@dataclass(frozen=True)
class _OperandsView:
    """An op of which each further field is the operand at its place."""

    op: ir.Operation

    @classmethod
    def of(cls, op: ir.Operation) -> Self:
        count = len(cls.__dataclass_fields__) - 1
        return cls(op, *(operand_of(op, position) for position in range(count)))


@dataclass(frozen=True)
class SpaceView:
    """`gml_st.space`: the root, an index space of its own."""

    op: ir.Operation
    sizes: tuple[Index, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> SpaceView:
        """The view of an op."""
        return cls(op, mixed(op, STATIC_SIZES, "size", list(op.operands)))


@dataclass(frozen=True)
class TileView:
    """`gml_st.tile`: a rectangle of a superset, its offsets relative to that."""

    op: ir.Operation
    superset: ir.Value
    offsets: tuple[Index, ...]
    sizes: tuple[Index, ...]
    strides: tuple[Index, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> TileView:
        """The view of an op."""
        superset, offsets, sizes, strides = segments(op, 4)
        if len(superset) != 1:
            raise ArityError(f"the tile has {len(superset)} supersets", expected="one")
        return cls(
            op,
            superset[0],
            mixed(op, STATIC_OFFSETS, "offset", offsets),
            mixed(op, STATIC_SIZES, "size", sizes),
            mixed(op, STATIC_STRIDES, "stride", strides),
        )


@dataclass(frozen=True)
class FilterView(_OperandsView):
    """`gml_st.filter`: the elements of a tensor at the rows of `indices`."""

    source: ir.Value
    indices: ir.Value


@dataclass(frozen=True)
class PointView:
    """`gml_st.point`: one element of a superset."""

    op: ir.Operation
    superset: ir.Value
    indices: tuple[Index, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> PointView:
        """The view of an op."""
        dynamic = list(op.operands)[1:]
        return cls(op, operand_of(op, 0), mixed(op, STATIC_INDICES, "index", dynamic))


@dataclass(frozen=True)
class DimsView:
    """`gml_st.drop_dims` or `transpose_dims`: dimension i of the result is dimension `dims[i]`.

    The set of some dimensions alone is one of a space of its own.
    """

    op: ir.Operation
    set: ir.Value
    dims: tuple[int, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> DimsView:
        """The view of an op."""
        name = REMAINING_DIMS if op.name == "gml_st.drop_dims" else PERMUTATION
        if name not in op.attributes:
            raise ArgumentError(f"{name} is missing", expected="array<i64: ...>")
        return cls(op, operand_of(op, 0), integers(op.attributes[name], name))


@dataclass(frozen=True)
class QueryView(_OperandsView):
    """`gml_st.offset`, `size` or `stride` of a set along a dimension, relative to its root."""

    set: ir.Value
    dim: ir.Value


@dataclass(frozen=True)
class PairView(_OperandsView):
    """An op on two sets of one root: `intersection`, `convex_union`, `difference`, `contains`."""

    first: ir.Value
    second: ir.Value


@dataclass(frozen=True)
class MaterializeView(_OperandsView):
    """`gml_st.materialize`: the elements of a tensor or memref that a set names."""

    source: ir.Value
    set: ir.Value


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
    """`gml_st.yield` or `gml_st.set_yield`: the results of an iteration, and their destinations.

    Attributes:
        sources: the values.
        destinations: of `gml_st.set_yield` the tensor or memref that each goes into; else empty.
        sets: one for each value; none at all where the values are whole tensors.
        accumulated: for each value, whether it is combined with the destination's.
        combiner: the block that combines; None where nothing is accumulated.
    """

    op: ir.Operation
    sources: tuple[ir.Value, ...]
    destinations: tuple[ir.Value, ...]
    sets: tuple[ir.Value, ...]
    accumulated: tuple[bool, ...]
    combiner: ir.Block | None

    @classmethod
    def of(cls, op: ir.Operation) -> YieldView:
        """The view of an op."""
        is_set = op.name == "gml_st.set_yield"
        names = ("source", "destination", "set") if is_set else ("value", "subset")
        groups = segments(op, len(names) * OUTPUT_SLOTS)
        sources, *rest = (
            _slots(op, groups[position * OUTPUT_SLOTS : (position + 1) * OUTPUT_SLOTS], name)
            for position, name in enumerate(names)
        )
        destinations, sets = rest if is_set else ((), rest[0])
        if is_set and not len(sources) == len(destinations) == len(sets):
            raise ArityError(
                f"{counted(len(sources), 'source')} go into "
                f"{counted(len(destinations), 'destination')} at "
                f"{counted(len(sets), 'set')}",
                expected="as many of each",
            )
        combiner = _only_block(op)
        flags = _flags(op, len(sources), combiner)
        return cls(op, sources, destinations, sets, flags, combiner)

    @property
    def accumulators(self) -> tuple[Accumulator | None, ...]:
        """For each value how it is accumulated; None where it replaces the destination's."""
        return _accumulators(self.accumulated, self.combiner)


@dataclass(frozen=True)
class LoopView:
    """`gml_st.loop`, `gml_st.for` or `gml_st.parallel`: a nest of iterators.

    Attributes:
        ins: the inputs of `gml_st.loop`; empty for the others.
        outs: the destinations; empty for `gml_st.parallel`, whose terminator names that.
        iterator_types: `parallel`, `reduction` or `sequential`, one for each induction variable.
        distribution: the units that run the iterators, as `block` or `thread`; empty where it is
            not said.
    """

    op: ir.Operation
    lower: tuple[ir.Value, ...]
    upper: tuple[ir.Value, ...]
    step: tuple[ir.Value, ...]
    body: ir.Block
    ins: tuple[ir.Value, ...]
    outs: tuple[ir.Value, ...]
    iterator_types: tuple[str, ...]
    distribution: tuple[str, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> LoopView:
        """The view of an op."""
        first_out = 3 + INPUT_SLOTS * (op.name == "gml_st.loop")
        groups = segments(op, first_out + OUTPUT_SLOTS * (op.name != "gml_st.parallel"))
        lower, upper, step = (tuple(group) for group in groups[:3])
        if not len(lower) == len(upper) == len(step):
            raise ArityError(
                f"the loop has {counted(len(lower), 'lower bound')}, "
                f"{counted(len(upper), 'upper bound')} and "
                f"{counted(len(step), 'step')}",
                expected="one of each for every iterator",
            )
        if op.name != "gml_st.loop":
            kinds = (SEQUENTIAL if op.name == "gml_st.for" else PARALLEL,) * len(lower)
        elif ITERATOR_TYPES in op.attributes:
            kinds = texts(op, ITERATOR_TYPES)
        else:
            raise ArgumentError(f"{ITERATOR_TYPES} is missing", expected="one for each iterator")
        body = _only_block(op)
        if body is None:
            raise ArgumentError("the body is empty", expected="a block with its terminator")
        is_distributed = op.name != "gml_st.for" and DISTRIBUTION in op.attributes
        return cls(
            op,
            lower,
            upper,
            step,
            body,
            _slots(op, groups[3:first_out], "input"),
            _slots(op, groups[first_out:], "output"),
            kinds,
            texts(op, DISTRIBUTION) if is_distributed else (),
        )

    @property
    def rank(self) -> int:
        """The number of induction variables."""
        return len(self.lower)

    @property
    def bounds(self) -> tuple[tuple[ir.Value, ir.Value, ir.Value], ...]:
        """Lower bound, upper bound and step of each iterator."""
        return tuple(zip(self.lower, self.upper, self.step, strict=True))

    @property
    def ivs(self) -> tuple[ir.Value, ...]:
        """The induction variables."""
        return tuple(self.body.arguments)[: self.rank]

    @property
    def region_ins(self) -> tuple[ir.Value, ...]:
        """The arguments of the body that stand for the inputs."""
        return tuple(self.body.arguments)[self.rank : self.rank + len(self.ins)]

    @property
    def region_outs(self) -> tuple[ir.Value, ...]:
        """The arguments of the body that stand for the outputs."""
        return tuple(self.body.arguments)[self.rank + len(self.ins) :]

    @property
    def last(self) -> ir.Operation:
        """The body's terminator: `gml_st.yield` in a `gml_st.loop`, else `gml_st.set_yield`."""
        name = "gml_st.yield" if self.op.name == "gml_st.loop" else "gml_st.set_yield"
        last = _last_in(self.body)
        if last is None or last.name != name:
            ends = "nothing" if last is None else last.name
            raise ArgumentError(f"the body ends in {ends}", expected=name)
        return last

    @property
    def terminator(self) -> YieldView:
        """The view of the terminator of the body."""
        return YieldView.of(self.last)

    @property
    def destinations(self) -> tuple[ir.Value, ...]:
        """The outputs of the loop; of a parallel one, those that its terminator names."""
        return self.terminator.destinations if self.op.name == "gml_st.parallel" else self.outs

    def yield_destinations(self, terminator: YieldView) -> tuple[ir.Value, ...]:
        """The output of a `gml_st.loop`, as an argument of its body, that each value goes to.

        Values go to the outputs in order: to those that are tensors, or to all of them.

        Raises:
            ArityError: there are more or fewer values.
        """
        tensors = tuple(o for o in self.region_outs if isinstance(o.type, ir.RankedTensorType))
        count = len(terminator.sources)
        if count == len(tensors):
            return tensors
        if terminator.sets and count == len(self.region_outs):
            return self.region_outs
        raise ArityError(
            f"expected number of tensor output args = {len(tensors)} to match the number of yield "
            f"operands = {count}"
        )


def _slots(op: ir.Operation, groups: list[list[ir.Value]], label: str) -> tuple[ir.Value, ...]:
    """The values of optional slots, which are filled from the first one on."""
    counts = [len(group) for group in groups]
    if max(counts, default=0) > 1 or counts != sorted(counts, reverse=True):
        raise ArgumentError(
            f"the slots of its {label}s hold {counts} operands", expected="ones, then zeros"
        )
    return tuple(group[0] for group in groups if group)


def _only_block(op: ir.Operation) -> ir.Block | None:
    if not len(op.regions):
        raise ArityError("the op has 0 regions", expected="1")
    blocks = list(op.regions[0].blocks)
    if len(blocks) > 1:
        raise ArgumentError(f"the region has {len(blocks)} blocks", expected="one")
    return blocks[0] if blocks else None


def _last_in(block: ir.Block) -> ir.Operation | None:
    """The last op of a block; None where it has none. Bodies may be long, and end well mostly."""
    try:
        terminator = ir.InsertionPoint.at_block_terminator(block).ref_operation
    except ValueError:
        operations = list(block.operations)
        return operations[-1].operation if operations else None
    return None if terminator is None else terminator.operation


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
            f"{ACCUMULATOR_FLAGS} has {counted(len(flags), 'flag')} for {counted(count, 'value')}",
            expected="one for each",
        )
    if any(flags) and combiner is None:
        raise ArgumentError(
            f"{ACCUMULATOR_FLAGS} = {attribute}, but the accumulator region is empty",
            hint="combine (new, old) in the region and end it with gml_st.yield",
        )
    return flags


def _accumulators(
    flags: tuple[bool, ...], combiner: ir.Block | None
) -> tuple[Accumulator | None, ...]:
    if combiner is None or not any(flags):
        return (None,) * len(flags)
    arguments = list(combiner.arguments)
    last = _last_in(combiner)
    if last is None or last.name != "gml_st.yield":
        ends = "nothing" if last is None else last.name
        raise ArgumentError(f"the accumulator region ends in {ends}", expected="gml_st.yield")
    values = YieldView.of(last).sources
    count = sum(flags)
    if len(arguments) != 2 * count or len(values) != count:
        raise ArityError(
            f"the accumulator region has {counted(len(arguments), 'argument')} and yields "
            f"{counted(len(values), 'value')} for {counted(count, 'accumulated value')}",
            expected="two arguments, (new, old), and one value for each",
        )
    accumulators = iter(
        Accumulator(arguments[2 * position], arguments[2 * position + 1], values[position])
        for position in range(count)
    )
    return tuple(next(accumulators) if flag else None for flag in flags)
