"""Attention in plain ops: which ops they are, and what they compute.

    scores[b, q, k]   = sum over d of query[b, q, d] * key[b, k, d]
    changed[b, q, k]  = a scale, masks, biases: any expression of the score, its place, and others
    weights[b, q, k]  = exp(changed - max over k of changed) / sum over k of the same
    result[b, q, d]   = sum over k of weights[b, q, k] * value[b, k, d]

b and q are any number of dimensions, in any order: what neither keys nor values have, as the heads
of a group that shares them, are rows as the queries are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.analysis.fills import preceding_zeros
from linalg_ext.transforms.codegen.base.payload import has_vector_form

from ._attention_plan import Loops
from ._elements import ElementReader, Reduced, has_maps_and_body, output_of, writer
from ._expressions import (
    NARROW,
    WIDE,
    Applied,
    At,
    Element,
    Expression,
    Number,
    Position,
    is_constant,
    is_seen_as_bits,
    number,
    product,
    replaced,
    type_of,
    unrounded,
    walk,
    widened,
)

ELEMENTS = ("f32", "f64")

_MAXIMA = ("arith.maximumf", "arith.maxnumf")

_LOWEST = {"f32": -3.4e38, "f64": -1.79e308}
"""The greatest start of a maximum that is accepted, by element type.

A start of NaN is accepted as well, where the maximum passes over NaN.
"""


@dataclass(frozen=True)
class Attention:
    """Attention, found in ops.

    Attributes:
        op: the one that writes the result.
        ops: all that belong to it, in order; of what is read by others too, some may not.
        query: an element of the queries; likewise `key` and `value`.
        result: the loop along each axis of the result.
        score: how `changed` names the sum of products of queries and keys.
        changed: what the softmax is of.
        masked_is_zero: whether a row of which every score is -inf gives zeros, and not NaN.
        loops: of all of it.
    """

    op: Any
    ops: tuple[Any, ...]
    query: Element
    key: Element
    value: Element
    result: At
    score: Element
    changed: Expression
    masked_is_zero: bool
    loops: Loops


_CASTS = ("arith.extf", "arith.truncf")

_NEAR = 2
"""Levels from weights to the exponential: they are chosen, or zeros, and divided by their sum."""


def find_attention(op: Any) -> Attention | str | None:
    """The attention that an op is the end of.

    Returns:
        The attention; why it is left where it is nearly one; None if it is not one.
    """
    if not has_maps_and_body(op) or len(op.operands) < 3:
        return None
    reader = ElementReader()
    at = reader.at_output(op)
    try:
        return _Finder(reader, op, at).found()
    except NotAttention as reason:
        return str(reason)


class _Finder:
    def __init__(self, reader: ElementReader, op: Any, at: At) -> None:
        self._reader = reader
        self._op = op
        self._at = at

    def found(self) -> Attention | str | None:
        reader, op = self._reader, self._op
        outer = reader.reduction(op, self._at, Number(""))
        if outer is None or outer.function != "arith.addf" or len(outer.loops) != 1:
            return None
        split = self._split(outer)
        if split is None:
            return None
        weights, value = split
        if not self._starts_from_zeros():
            raise NotAttention("the result does not start from zeros")
        (keys,) = outer.loops
        is_zero, changed = self._softmax(weights, keys)
        score, products = self._scores(changed, keys)
        query, key, scales = self._factors(products)
        scaled: Expression = score
        for scale in scales:
            scaled = Applied("arith.mulf", "", (scaled, scale), self._element_type())
        if scales:
            changed = replaced(changed, score, scaled)
        return self._classified(
            query, key, value, score, changed, keys, products.loops, is_zero=is_zero
        )

    def _element_type(self) -> str:
        return str(ir.ShapedType(output_of(self._op).type).element_type)

    def _starts_from_zeros(self) -> bool:
        if not len(self._op.results):
            return preceding_zeros(self._op) is not None
        reader = ElementReader()  # the destination stays where it is: it is none of the ops
        start = reader.full(Element(output_of(self._op), reader.at_output(self._op)))
        return number(start) == 0

    def _split(self, outer: Reduced) -> tuple[Expression, Element] | None:
        """The weights, looked through, and the values; None where there are no such weights."""
        factors = product(outer.operand)
        weights: list[Expression] = []
        others: list[Expression] = []
        for factor in factors:
            before = len(self._reader.seen)
            if not self._is_near_exponential(factor, _NEAR):
                del self._reader.seen[before:]
                others.append(self._narrow(factor))
                continue
            full = self._reader.full(factor)
            if any(isinstance(e, Applied) and e.name == "math.exp" for e in walk(full)):
                weights.append(full)
            else:
                del self._reader.seen[before:]
                others.append(self._narrow(factor))
        if len(weights) != 1 or len(others) != 1 or not isinstance(others[0], Element):
            return None
        return weights[0], others[0]

    def _is_near_exponential(self, expression: Expression, levels: int) -> bool:
        """Return whether an exponential is so near: of all that is computed before, much may be
        read.
        """
        while isinstance(expression, Element):
            inner = self._reader.behind(expression)
            if inner is None:
                return False
            expression = inner
        if not isinstance(expression, Applied):
            return False
        if expression.name == "math.exp":
            return True
        levels += expression.name in _CASTS
        return levels > 0 and any(
            self._is_near_exponential(each, levels - 1) for each in expression.operands
        )

    def _softmax(self, weights: Expression, keys: int) -> tuple[bool, Expression]:
        """Return whether masked rows give zeros, and what the softmax is of."""
        condition: Expression | None = None
        weights = unrounded(weights)
        if isinstance(weights, Applied) and weights.name == "arith.select":
            condition, zero, weights = weights.operands
            weights = unrounded(weights)
            if number(widened(zero)) != 0:
                raise NotAttention(
                    "the weights are selected by something other than the mask of whole rows"
                )
        if not isinstance(weights, Applied) or weights.name != "arith.divf":
            raise NotAttention("the weights are not divided by their sum")
        exponential, total = weights.operands
        if not isinstance(exponential, Applied) or exponential.name != "math.exp":
            raise NotAttention("the dividend is not an exponential")
        (difference,) = exponential.operands
        if not isinstance(difference, Applied) or difference.name != "arith.subf":
            raise NotAttention("the exponent is not a difference from a maximum")
        changed, maximum = difference.operands
        self._require(
            total, keys, ("arith.addf",), exponential, "the divisor is not the sum of the weights"
        )
        found = self._require(
            maximum, keys, _MAXIMA, changed, "the subtracted value is not a maximum"
        )
        self._check_lowest(found)
        if condition is not None:
            self._require_masked(condition, keys, changed)
        return condition is not None, changed

    def _require(
        self,
        element: Expression,
        keys: int,
        functions: tuple[str, ...],
        expected: Expression,
        otherwise: str,
    ) -> Reduced:
        found = self._reader.reduced(element, [keys])
        if found is None or found.function not in functions:
            raise NotAttention(otherwise)
        if self._reader.full(found.operand) != expected:
            raise NotAttention(otherwise)
        if found.function == "arith.addf" and number(found.initial) != 0:
            raise NotAttention(otherwise)
        return found

    def _check_lowest(self, maximum: Reduced) -> None:
        start = number(maximum.initial)
        is_nan = start is not None and start != start
        if start is None or (is_nan and maximum.function != "arith.maxnumf"):
            raise NotAttention("the maximum does not start from the lowest value")
        if not is_nan and start > _LOWEST[self._element_type()]:
            raise NotAttention("the maximum does not start from the lowest value")

    def _require_masked(self, condition: Expression, keys: int, changed: Expression) -> None:
        found = self._reader.reduced(condition, [keys])
        otherwise = "the weights are selected by something other than the mask of whole rows"
        if found is None or found.function != "arith.andi" or number(found.initial) != 1:
            raise NotAttention(otherwise)
        compared = self._reader.full(found.operand)
        if not isinstance(compared, Applied) or compared.name != "arith.cmpf":
            raise NotAttention(otherwise)
        score, limit = compared.operands
        is_equal = compared.attributes == "predicate = 1 : i64"  # oeq
        is_lowest = number(_as_f32(limit)) == float("-inf")
        if not is_equal or not is_lowest or _as_f32(score) != _as_f32(changed):
            raise NotAttention(otherwise)

    def _scores(self, changed: Expression, keys: int) -> tuple[Element, Reduced]:
        """The sum of products of queries and keys among what the softmax is of."""
        found: list[tuple[Element, Reduced]] = []
        for each in dict.fromkeys(map(_Hashed, walk(changed))):
            element = each.expression
            if not isinstance(element, Element) or keys not in element.at:
                continue
            before = len(self._reader.seen)
            products = self._reader.reduced(element)
            if products is not None and _is_sum_of_products(products):
                found.append((element, products))
            else:
                del self._reader.seen[before:]
        if len(found) != 1:
            raise NotAttention("the scores are not a product of two operands")
        return found[0]

    def _factors(self, products: Reduced) -> tuple[Element, Element, list[Expression]]:
        """Queries, keys, and constants that they are multiplied by."""
        scales: list[Expression] = []
        elements: list[Element] = []
        for factor in map(self._narrow, product(products.operand)):
            if isinstance(factor, Element):
                elements.append(self._unscaled(factor, scales))
            else:
                scales.append(factor)
        one, other = elements
        return one, other, scales

    def _narrow(self, factor: Expression) -> Expression:
        """A factor as it lies in memory: before it was widened to be multiplied."""
        before = len(self._reader.seen)
        inner = self._reader.behind(factor) if isinstance(factor, Element) else factor
        if isinstance(inner, Applied) and inner.name == "arith.extf":
            (narrow,) = inner.operands
            if isinstance(narrow, Element) and type_of(narrow) in NARROW and inner.type == WIDE:
                return narrow
        del self._reader.seen[before:]
        return factor

    def _unscaled(self, element: Element, scales: list[Expression]) -> Element:
        """An operand before it was multiplied by constants, which join the others."""
        while True:
            before = len(self._reader.seen)
            factors = product(self._reader.behind(element) or element)
            inner = [factor for factor in factors if isinstance(factor, Element)]
            others = [factor for factor in factors if not isinstance(factor, Element)]
            if len(inner) != 1 or not others or not all(map(is_constant, others)):
                del self._reader.seen[before:]
                return element
            (element,) = inner
            scales += others

    def _classified(
        self,
        query: Element,
        key: Element,
        value: Element,
        score: Element,
        changed: Expression,
        keys: int,
        depth: tuple[int, ...],
        *,
        is_zero: bool,
    ) -> Attention:
        if keys in query.at:
            query, key = key, query
        if keys in query.at or keys not in key.at or keys not in value.at:
            raise NotAttention("the queries and keys cannot be distinguished")
        scored = [loop for loop in self._at if loop is not None and loop in score.at]
        columns = [loop for loop in self._at if loop is not None and loop not in score.at]
        batch = tuple(loop for loop in scored if loop in key.at or loop in value.at)
        rows = tuple(loop for loop in scored if loop not in batch)
        known = {*batch, *rows, keys, *depth}
        reached = {loop for each in (query, key, score) for loop in each.at if loop is not None}
        if not reached <= known or not all(loop in query.at for loop in rows):
            raise NotAttention("the queries or keys have a dimension of their own")
        if not {loop for loop in value.at if loop is not None} <= {*batch, keys, *columns}:
            raise NotAttention("the values have a dimension of their own")
        if not columns or not all(loop in value.at for loop in columns) or not depth:
            raise NotAttention("the keys or values have one element each")
        if not all(loop in query.at and loop in key.at for loop in depth):
            raise NotAttention("the queries and keys do not share the summed dimensions")
        sizes = self._reader.sizes
        if 0 in sizes.values():
            raise NotAttention("a dimension of the attention is empty")
        if any(sizes[loop] is None for loop in (*depth, *columns)):
            raise NotAttention("the lengths of keys and values are not known")
        loops = Loops(batch, rows, keys, depth, tuple(columns), sizes)
        queries = loops.count(rows)
        if queries is not None and queries < _LEAST_ROWS:
            raise NotAttention("the queries are few")
        element = self._element_type()
        if type_of(score) not in ELEMENTS:
            raise NotAttention("the scores are not f32 or f64")
        for each in (query, key, value, score):
            if type_of(each) != element and not (element == WIDE and type_of(each) in NARROW):
                raise NotAttention("the element types are mixed")
        check_on_vectors(changed, {*batch, *rows, keys})
        ops = in_order(self._reader.seen)
        check_alone(ops, writer(score.value), self._op)
        return Attention(
            self._op, ops, query, key, value, self._at, score, widened(changed), is_zero,
            loops,
        )  # fmt: skip


@dataclass(frozen=True)
class _Hashed:
    """An expression that is found again by being equal, as values have no order to go by."""

    expression: Expression

    def __hash__(self) -> int:
        return 0


def _as_f32(expression: Expression) -> Expression:
    """An expression as f32, whether it was widened to that, or from it to f64."""
    wide = widened(expression)
    if isinstance(wide, Applied) and wide.name == "arith.extf" and type_of(wide) == "f64":
        return wide.operands[0]
    return wide


def _is_sum_of_products(found: Reduced) -> bool:
    factors = product(found.operand)
    elements = [factor for factor in factors if isinstance(factor, Element) or _is_widened(factor)]
    others = [factor for factor in factors if factor not in elements]
    constants = all(map(is_constant, others))
    is_sum = found.function == "arith.addf" and number(found.initial) == 0
    return is_sum and len(elements) == 2 and constants


def _is_widened(factor: Expression) -> bool:
    return (
        isinstance(factor, Applied)
        and factor.name == "arith.extf"
        and isinstance(factor.operands[0], Element)
    )


_LEAST_ROWS = 4
"""With fewer queries for a head, putting its keys in order is not repaid."""


class NotAttention(Exception):
    """Why something that resembles attention is left; caught where it was asked."""


def check_on_vectors(changed: Expression, loops: set[int]) -> None:
    for each in walk(changed):
        if is_seen_as_bits(each):
            raise NotAttention("the scores are read as bits")
        if isinstance(each, Applied):
            if not has_vector_form(each.name, each.type):
                raise NotAttention(f"the scores go through {each.name}")
        elif isinstance(each, Element):
            if not {loop for loop in each.at if loop is not None} <= loops:
                raise NotAttention("the mask has a dimension of its own")
        elif isinstance(each, Position) and each.loop is not None and each.loop not in loops:
            raise NotAttention("the mask depends on another position")


def in_order(ops: list[Any]) -> tuple[Any, ...]:
    """The ops in the order of their block, in which all must be."""
    if any(op.block != ops[0].block for op in ops):
        raise NotAttention("the ops are in several blocks")
    order = [other.operation for other in ops[0].block.operations]
    return tuple(sorted(ops, key=order.index))


def check_alone(ops: tuple[Any, ...], scores: Any, last: Any) -> None:
    """Check that no other op reads the scores, or values computed from them."""
    of_scores = [scores]
    for op in ops:
        if op == last or op.name == "arith.constant":
            continue
        inputs = list(op.operands)[: 1 if "shape" in op.name else len(op.operands) - 1]
        writers = [writer(value) for value in inputs]
        if op != scores and not any(each in of_scores for each in writers if each is not None):
            continue
        of_scores.append(op)
        result = op.results[0] if len(op.results) else output_of(op)
        for use in result.uses:
            user = use.owner.operation
            fills = len(user.operands) == 1 and has_maps_and_body(user)
            if user not in ops and user.name != "memref.dealloc" and not fills:
                raise NotAttention("the scores or weights are read by other ops")
