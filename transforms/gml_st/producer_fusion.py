"""Producers move into the loops that read parts of what they give.

Where a body takes a part of a result, the op is built on that part instead, and takes parts of its
own operands: these may be fused in turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.gml_st.ir.loop_views import AnyLoop, ForView, LoopView
from linalg_ext.gml_st.ir.op_views import LOOPS, MaterializeView
from linalg_ext.gml_st.rules import Rule, Unserved, rule_of
from linalg_ext.rewriting import Report
from linalg_ext.structured.operands import producer as producer_of
from linalg_ext.structured.sizes import extract_slice
from linalg_ext.symbolic.index_sets import Point, Tile, as_tile, compose
from linalg_ext.symbolic.integers import is_eq, upper

from ._covering import covered_by, depends_on, moves, view_of
from ._loops import has_room, with_output, without_unused_inputs
from ._order import comes_after, is_below, used_outside
from ._parts import Parts, element_of, empty, in_type, part_of
from ._worklist import Taken, Worklist
from .chosen_ops import Choice
from .cleanup import erase_dead, erase_taken


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
        self._worklist = Worklist(view_of(loop), choice, report)
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
    def _view(self) -> AnyLoop:
        return view_of(self.loop)

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
        if any(True for _ in outer.results[0].uses):
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
            if not is_below(use.owner.operation, view.body)
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
            if not is_below(use.owner.operation, body) and use.owner.operation != self.loop
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
        if isinstance(view, LoopView | ForView):
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
            and is_below(use.owner.operation, view.body)
        ]
        if readers or covered_by(view, part, outer) is None:
            return
        with self.loop.location, ir.InsertionPoint(self.loop):
            sizes = rule.result_sizes(ir.OpResult(outer).result_number)
            start = in_type(empty(sizes, outer.type), outer.type)
        places = [
            (use.owner.operation, use.operand_number)
            for use in outer.uses
            if use.owner.operation == self.loop or is_below(use.owner.operation, view.body)
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
    """A part as a part of the tile that holds it."""
    if isinstance(part, Point):
        raise AssertionError("a hull is of tiles")
    offsets = [one - other for one, other in zip(part.offsets, hull.offsets, strict=True)]
    return Tile(offsets, part.sizes)
