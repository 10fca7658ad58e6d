"""The parts of producers before a loop that the body of the loop takes.

The body is read once. After that only the parts that fusion itself takes are new. The time to fuse
all of a long function therefore grows with what is built, and not with its square.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from linalg_ext.bindings import ir
from linalg_ext.gml_st.ir.loop_views import AnyLoop, ForView, LoopView
from linalg_ext.gml_st.ir.op_views import LOOPS, MaterializeView
from linalg_ext.gml_st.ir.roots import is_defined_inside
from linalg_ext.gml_st.rules import Unserved
from linalg_ext.rewriting import Report
from linalg_ext.structured.operands import producer as producer_of
from linalg_ext.structured.payload import reaches_outside_memory
from linalg_ext.symbolic.index_sets import Point, Tile

from ._covering import covered_by, moves
from ._order import Position
from ._parts import part_of
from .chosen_ops import Choice


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

    def __init__(self, loop: AnyLoop, choice: Choice, report: Report) -> None:
        self._choice = choice
        self._report = report
        # As values: the places of arguments change when one goes.
        self._named = set(choice.named_inputs(loop))
        self._left: set[ir.Operation] = set()
        self._taken: dict[ir.Operation, list[Taken]] = {}
        self._order: list[Position] = []
        self.read(loop, [each.operation for each in loop.body.operations])

    def read(self, loop: AnyLoop, ops: Sequence[ir.Operation]) -> None:
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

    def _read(self, loop: AnyLoop, op: ir.Operation) -> None:
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


def _outer_source(view: AnyLoop, op: ir.Operation) -> ir.Value | None:
    """The value outside that a materialize takes a part of; None: it is made in the body."""
    source = MaterializeView.of(op).source
    if not isinstance(source.type, ir.RankedTensorType):
        return None
    if not is_defined_inside(source, view.body):
        return source
    if isinstance(view, LoopView) and source in view.region_ins:
        return view.ins[view.region_ins.index(source)]
    if isinstance(view, LoopView | ForView) and source in view.region_outs:
        # What an output holds before the iteration is what it began with, if each part of it is
        # visited once.
        outer = view.outs[view.region_outs.index(source)]
        return outer if _visits_once(view, op, outer) else None
    return None


def _visits_once(view: AnyLoop, op: ir.Operation, outer: ir.Value) -> bool:
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
