"""Reductions on vectors: combiners, their neutral elements, and choices such as argmax.

A combiner is an associative operation on two values. The body of a choice selects, on one
condition, the new element or the old one, and its position or the old one; the element may be the
maximum or the minimum, too, where the condition says the same. The condition compares the two
elements alone, strictly: of equal ones the first stays. A position may be made of those of several
loops, such as `i * columns + j` in an array whose axes were taken as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from linalg_ext.bindings import arith, ir, vector
from linalg_ext.structured.constants import index
from linalg_ext.transforms.codegen.base.blocked_sums import is_added_in_blocks
from linalg_ext.transforms.codegen.base.payload import NARROW_FLOATS
from linalg_ext.transforms.ir_utils.arithmetic import constant, literal
from linalg_ext.transforms.ir_utils.float_formats import FLOATS, FloatFormat
from linalg_ext.transforms.ir_utils.generics import computed_anew, loop_of
from linalg_ext.transforms.ir_utils.walking import element_type, ops_of, producer

_FLOAT_NEUTRAL: Mapping[str, Callable[[FloatFormat], str]] = {
    "arith.addf": lambda _: "-0.0",  # 0 + -0.0 is 0, and -0.0 + -0.0 is -0.0
    "arith.mulf": lambda _: "1.0",
    "arith.maximumf": lambda format_: hex(format_.overflow | 1 << (format_.width - 1)),
    "arith.minimumf": lambda format_: hex(format_.overflow),
    "arith.maxnumf": lambda format_: hex(format_.nan),
    "arith.minnumf": lambda format_: hex(format_.nan),
}
_INTEGER_NEUTRAL: Mapping[str, Callable[[int], int]] = {
    "arith.addi": lambda _: 0,
    "arith.muli": lambda _: 1,
    "arith.andi": lambda _: -1,
    "arith.ori": lambda _: 0,
    "arith.xori": lambda _: 0,
    "arith.maxsi": lambda width: -1 << (width - 1),
    "arith.minsi": lambda width: (1 << (width - 1)) - 1,
    "arith.maxui": lambda _: 0,
    "arith.minui": lambda _: -1,
}
_LOGIC = frozenset(["arith.andi", "arith.ori", "arith.xori"])
"""On truth values the others are other words for these."""

_INDEX = "linalg.index"

_ROUNDED = frozenset(["arith.addf", "arith.mulf"])


@dataclass(frozen=True)
class Combiner:
    """An associative operation, by the name of its op."""

    name: str

    def __call__(self, a: Any, b: Any) -> Any:
        """Emit the op on two values of one type, scalars or vectors."""
        return ir.Operation.create(self.name, results=[a.type], operands=[a, b]).results[0]

    def neutral(self, type_: Any) -> Any:
        """Return the neutral element of the operation, in every lane where `type_` is a vector."""
        element = element_type(type_)
        if isinstance(element, ir.FloatType):
            return literal(type_, _FLOAT_NEUTRAL[self.name](FLOATS[str(element)]))
        return literal(type_, str(_INTEGER_NEUTRAL[self.name](element.width)))

    def adds_floats(self, element: Any) -> bool:
        """Return whether it adds up floats, of a type that is added up in blocks."""
        return self.name == "arith.addf" and is_added_in_blocks(element)

    def all_of(self, value: Any, lanes: int) -> Any:
        """Return the elements of a vector combined to `lanes` of them, halves with halves."""
        while value.type.shape[0] > lanes:
            value = self(*halves(value))
        return value


def combiner_of(argument: Any, yielded: Any) -> Combiner | None:
    """Return the combiner of an output's old and new value in a body; None where order matters."""
    name = combining_op(argument, yielded)
    return None if name is None else _in_any_order(name, yielded.type)


def combiners_of(outputs: Sequence[Any], yielded: Sequence[Any]) -> tuple[Combiner, ...] | None:
    """Return the combiners of all outputs of a body; None where one of them has none."""
    combiners = [combiner_of(*pair) for pair in zip(outputs, yielded, strict=True)]
    known = tuple(combiner for combiner in combiners if combiner is not None)
    return known if len(known) == len(combiners) else None


def combiner_by(op: Any, argument: Any) -> Combiner | None:
    """Return the combiner that an op applies to a value; None if it has none, or order matters."""
    return _in_any_order(op.name, argument.type) if _combines(op, argument) else None


def combining_op(argument: Any, yielded: Any) -> str | None:
    """Return the associative op by which a body combines the old value of an output with the new.

    None where it does otherwise, or uses the old value for something else as well.
    """
    op = producer(yielded)
    if op is None or len(list(argument.uses)) != 1:
        return None
    if op.name == "math.fma":
        return "arith.addf" if op.operands[2] == argument else None
    return str(op.name) if _combines(op, argument) else None


def _combines(op: Any, argument: Any) -> bool:
    is_known = op.name in _FLOAT_NEUTRAL or op.name in _INTEGER_NEUTRAL
    is_truth = str(argument.type) == "i1"
    return is_known and argument in list(op.operands) and (op.name in _LOGIC or not is_truth)


def _in_any_order(name: str, type_: Any) -> Combiner | None:
    # In these formats another order is another sum: too few digits to hide it.
    is_rounded = name in _ROUNDED and str(type_) in NARROW_FLOATS
    return None if is_rounded else Combiner(name)


def part(value: Any, start: int, size: int) -> Any:
    """Return `size` elements of a vector, from `start` on."""
    type_ = ir.VectorType.get([size], value.type.element_type)
    return vector.extract_strided_slice(type_, value, [start], [size], [1])


def halves(value: Any) -> tuple[Any, Any]:
    """Return the lower and the upper half of a vector."""
    half = value.type.shape[0] // 2
    low, high = (part(value, start, half) for start in (0, half))
    return low, high


def split(value: Any, parts: int) -> list[Any]:
    """Split a vector into parts; their number is a power of two."""
    if parts == 1:
        return [value]
    return [part for half in halves(value) for part in split(half, parts // 2)]


def joined(parts: Sequence[Any]) -> Any:
    """Vectors, a power of two of them, as one."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    low, high = joined(parts[:half]), joined(parts[half:])
    return vector.shuffle(low, high, list(range(2 * low.type.shape[0])))


_BEFORE = -1
"""The position of an element that was best before the row began."""


@dataclass(frozen=True)
class Sums:
    """The reduction of each output by itself, by an associative operation."""

    combiners: tuple[Combiner, ...]

    def start(self, types: Sequence[Any], old: Sequence[Any], lanes: int) -> list[Any]:
        """Return the vectors at the start of the loop: neutral elements.

        Args:
            types: of the elements of the outputs.
            old: not used; a search for the best begins with these elements.
            lanes: of the vectors.
        """
        return [
            combine.neutral(ir.VectorType.get([lanes], type_))
            for combine, type_ in zip(self.combiners, types, strict=True)
        ]

    def narrowed(self, values: Sequence[Any], lanes: int) -> list[Any]:
        """Return the vectors reduced to `lanes` elements, halves combined with halves."""
        return [
            combine.all_of(value, lanes)
            for combine, value in zip(self.combiners, values, strict=True)
        ]

    def finish(self, old: Sequence[Any], values: Sequence[Any], ivs: Sequence[Any]) -> list[Any]:
        """Return the new elements of the outputs, of the old ones and the vectors."""
        totals = self.narrowed(values, 1)
        return [
            combine(before, vector.extract(value, [], [0]))
            for combine, before, value in zip(self.combiners, old, totals, strict=True)
        ]


@dataclass(frozen=True)
class FirstBest:
    """The best element and where it is; the first of several that are equal.

    Attributes:
        choice: the condition that chooses.
        position_type: of the positions in the vectors, as narrow as the elements where the row is
            known to be short enough: vectors of both then have as many lanes.
    """

    choice: Choice
    position_type: Any

    def start(self, types: Sequence[Any], old: Sequence[Any], lanes: int) -> list[Any]:
        """Return the old elements of the outputs in every lane, at a position before the row."""
        value = old[self.choice.value]
        values = vector.broadcast(ir.VectorType.get([lanes], value.type), value)
        before = constant(ir.VectorType.get([lanes], self.position_type), _BEFORE)
        return self._ordered(values, before)

    def chosen(self, new: Any, at: Any, old: Sequence[Any], registers: int) -> list[Any]:
        """Return the vectors after one more round.

        Args:
            new: the elements that are new.
            at: the position of the first of them.
            old: the vectors before.
            registers: the number of parts that they are split into: a comparison of parts as long
                as a register stays in registers.
        """
        lanes = new.type.shape[0]
        type_ = ir.VectorType.get([lanes], self.position_type)
        first = vector.broadcast(type_, arith.index_cast(self.position_type, at))
        steps = vector.step(ir.VectorType.get([lanes], ir.IndexType.get()))
        where = arith.addi(first, arith.index_cast(type_, steps))
        values = (new, where, old[self.choice.value], old[self.choice.position])
        parts = zip(*(split(value, registers) for value in values), strict=True)
        best, places = zip(*(self._better(*part) for part in parts), strict=True)
        return self._ordered(joined(best), joined(places))

    def _better(self, new: Any, where: Any, best: Any, place: Any) -> tuple[Any, Any]:
        take = self.choice.is_better(new, best)
        return arith.select(take, new, best), arith.select(take, where, place)

    def _ordered(self, value: Any, position: Any) -> list[Any]:
        return [value, position] if self.choice.value == 0 else [position, value]

    def narrowed(self, values: Sequence[Any], lanes: int) -> list[Any]:
        """Return the better of two halves, and where both are equal the one found earlier."""
        values = list(values)
        while values[0].type.shape[0] > lanes:
            lows, highs = zip(*(halves(value) for value in values), strict=True)
            take = self._is_better(highs, lows)
            pairs = zip(lows, highs, strict=True)
            values = [arith.select(take, high, low) for low, high in pairs]
        return values

    def finish(self, old: Sequence[Any], values: Sequence[Any], ivs: Sequence[Any]) -> list[Any]:
        """Return the best element and its position; the old elements took part in the search."""
        best = [vector.extract(value, [], [0]) for value in self.narrowed(values, 1)]
        place, before = best[self.choice.position], old[self.choice.position]
        is_before = arith.cmpi(arith.CmpIPredicate.eq, place, constant(place.type, _BEFORE))
        in_row, start = _resized(place, before.type), self.choice.row_start(ivs)
        new = in_row if start is None else arith.addi(in_row, start)
        position = arith.select(is_before, before, new)
        return self._ordered(best[self.choice.value], position)

    def _is_better(self, candidate: Sequence[Any], current: Sequence[Any]) -> Any:
        choice = self.choice
        wins = choice.is_better(candidate[choice.value], current[choice.value])
        loses = choice.is_better(current[choice.value], candidate[choice.value])
        where, elsewhere = candidate[choice.position], current[choice.position]
        earlier = arith.cmpi(arith.CmpIPredicate.slt, where, elsewhere)
        # The earlier of two equal ones is better.
        return arith.ori(wins, arith.andi(earlier, arith.cmpi(arith.CmpIPredicate.eq, wins, loses)))


Reduction: TypeAlias = Sums | FirstBest
"""The reduction of one nest: a vector for each of its outputs."""


def _resized(place: Any, type_: Any) -> Any:
    if place.type == type_:
        return place
    resize = arith.extsi if type_.width > place.type.width else arith.trunci
    return resize(type_, place)


def reduction_of(
    outputs: Sequence[Any], yielded: Sequence[Any], inner: int, length: int | None
) -> Reduction | None:
    """Return the reduction of a body along loop `inner`; None where vectors cannot do it.

    Args:
        outputs: the arguments of the body for the old elements of the outputs.
        yielded: their new elements.
        inner: the loop.
        length: of it, if known.
    """
    combiners = combiners_of(outputs, yielded)
    if combiners is not None:
        return Sums(combiners)
    choice = choice_of(outputs, yielded, inner)
    if choice is None:
        return None
    is_short = length is not None and length < 1 << 31
    is_narrow = is_short and choice.old.type.width <= 32
    return FirstBest(choice, ir.IntegerType.get_signless(32 if is_narrow else 64))


_COMPARED = {
    arith.CmpFPredicate.OGT: (False, False, True, False, False, False),
    arith.CmpFPredicate.OLT: (True, False, False, False, False, False),
    arith.CmpFPredicate.UNE: (True, False, True, True, True, True),
    arith.CmpFPredicate.UNO: (False, False, False, True, True, True),
}
"""The outcome of each comparison for `a < b`, `a == b`, `a > b`, `a` NaN, `b` NaN and both NaN."""

_NAN_WINS: Mapping[tuple[bool, ...], Any] = {
    (False, False, True, True, False, False): arith.CmpFPredicate.UGT,
    (True, False, False, True, False, False): arith.CmpFPredicate.ULT,
}
"""The comparison for each condition by which the first NaN is best.

It agrees with the condition where the old element is a number.
"""
_STRICT = {
    "arith.cmpf": {predicate.value for predicate in _COMPARED},
    "arith.cmpi": {
        getattr(arith.CmpIPredicate, name).value for name in ("slt", "sgt", "ult", "ugt")
    },
}
_EXTREMA = {
    "arith.maxsi": (arith.CmpIPredicate.sgt, arith.CmpIPredicate.slt),
    "arith.minsi": (arith.CmpIPredicate.slt, arith.CmpIPredicate.sgt),
    "arith.maxui": (arith.CmpIPredicate.ugt, arith.CmpIPredicate.ult),
    "arith.minui": (arith.CmpIPredicate.ult, arith.CmpIPredicate.ugt),
}
"""To replace the old element: how the new one compares with it, and it with the new one."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A condition on a new element and the best so far.

    Attributes:
        condition: the value of the body that says whether the new one is better.
        new: the new element in the body.
        old: the best so far in the body.
        value: the number of the output for the element.
        position: the number of the output for its position.
        where: the position of the new element in the body; in the row it may begin beyond 0.
        places: all that the body computes of positions, the old one too.
    """

    condition: Any
    new: Any
    old: Any
    value: int
    position: int
    where: Any
    places: tuple[Any, ...]

    def row_start(self, ivs: Sequence[Any]) -> Any | None:
        """Return the position of the first element of a row; None where it is 0 in every row.

        Args:
            ivs: where the outer loops stand.
        """
        body = self.condition.owner.operation.block
        parts = parts_of(self.where, body)
        if all(part.owner.name in (_INDEX, "arith.index_cast") for part in parts):
            return None
        # The loops at `ivs`, others at 0.
        known = {
            op.results[0]: ivs[loop_of(op)] if loop_of(op) < len(ivs) else index(0)
            for op in ops_of(body)
            if op.name == _INDEX
        }
        return computed_anew(self.where, body, known)

    @cached_property
    def predicate(self) -> Any | None:
        """The comparison that says the same of floats where `old` is a number, and it must be one.

        None if absent.
        """
        if not isinstance(self.old.type, ir.FloatType):
            return None
        return _NAN_WINS.get(tuple(_holds(self.condition, self.new, case) for case in range(6)))

    def is_better(self, new: Any, old: Any) -> Any:
        """Return the condition of vectors of elements."""
        if self.predicate is None:
            return _evaluated(self.condition, {self.new: new, self.old: old})
        is_number = arith.cmpf(arith.CmpFPredicate.ORD, old, old)
        return arith.andi(arith.cmpf(self.predicate, new, old), is_number)


def choice_of(outputs: Sequence[Any], yielded: Sequence[Any], inner: int) -> Choice | None:
    """Return the choice that a body makes; None where it does something else.

    Args:
        outputs: the arguments of the body for the old elements of the outputs.
        yielded: their new elements.
        inner: the loop that reduces.
    """
    if len(outputs) != 2:
        return None
    for value, position in ((0, 1), (1, 0)):
        moved = producer(yielded[position])
        if moved is None or moved.name != "arith.select":
            continue
        condition, where, elsewhere = moved.operands
        new = _chosen(yielded[value], condition, outputs[value])
        if new is None or elsewhere != outputs[position] or len(list(elsewhere.uses)) != 1:
            continue
        body = outputs[value].owner
        if steps_of(where, inner, body) == 1 and _compares(condition, new, outputs[value]):
            places = (elsewhere, yielded[position], *parts_of(where, body))
            return Choice(condition, new, outputs[value], value, position, where, places)
    return None


def _chosen(value: Any, condition: Any, old: Any) -> Any | None:
    """Return the element that replaces `old` where the condition holds; None where none does."""
    op = producer(value)
    if op is None:
        return None
    if op.name == "arith.select":
        chosen, new, otherwise = op.operands
        return new if chosen == condition and otherwise == old else None
    if op.name not in _EXTREMA or old not in list(op.operands):
        return None
    (new,) = [operand for operand in op.operands if operand != old] or [None]
    compared = producer(condition)
    if new is None or compared is None or compared.name != "arith.cmpi":
        return None
    forwards, backwards = (comparison.value for comparison in _EXTREMA[op.name])
    predicate = ir.IntegerAttr(compared.attributes["predicate"]).value
    compared_operands = [new, old] if predicate == forwards else [old, new]
    is_same = predicate in (forwards, backwards) and list(compared.operands) == compared_operands
    return new if is_same else None


def _compares(condition: Any, new: Any, old: Any) -> bool:
    """Return whether a condition depends on nothing but how two elements compare, strictly."""
    op = producer(condition)
    if op is None:
        return False
    if op.name == "arith.constant":
        return True
    if op.name in _LOGIC:
        return all(_compares(operand, new, old) for operand in op.operands)
    if op.name not in _STRICT or any(operand not in (new, old) for operand in op.operands):
        return False
    return ir.IntegerAttr(op.attributes["predicate"]).value in _STRICT[op.name]


def _holds(condition: Any, new: Any, case: int) -> bool:
    """Return whether a condition on floats holds in one of the cases of `_COMPARED`."""
    op = condition.owner.operation
    if op.name == "arith.constant":
        return bool(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name in _LOGIC:
        first, second = (_holds(operand, new, case) for operand in op.operands)
        return {"andi": first & second, "ori": first | second, "xori": first ^ second}[op.name[6:]]
    predicate = arith.CmpFPredicate(ir.IntegerAttr(op.attributes["predicate"]).value)
    left, right = op.operands
    if left == right:
        is_nan = case == 5 or case == (3 if left == new else 4)
        return is_nan and predicate in (arith.CmpFPredicate.UNE, arith.CmpFPredicate.UNO)
    mirrored = (2, 1, 0, 4, 3, 5)
    return _COMPARED[predicate][case if left == new else mirrored[case]]


def _evaluated(value: Any, values: dict[Any, Any]) -> Any:
    if value in values:
        return values[value]
    op = value.owner.operation
    shape = next(iter(values.values())).type.shape
    type_ = ir.VectorType.get(shape, value.type)
    attributes = {name: op.attributes[name] for name in op.attributes}
    if op.name == "arith.constant":
        attributes["value"] = ir.DenseElementsAttr.get_splat(type_, attributes["value"])
    operands = [_evaluated(operand, values) for operand in op.operands]
    return ir.Operation.create(
        op.name, results=[type_], operands=operands, attributes=attributes
    ).results[0]


def steps_of(value: Any, loop: int, body: Any) -> int | None:
    """By how much a position in a body grows with a loop: 0 or 1; None for all else."""
    op = producer(value)
    if op is not None and op.name == _INDEX:
        return int(loop_of(op) == loop)
    if value.owner == body:
        return None
    if op is None or op.block != body or op.name == "arith.constant":
        return 0
    if op.name == "arith.index_cast":
        return steps_of(op.operands[0], loop, body)
    if op.name not in ("arith.addi", "arith.muli"):
        return None
    steps = [steps_of(operand, loop, body) for operand in op.operands]
    if steps == [0, 0]:
        return 0
    return 1 if op.name == "arith.addi" and steps in ([0, 1], [1, 0]) else None


def parts_of(value: Any, body: Any) -> list[Any]:
    """Return a position in a body and all that it is computed from there."""
    op = producer(value)
    if op is None or op.block != body:
        return []
    return [value, *(part for operand in op.operands for part in parts_of(operand, body))]
