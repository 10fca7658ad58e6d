"""Producers move into the loops that read parts of their results.

Where a body takes a part of a result, the op is built on that part instead, and takes parts of its
own operands: these may be fused in turn.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.ir.op_views import LOOPS, LoopView, MaterializeView
from linalg_ext.dialects.gml_st.ir.sets import is_defined_inside, is_inside
from linalg_ext.dialects.gml_st.rules import Rule, Unserved, rule_of
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import Report
from linalg_ext.structured.operands import producer as producer_of
from linalg_ext.structured.payload import reaches_outside_memory
from linalg_ext.structured.sizes import as_number, extract_slice, sizes_of
from linalg_ext.symbolic.index_sets import Point, Tile, as_tile, compose
from linalg_ext.symbolic.integers import Number, is_eq, minimum, symbols_of, upper
from linalg_ext.transforms.ir_utils.walking import ancestor_in, is_unused

from ._loops import cast, has_room, with_output, without_unused_inputs
from .cleanup import erase_dead, erase_materialize
from .op_tiling import Choice, Parts, element_of, empty, part_of


class Fusion:
    """Fuses into one loop, its own body; loops inside it are for later.

    Producers come one after the other, the last of the program first: all readers of a part of one
    are known when it comes.

    Args:
        loop: a loop over subsets. It may be replaced: `loop` is the one that stands.
        choice: the producers to fuse.
        report: counts the fused ones, and has the reasons for the others.
    """

    def __init__(self, loop: ir.Operation, choice: Choice, report: Report) -> None:
        self.loop = loop
        self.choice = choice
        self.report = report
        self._worklist = Worklist(LoopView.of(loop), choice, report)
        # Ops that take parts, built since the worklist was read.
        self._unread: list[ir.Operation] = []

    def run(self) -> None:
        """Fuse until nothing is left that may be."""
        while (candidate := self._worklist.pop()) is not None:
            producer, reads = candidate
            name = producer.name
            try:
                if name == "gml_st.materialize":
                    self._take_from_further_out(producer, reads)
                else:
                    self._fuse(producer, reads)
            except Unserved as error:
                self.report.leave(name, error.reason)
                self._worklist.leave(producer)
            self._worklist.read(self._view, self._unread)
            self._unread.clear()
        self._start_from_nothing()

    @property
    def _view(self) -> LoopView:
        return LoopView.of(self.loop)

    def _fuse(self, producer: ir.Operation, reads: list[PartRead]) -> None:
        """Build a producer on each part that is taken of it.

        Raises:
            Unserved: a part has no exact answer, or it does not pay. Then nothing has changed.
        """
        rule, name = rule_of(producer), producer.name
        groups: dict[Tile, list[PartRead]] = {}
        for read in reads:
            tile = rule.part_for_result(as_tile(read.part), read.number)
            groups.setdefault(tile, []).append(read)
        if self.choice.is_greedy:
            self._check_cost(producer, rule, reads, len(groups))
        hull = self._hull(producer, rule, reads)
        if hull is not None:
            groups = {rule.part_for_result(hull, 0): reads}
        shared = self._shareable(producer, rule, reads)
        self.report.matched[name] += 1
        values = [self._build(producer, rule, tile, group, hull) for tile, group in groups.items()]
        if shared is not None:
            self._share(producer, rule, shared, values[0][0])
        self.report.changed[name] += 1
        self._worklist.is_fused(producer)
        if self.loop.name == "gml_st.loop":
            # An unused input would keep the producer, and all before it.
            self.loop = without_unused_inputs(self.loop)
        if any(True for result in producer.results for _ in result.uses):
            self._worklist.leave(producer)
        erase_dead(producer, self._worklist.forget)

    def _hull(self, producer: ir.Operation, rule: Rule, reads: list[PartRead]) -> Tile | None:
        """Return the part of a producer that holds all read parts, if computing it once pays."""
        is_computed = producer.name.startswith("linalg.") and producer.name != "linalg.fill"
        if not self.choice.is_greedy or not rule.is_cheap or not is_computed:
            return None
        return _hull_of([read.part for read in reads]) if len(producer.results) == 1 else None

    def _build(
        self,
        producer: ir.Operation,
        rule: Rule,
        tile: Tile,
        group: list[PartRead],
        hull: Tile | None,
    ) -> list[ir.Value]:
        """Build a part of a producer before the first materialize that reads it."""
        first = group[0].op
        parts, operands = Parts(self._unread), list(producer.operands)

        def take(position: int, part: Tile | Point) -> ir.Value:
            return parts.take(operands[position], part)

        with producer.location, ir.InsertionPoint(first):
            scalars = None
            if all(isinstance(read.part, Point) for read in group):
                is_point = all(size == 1 for size in tile.sizes)
                scalars = rule.build_element(Point(tile.offsets), take) if is_point else None
            values = scalars or rule.build(tile, take)
        for read in group:
            with read.op.location, ir.InsertionPoint(read.op):
                value = values[read.number]
                if hull is not None:
                    value = extract_slice(value, _in_hull(read.part, hull))
                if scalars is None and isinstance(read.part, Point):
                    value = element_of(value)
                elif scalars is None:
                    value = cast(value, read.op.results[0].type)
            read.op.results[0].replace_all_uses_with(value)
            erase_materialize(read.op)
        return values

    def _check_cost(
        self, producer: ir.Operation, rule: Rule, reads: list[PartRead], parts: int
    ) -> None:
        """Raise `Unserved` where fusion would compute elements more often than is worth it."""
        view = self._view
        reads_nothing = not any(
            tile is not None
            for position, tile in enumerate(rule.operand_parts(rule.domain.all))
            if position not in rule.destinations
        )
        if reads_nothing:
            return
        moving = moves(view)
        moved = [depends_on(view, read.part) & moving for read in reads]
        if moving and not all(moved):
            raise Unserved("the loop needs the same part of it in every iteration")
        if rule.is_cheap:
            return
        if any(iterators != moving for iterators in moved):
            raise Unserved(
                "the sums of the producer would be computed again in iterations that share them"
            )
        if parts > 1:
            raise Unserved(
                "several parts of the producer are needed, and sums are not computed twice"
            )
        if used_outside(producer, view.body) and not self._can_be_shared(producer, reads[0].part):
            raise Unserved("the producer has another user, and sums are not computed twice")

    def _take_from_further_out(self, outer: ir.Operation, reads: list[PartRead]) -> None:
        """Materialize parts of a part from the whole."""
        view = MaterializeView.of(outer)
        for read in reads:
            with read.op.location, ir.InsertionPoint(read.op):
                whole = part_of(view.set)
                if not isinstance(whole, Tile):
                    raise Unserved("a part of an element")
                try:
                    inner = _within(read.part, whole)
                except ArgumentError as error:
                    raise Unserved(error.what) from None
                part = Parts(self._unread).take(view.source, inner)
                value = cast(part, read.op.results[0].type)
            read.op.results[0].replace_all_uses_with(value)
            erase_materialize(read.op)
        if not is_unused(outer.results[0]):
            self._worklist.leave(outer)
        erase_dead(outer, self._worklist.forget)

    def _can_be_shared(self, producer: ir.Operation, part: Tile | Point) -> bool:
        """Return whether the loop computes all of a producer's one result, each part once.

        All users outside the loop must come after it.
        """
        view = self._view
        if len(producer.results) != 1 or not isinstance(part, Tile) or not has_room(self.loop):
            return False
        reached = covered_by(view, part, producer.results[0])
        if reached is None or not reached >= moves(view):
            return False
        return all(
            comes_after(use.owner.operation, self.loop)
            for use in producer.results[0].uses
            if not is_inside(use.owner.operation.block, view.body)
        )

    def _shareable(self, producer: ir.Operation, rule: Rule, reads: list[PartRead]) -> Tile | None:
        """Return the values that the loop yields for outside users; None if the producer stays."""
        part = reads[0].part
        if not self.choice.is_greedy or rule.is_cheap or not isinstance(part, Tile):
            return None
        if not used_outside(producer, self._view.body):
            return None
        return part if self._can_be_shared(producer, part) else None

    def _share(self, producer: ir.Operation, rule: Rule, part: Tile, value: ir.Value) -> None:
        """Let the loop give all of a producer too, for its users outside."""
        result = producer.results[0]
        with self.loop.location, ir.InsertionPoint(self.loop):
            start = cast(empty(rule.result_sizes(), result.type), result.type)
        with self.loop.location, ir.InsertionPoint(self._view.terminator.op):
            set_ = Parts().set(start, part)
        body = self._view.body
        outside = [
            (use.owner.operation, use.operand_number)
            for use in result.uses
            if not is_inside(use.owner.operation.block, body) and use.owner.operation != self.loop
        ]
        self.loop = with_output(self.loop, start, value, set_)
        shared = self.loop.results[len(self.loop.results) - 1]
        for user, position in outside:
            user.operands[position] = shared

    def _start_from_nothing(self) -> None:
        """Let outputs that the loop overwrites begin as empty tensors."""
        view = self._view
        terminator = view.terminator
        sets = terminator.sets
        if len(sets) != len(terminator.accumulated):
            return
        for number, (set_, accumulated) in enumerate(
            zip(sets, terminator.accumulated, strict=True)
        ):
            if not accumulated:
                self._start_one_from_nothing(number, set_)

    def _start_one_from_nothing(self, number: int, set_: ir.Value) -> None:
        view = self._view
        if view.outs:
            outer, inner = view.outs[number], view.region_outs[number]
        else:
            outer = inner = view.terminator.destinations[number]
        producer = producer_of(outer)
        if producer is None or producer.name in ("tensor.empty", *LOOPS):
            return
        if not isinstance(outer.type, ir.RankedTensorType):
            return
        try:
            rule = rule_of(producer)
            with self.loop.location, ir.InsertionPoint(view.terminator.op):
                part = part_of(set_)
        except Unserved:
            return
        readers = [
            use.owner.operation
            for use in inner.uses
            if use.owner.operation.name == "gml_st.materialize"
            and is_inside(use.owner.operation.block, view.body)
        ]
        if readers or covered_by(view, part, outer) is None:
            return
        with self.loop.location, ir.InsertionPoint(self.loop):
            sizes = rule.result_sizes(ir.OpResult(outer).result_number)
            start = cast(empty(sizes, outer.type), outer.type)
        uses = [
            (use.owner.operation, use.operand_number)
            for use in outer.uses
            if use.owner.operation == self.loop or is_inside(use.owner.operation.block, view.body)
        ]
        for user, position in uses:
            user.operands[position] = start
        erase_dead(producer)


def _within(part: Tile | Point, whole: Tile) -> Tile | Point:
    if isinstance(part, Tile):
        return compose(part, whole)
    return compose(part, whole)


def loops_in(root: ir.Operation) -> list[ir.Operation]:
    """Return the loops over subsets in the regions of an op that are not in one another."""
    loops: list[ir.Operation] = []
    for region in root.regions:
        for block in region.blocks:
            for op_view in block.operations:
                op = op_view.operation
                loops += [op] if op.name in LOOPS else loops_in(op)
    return loops


def _hull_of(parts: Sequence[Tile | Point]) -> Tile | None:
    """Return the smallest tile that holds tiles which overlap; None where they may not, or are one.

    The part of a stencil that the next stencil reads is one tile, shifted by an element this way
    and
    that: computed once with a rim, it does for all of them.
    """
    tiles = [part for part in parts if isinstance(part, Tile)]
    if len(tiles) < len(parts) or len(set(tiles)) < 2:
        return None
    first = tiles[0]
    offsets, sizes = [], []
    for dim in range(first.rank):
        span = _span(tiles, dim)
        if span is None:
            return None
        low, high = span
        offsets.append(first.offset(dim) + low)
        sizes.append(first.size(dim) + high - low)
    return Tile(offsets, sizes)


def _span(tiles: Sequence[Tile], dim: int) -> tuple[int, int] | None:
    """Return the offsets of the first begin and the last end of tiles from those of the first tile.

    The result is None where they are unknown, or one tile begins behind the end of another.
    """
    begin, end = (tiles[0].offset(dim), tiles[0].offset(dim) + tiles[0].size(dim))
    begins = [tile.offset(dim) - begin for tile in tiles]
    ends = [tile.offset(dim) + tile.size(dim) - end for tile in tiles]
    shifts = [shift for shift in begins if isinstance(shift, int)]
    grown = [growth for growth in ends if isinstance(growth, int)]
    if len(shifts) < len(tiles) or len(grown) < len(tiles):
        return None
    if any(is_eq(tile.stride(dim), 1) is not True for tile in tiles):
        return None
    length = upper(tiles[0].size(dim))
    spread = max(shifts) - min(shifts)
    if spread and (length is None or spread >= length):
        return None
    return min(shifts), max(grown)


def _in_hull(part: Tile | Point, hull: Tile) -> Tile:
    if isinstance(part, Point):
        raise AssertionError("a hull is of tiles")
    offsets = [offset - origin for offset, origin in zip(part.offsets, hull.offsets, strict=True)]
    return Tile(offsets, part.sizes)


@dataclass(frozen=True)
class PartRead:
    """A part of a producer that the body of a loop takes.

    Attributes:
        op: the materialize.
        source: the value outside the loop that it takes a part of.
        part: the set of the part.
    """

    op: ir.Operation
    source: ir.Value
    part: Tile | Point

    @property
    def number(self) -> int:
        """The number of the producer's result that the part is taken of."""
        return ir.OpResult(self.source).result_number


class Worklist:
    """The producers outside a loop that may be fused into it, and the parts of each that its body
    reads.

    Args:
        loop: the loop.
        choice: the producers to fuse.
        report: tells why a producer was left.
    """

    def __init__(self, loop: LoopView, choice: Choice, report: Report) -> None:
        self._choice = choice
        self._report = report
        # Values, not positions: those change when an argument is erased.
        self._named = set(choice.named_inputs(loop))
        self._excluded: set[ir.Operation] = set()
        self._reads: dict[ir.Operation, list[PartRead]] = {}
        self._order: list[Position] = []
        self.read(loop, [op.operation for op in loop.body.operations])

    def read(self, loop: LoopView, ops: Sequence[ir.Operation]) -> None:
        """Note the operands of some ops: those in the body of the loop itself that were not visited
        yet.

        Args:
            loop: the loop as it stands.
            ops: in the order of the program.
        """
        for op in ops:
            if op.name == "gml_st.materialize" and op.block == loop.body:
                self._read(loop, op)

    def pop(self) -> tuple[ir.Operation, list[PartRead]] | None:
        """Return the last producer of the program, and the reads of it in the body's order.

        All readers of a part of it are known: they come later, and were fused before it.
        """
        if not self._order:
            return None
        producer = self._order.pop().op
        return producer, sorted(self._reads.pop(producer), key=_in_body)

    def leave(self, producer: ir.Operation) -> None:
        """Look at a producer no more."""
        self._excluded.add(producer)
        if self._reads.pop(producer, None) is not None:
            self._order = [position for position in self._order if position.op != producer]

    def forget(self, op: ir.Operation) -> None:
        """Let go of an op that is about to be erased: another one may get its address."""
        self._excluded.discard(op)

    def is_fused(self, producer: ir.Operation) -> None:
        """Note that a producer's results are not inputs any more."""
        self._named.difference_update(producer.results)

    def _read(self, loop: LoopView, op: ir.Operation) -> None:
        source = _outer_source(loop, op)
        producer = None if source is None else producer_of(source)
        if source is None or producer is None or producer in self._excluded:
            return
        is_chosen = (
            producer.name == "gml_st.materialize"
            or source in self._named
            or self._choice.includes(producer)
        )
        if producer.name in LOOPS or not is_chosen:
            return
        try:
            if reaches_outside_memory(producer):
                raise Unserved("the body reaches memory that is not an operand")
            with op.location, ir.InsertionPoint(op):
                part = part_of(MaterializeView.of(op).set)
        except Unserved as error:
            self._report.leave(producer.name, error.reason)
            self.leave(producer)
            return
        if producer not in self._reads:
            self._reads[producer] = []
            insort(self._order, Position.before(loop.op, producer))
        self._reads[producer].append(PartRead(op, source, part))


def _outer_source(view: LoopView, op: ir.Operation) -> ir.Value | None:
    """Return the value outside that a materialize takes a part of; None: it is made in the body."""
    source = MaterializeView.of(op).source
    if not isinstance(source.type, ir.RankedTensorType):
        return None
    if not is_defined_inside(source, view.body):
        return source
    if source in view.region_ins:
        return view.ins[view.region_ins.index(source)]
    if source in view.region_outs:
        # An output holds its initial elements before an iteration, if each part is visited once.
        outer = view.outs[view.region_outs.index(source)]
        return outer if _visits_once(view, op, outer) else None
    return None


def _visits_once(view: LoopView, op: ir.Operation, outer: ir.Value) -> bool:
    try:
        with op.location, ir.InsertionPoint(op):
            reached = covered_by(view, part_of(MaterializeView.of(op).set), outer)
    except Unserved:
        return False
    return reached is not None and reached >= moves(view)


def _compare(first: PartRead, second: PartRead) -> int:
    if first.op == second.op:
        return 0
    return -1 if first.op.is_before_in_block(second.op) else 1


_in_body = cmp_to_key(_compare)


def used_outside(producer: ir.Operation, body: ir.Block) -> bool:
    """Return whether an op has a user other than the loop or the ops in the loop's body."""
    return any(
        not is_inside(use.owner.operation.block, body)
        for result in producer.results
        for use in result.uses
        if use.owner.operation.name not in LOOPS or use.owner.operation.regions[0].blocks[0] != body
    )


def comes_after(op: ir.Operation, other: ir.Operation) -> bool:
    """Return whether an op stands after another one of the same block, or inside one that does."""
    around = ancestor_in(other.block, op)
    return around is not None and around != other and other.is_before_in_block(around)


@dataclass(frozen=True)
class Position:
    """The position of an op before a loop, or before an op around the loop.

    Later positions are greater.

    Attributes:
        op: the op.
        outwards: the number of ops around the loop that are not around the op.
        block: the index of its block in the region. The block of the loop, or around it, is last.
    """

    op: ir.Operation
    outwards: int
    block: int

    @classmethod
    def before(cls, loop: ir.Operation, op: ir.Operation) -> Position:
        """Return the place of an op whose results a loop may read."""
        block = op.block
        around, outwards = loop, 0
        while around.block.region != block.region:
            around, outwards = around.block.owner.operation, outwards + 1
        blocks = list(block.region.blocks)
        return cls(op, outwards, len(blocks) if around.block == block else blocks.index(block))

    def __lt__(self, other: Position) -> bool:
        if self.outwards != other.outwards:
            return self.outwards > other.outwards
        if self.block != other.block:
            return self.block < other.block
        return self.op != other.op and self.op.is_before_in_block(other.op)


def covered_by(loop: LoopView, part: Tile | Point, tensor: ir.Value) -> frozenset[int] | None:
    """Return the iterators that move a part over all of a tensor; None where it may leave a gap.

    The tile is one whose offset is the induction variable along some dimensions, and all of the
    tensor along the others, as tiling makes it.
    """
    tile = as_tile(part)
    iterators = {iv: number for number, iv in enumerate(loop.ivs)}
    moved: set[int] = set()
    for dim, whole in enumerate(sizes_of(tensor)):
        offset, size, stride = tile.offset(dim), tile.size(dim), tile.stride(dim)
        if is_eq(stride, 1) is not True:
            return None
        if is_eq(offset, 0) is True and is_eq(size, whole) is True:
            continue
        iterator = _mover(offset, iterators)
        if (
            iterator is None
            or iterator in moved
            or not _is_stepped(loop, iterator, offset, size, whole)
        ):
            return None
        moved.add(iterator)
    return frozenset(moved)


def moves(loop: LoopView) -> frozenset[int]:
    """Return the iterators that may take more than one step."""
    return frozenset(
        iterator for iterator in range(loop.rank) if is_eq(_trip_end(loop, iterator), 0) is not True
    )


def _trip_end(loop: LoopView, iterator: int) -> Number:
    """Return 0 for an iterator of one step: the length before its last position, in steps."""
    lower, upper, step = map(as_number, loop.bounds[iterator])
    length = upper - lower - 1
    if isinstance(step, int) and isinstance(length, int):
        return max(0, length // step) if step > 0 else 1
    return 1


def depends_on(loop: LoopView, part: Tile | Point) -> frozenset[int]:
    """Return the iterators that a part moves with."""
    tile = as_tile(part)
    numbers = (*tile.offsets, *tile.sizes, *tile.strides)
    keys = {symbol.key for number in numbers for symbol in symbols_of(number)}
    return frozenset(iterator for iterator, iv in enumerate(loop.ivs) if iv in keys)


def _mover(offset: Number, iterators: dict[ir.Value, int]) -> int | None:
    """Return the iterator whose induction variable a number is."""
    symbols = list(symbols_of(offset))
    if len(symbols) != 1 or symbols[0].number != offset:
        return None
    key = symbols[0].key
    return iterators.get(key) if isinstance(key, ir.Value) else None


def _is_stepped(loop: LoopView, iterator: int, offset: Number, size: Number, whole: Number) -> bool:
    """Return whether tiles stand side by side from the beginning to the end."""
    lower, upper, step = map(as_number, loop.bounds[iterator])
    ends = is_eq(lower, 0) is True and is_eq(upper, whole) is True
    return ends and is_eq(size, minimum(step, whole - offset)) is True
