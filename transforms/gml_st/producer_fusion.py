"""Producers move into the loops that read parts of what they give.

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
from linalg_ext.transforms.gml_st._loops import (
    has_room,
    with_output,
    without_unused_inputs,
)
from linalg_ext.transforms.gml_st.cleanup import erase_dead, erase_taken
from linalg_ext.transforms.gml_st.op_tiling import (
    Choice,
    Parts,
    element_of,
    empty,
    in_type,
    part_of,
)
from linalg_ext.transforms.ir_utils.walking import ancestor_in, is_unused


class Fusion:
    """Fuses into one loop, its own body; loops inside it are for later.

    Producers come one after the other, the last of the program first: when one comes, all who
    could ask for a part of it have done so.

    Args:
        loop: a loop over subsets. It may be replaced: `loop` is the one that stands.
        choice: the producers to fuse.
        report: counts what was, and tells why the rest was not.
    """

    def __init__(self, loop: ir.Operation, choice: Choice, report: Report) -> None:
        self.loop = loop
        self.choice = choice
        self.report = report
        self._worklist = Worklist(LoopView.of(loop), choice, report)
        # What takes parts since the worklist was read.
        self._asked: list[ir.Operation] = []

    def run(self) -> None:
        """Fuse until nothing is left that may be."""
        while (found := self._worklist.pop()) is not None:
            producer, taken = found
            name = producer.name
            try:
                if name == "gml_st.materialize":
                    self._take_from_further_out(producer, taken)
                else:
                    self._fuse(producer, taken)
            except Unserved as error:
                self.report.leave(name, error.reason)
                self._worklist.leave(producer)
            self._worklist.read(self._view, self._asked)
            self._asked.clear()
        self._start_from_nothing()

    @property
    def _view(self) -> LoopView:
        return LoopView.of(self.loop)

    def _fuse(self, producer: ir.Operation, taken: list[Taken]) -> None:
        """Build a producer on each part that is taken of it.

        Raises:
            Unserved: a part has no exact answer, or it does not pay. Then nothing has changed.
        """
        rule, name = rule_of(producer), producer.name
        groups: dict[Tile, list[Taken]] = {}
        for each in taken:
            wanted = rule.part_for_result(as_tile(each.part), each.number)
            groups.setdefault(wanted, []).append(each)
        if self.choice.is_greedy:
            self._ask_if_it_pays(producer, rule, taken, len(groups))
        hull = self._hull(producer, rule, taken)
        if hull is not None:
            groups = {rule.part_for_result(hull, 0): taken}
        shared = self._shareable(producer, rule, taken)
        self.report.matched[name] += 1
        values = [
            self._build(producer, rule, wanted, group, hull) for wanted, group in groups.items()
        ]
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

    def _hull(self, producer: ir.Operation, rule: Rule, taken: list[Taken]) -> Tile | None:
        """The part of a producer that holds all that is taken, where it is worth computing once."""
        is_computed = producer.name.startswith("linalg.") and producer.name != "linalg.fill"
        if not self.choice.is_greedy or not rule.is_cheap or not is_computed:
            return None
        return _hull_of([each.part for each in taken]) if len(producer.results) == 1 else None

    def _build(
        self,
        producer: ir.Operation,
        rule: Rule,
        wanted: Tile,
        group: list[Taken],
        hull: Tile | None,
    ) -> list[ir.Value]:
        """One part of a producer, before the first materialize that asks for it."""
        first = group[0].op
        parts, operands = Parts(self._asked), list(producer.operands)

        def take(position: int, part: Tile | Point) -> ir.Value:
            return parts.take(operands[position], part)

        with producer.location, ir.InsertionPoint(first):
            scalars = None
            if all(isinstance(each.part, Point) for each in group):
                is_point = all(size == 1 for size in wanted.sizes)
                scalars = rule.build_element(Point(wanted.offsets), take) if is_point else None
            values = scalars or rule.build(wanted, take)
        for each in group:
            with each.op.location, ir.InsertionPoint(each.op):
                value = values[each.number]
                if hull is not None:
                    value = extract_slice(value, _in_hull(each.part, hull))
                if scalars is None and isinstance(each.part, Point):
                    value = element_of(value)
                elif scalars is None:
                    value = in_type(value, each.op.results[0].type)
            each.op.results[0].replace_all_uses_with(value)
            erase_taken(each.op)
        return values

    def _ask_if_it_pays(
        self, producer: ir.Operation, rule: Rule, taken: list[Taken], parts: int
    ) -> None:
        """Refuse what would be computed again and again.

        Raises:
            Unserved: it would.
        """
        view = self._view
        is_made_of_nothing = not any(
            tile is not None
            for at, tile in enumerate(rule.operand_parts(rule.domain.all))
            if at not in rule.destinations
        )
        if is_made_of_nothing:
            return
        moving = moves(view)
        moved = [depends_on(view, each.part) & moving for each in taken]
        if moving and not all(moved):
            raise Unserved("the loop needs the same part of it in every iteration")
        if rule.is_cheap:
            return
        if any(each != moving for each in moved):
            raise Unserved(
                "the sums of the producer would be computed again in iterations that share them"
            )
        if parts > 1:
            raise Unserved(
                "several parts of the producer are needed, and sums are not computed twice"
            )
        if used_outside(producer, view.body) and not self._can_be_shared(producer, taken[0].part):
            raise Unserved("the producer has another user, and sums are not computed twice")

    def _take_from_further_out(self, outer: ir.Operation, taken: list[Taken]) -> None:
        """A part of a part is a part of the whole."""
        view = MaterializeView.of(outer)
        for each in taken:
            with each.op.location, ir.InsertionPoint(each.op):
                whole = part_of(view.set)
                if not isinstance(whole, Tile):
                    raise Unserved("a part of an element")
                try:
                    inner = _within(each.part, whole)
                except ArgumentError as error:
                    raise Unserved(error.what) from None
                part = Parts(self._asked).take(view.source, inner)
                value = in_type(part, each.op.results[0].type)
            each.op.results[0].replace_all_uses_with(value)
            erase_taken(each.op)
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

    def _shareable(self, producer: ir.Operation, rule: Rule, taken: list[Taken]) -> Tile | None:
        """The part that the loop gives for the producer's users outside; None: they keep theirs."""
        part = taken[0].part
        if not self.choice.is_greedy or rule.is_cheap or not isinstance(part, Tile):
            return None
        if not used_outside(producer, self._view.body):
            return None
        return part if self._can_be_shared(producer, part) else None

    def _share(self, producer: ir.Operation, rule: Rule, part: Tile, value: ir.Value) -> None:
        """Let the loop give all of a producer too, for its users outside."""
        result = producer.results[0]
        with self.loop.location, ir.InsertionPoint(self.loop):
            start = in_type(empty(rule.result_sizes(), result.type), result.type)
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
        """Outputs that the loop writes all over begin as empty tensors, not as what they held."""
        view = self._view
        terminator = view.terminator
        sets = terminator.sets
        if len(sets) != len(terminator.accumulated):
            return
        for number, (set_, accumulated) in enumerate(
            zip(sets, terminator.accumulated, strict=True)
        ):
            if accumulated:
                continue
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
            start = in_type(empty(sizes, outer.type), outer.type)
        places = [
            (use.owner.operation, use.operand_number)
            for use in outer.uses
            if use.owner.operation == self.loop or is_inside(use.owner.operation.block, view.body)
        ]
        for user, position in places:
            user.operands[position] = start
        erase_dead(producer)


def _within(part: Tile | Point, whole: Tile) -> Tile | Point:
    if isinstance(part, Tile):
        return compose(part, whole)
    return compose(part, whole)


def loops_in(root: ir.Operation) -> list[ir.Operation]:
    """The loops over subsets in the regions of an op that are not in one another."""
    found: list[ir.Operation] = []
    for region in root.regions:
        for block in region.blocks:
            for each in block.operations:
                op = each.operation
                found += [op] if op.name in LOOPS else loops_in(op)
    return found


def _hull_of(parts: Sequence[Tile | Point]) -> Tile | None:
    """Return the smallest tile that holds tiles which overlap; None where they may not, or are one.

    What a stencil reads of the stencil before it is one tile, shifted by an element this way and
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
    """From where to where tiles go, beside the begin and the end of the first; None: not known.

    None, too, where one begins behind the end of another.
    """
    begin, end = (tiles[0].offset(dim), tiles[0].offset(dim) + tiles[0].size(dim))
    begins = [tile.offset(dim) - begin for tile in tiles]
    ends = [tile.offset(dim) + tile.size(dim) - end for tile in tiles]
    shifts = [each for each in begins if isinstance(each, int)]
    grown = [each for each in ends if isinstance(each, int)]
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
    offsets = [one - other for one, other in zip(part.offsets, hull.offsets, strict=True)]
    return Tile(offsets, part.sizes)


@dataclass(frozen=True)
class Taken:
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
    """The producers outside a loop that may be fused into it, and what its body takes of each.

    Args:
        loop: the loop.
        choice: the producers to fuse.
        report: tells why a producer was left.
    """

    def __init__(self, loop: LoopView, choice: Choice, report: Report) -> None:
        self._choice = choice
        self._report = report
        # As values: the places of arguments change when one goes.
        self._named = set(choice.named_inputs(loop))
        self._left: set[ir.Operation] = set()
        self._taken: dict[ir.Operation, list[Taken]] = {}
        self._order: list[Position] = []
        self.read(loop, [each.operation for each in loop.body.operations])

    def read(self, loop: LoopView, ops: Sequence[ir.Operation]) -> None:
        """Note what some ops take: those in the body of the loop itself that it was not asked yet.

        Args:
            loop: the loop as it stands.
            ops: in the order of the program.
        """
        for op in ops:
            if op.name == "gml_st.materialize" and op.block == loop.body:
                self._read(loop, op)

    def pop(self) -> tuple[ir.Operation, list[Taken]] | None:
        """The last producer of the program, and what is taken of it in the order of the body.

        All who could take a part of it have done so: they come later, and were fused before it.
        """
        if not self._order:
            return None
        producer = self._order.pop().op
        return producer, sorted(self._taken.pop(producer), key=_in_body)

    def leave(self, producer: ir.Operation) -> None:
        """Look at a producer no more."""
        self._left.add(producer)
        if self._taken.pop(producer, None) is not None:
            self._order = [each for each in self._order if each.op != producer]

    def forget(self, op: ir.Operation) -> None:
        """Let go of an op that is about to be erased: another one may get its address."""
        self._left.discard(op)

    def is_fused(self, producer: ir.Operation) -> None:
        """Note that a producer's results are no inputs any more."""
        self._named.difference_update(producer.results)

    def _read(self, loop: LoopView, op: ir.Operation) -> None:
        source = _outer_source(loop, op)
        producer = None if source is None else producer_of(source)
        if source is None or producer is None or producer in self._left:
            return
        if producer.name in LOOPS or not self._is_wanted(producer, source):
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
        if producer not in self._taken:
            self._taken[producer] = []
            insort(self._order, Position.before(loop.op, producer))
        self._taken[producer].append(Taken(op, source, part))

    def _is_wanted(self, producer: ir.Operation, source: ir.Value) -> bool:
        if producer.name == "gml_st.materialize" or source in self._named:
            return True
        return self._choice.wants(producer)


def _outer_source(view: LoopView, op: ir.Operation) -> ir.Value | None:
    """The value outside that a materialize takes a part of; None: it is made in the body."""
    source = MaterializeView.of(op).source
    if not isinstance(source.type, ir.RankedTensorType):
        return None
    if not is_defined_inside(source, view.body):
        return source
    if source in view.region_ins:
        return view.ins[view.region_ins.index(source)]
    if source in view.region_outs:
        # What an output holds before the iteration is what it began with, if each part of it is
        # visited once.
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


def _compare(one: Taken, other: Taken) -> int:
    if one.op == other.op:
        return 0
    return -1 if one.op.is_before_in_block(other.op) else 1


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
        """The place of an op whose results a loop may read."""
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
    """The iterators that move a part over all of a tensor; None where it may leave a gap.

    The tile is one whose offset is the induction variable along some dimensions, and all of the
    tensor along the others, as tiling makes it.
    """
    tile = as_tile(part)
    places = {iv: at for at, iv in enumerate(loop.ivs)}
    moved: set[int] = set()
    for dim, whole in enumerate(sizes_of(tensor)):
        offset, size, stride = tile.offset(dim), tile.size(dim), tile.stride(dim)
        if is_eq(stride, 1) is not True:
            return None
        if is_eq(offset, 0) is True and is_eq(size, whole) is True:
            continue
        at = _mover(offset, places)
        if at is None or at in moved or not _is_stepped(loop, at, offset, size, whole):
            return None
        moved.add(at)
    return frozenset(moved)


def moves(loop: LoopView) -> frozenset[int]:
    """The iterators that may take more than one step."""
    return frozenset(at for at in range(loop.rank) if is_eq(_trip_end(loop, at), 0) is not True)


def _trip_end(loop: LoopView, at: int) -> Number:
    """0 where the iterator takes one step: its upper bound less one less its lower, in steps."""
    lower, upper, step = (as_number(each[at]) for each in (loop.lower, loop.upper, loop.step))
    length = upper - lower - 1
    if isinstance(step, int) and isinstance(length, int):
        return max(0, length // step) if step > 0 else 1
    return 1


def depends_on(loop: LoopView, part: Tile | Point) -> frozenset[int]:
    """The iterators that a part moves with."""
    tile = as_tile(part)
    numbers = (*tile.offsets, *tile.sizes, *tile.strides)
    keys = {symbol.key for number in numbers for symbol in symbols_of(number)}
    return frozenset(at for at, iv in enumerate(loop.ivs) if iv in keys)


def _mover(offset: Number, places: dict[ir.Value, int]) -> int | None:
    """The iterator whose induction variable a number is."""
    found = list(symbols_of(offset))
    if len(found) != 1 or found[0].number != offset:
        return None
    key = found[0].key
    return places.get(key) if isinstance(key, ir.Value) else None


def _is_stepped(loop: LoopView, at: int, offset: Number, size: Number, whole: Number) -> bool:
    """Return whether tiles stand side by side from the beginning to the end."""
    lower, upper, step = (as_number(each[at]) for each in (loop.lower, loop.upper, loop.step))
    ends = is_eq(lower, 0) is True and is_eq(upper, whole) is True
    return ends and is_eq(size, minimum(step, whole - offset)) is True
