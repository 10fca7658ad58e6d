"""Attention in plain ops: the search for its ops, and their meaning.

    scores[b, q, k]   = sum over d of query[b, q, d] * key[b, k, d]
    changed[b, q, k]  = a scale, masks, biases: any expression of the score, its place, and others
    weights[b, q, k]  = exp(changed - max over k of changed) / sum over k of the same
    result[b, q, d]   = sum over k of weights[b, q, k] * value[b, k, d]

b and q are any number of dimensions, in any order. Dimensions that neither keys nor values have, as
the heads of a group that shares them, are rows as the queries are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.analysis.fills import preceding_zeros
from linalg_ext.transforms.codegen.base.payload import has_vector_form
from linalg_ext.transforms.ir_utils.generics import output_of
from linalg_ext.transforms.ir_utils.walking import ops_of

from ._attention_plan import Loops
from ._elements import ElementReader, Reduced, has_maps_and_body, writer
from ._expressions import (
    NARROW,
    WIDE,
    Applied,
    At,
    Element,
    Expression,
    Number,
    Position,
    elements_of,
    is_constant,
    is_op,
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
    """Attention, read from ops.

    Attributes:
        op: the op that writes the result.
        ops: all its ops, in order, without some whose results other ops read, too.
        query: an element of the queries; likewise `key` and `value`.
        result: the loop along each axis of the result.
        score: the sum of products of queries and keys, as an element in `changed`.
        changed: the operand of the softmax.
        masked_is_zero: whether a row of which every score is -inf gives zeros, and not NaN.
        loops: its loops.
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


_OTHER_SELECTION = "the weights are selected by something other than the mask of whole rows"

_CASTS = ("arith.extf", "arith.truncf")

_NEAR = 2
"""Levels from weights to the exponential: a select of the weights or zeros, and a division."""


def find_attention(op: Any) -> Attention | str | None:
    """Return the attention that an op is the end of.

    A reason is returned for ops that are nearly attention, and None for all others.
    """
    if not has_maps_and_body(op) or len(op.operands) < 3:
        return None
    try:
        return _Finder(op).match()
    except NotAttention as reason:
        return str(reason)


class _Finder:
    def __init__(self, op: Any) -> None:
        self._op = op
        self._reader = ElementReader()
        self._at = self._reader.at_output(op)
        self._element_type = str(ir.ShapedType(output_of(op).type).element_type)

    def match(self) -> Attention | None:
        outer = self._reader.reduction(self._op, self._at, Number(""))
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
        query, key, scales = self._factors(products, keys)
        scaled: Expression = score
        for scale in scales:
            scaled = Applied("arith.mulf", "", (scaled, scale), self._element_type)
        if scales:
            changed = replaced(changed, score, scaled)
        loops = self._loops(query, key, value, score, keys, products.loops)
        element = self._element_type
        if type_of(score) not in ELEMENTS:
            raise NotAttention("the scores are not f32 or f64")
        for part in (query, key, value, score):
            if type_of(part) != element and not (element == WIDE and type_of(part) in NARROW):
                raise NotAttention("the element types are mixed")
        check_on_vectors(changed, {*loops.batch, *loops.rows, keys})
        ops = in_order(self._reader.seen)
        check_alone(ops, writer(score.value), self._op)
        return Attention(
            self._op, ops, query, key, value, self._at, score, widened(changed), is_zero,
            loops,
        )  # fmt: skip

    def _starts_from_zeros(self) -> bool:
        if not len(self._op.results):
            return preceding_zeros(self._op) is not None
        reader = ElementReader()  # the destination stays where it is: it is none of the ops
        start = reader.full(Element(output_of(self._op), reader.at_output(self._op)))
        return number(start) == 0

    def _split(self, outer: Reduced) -> tuple[Expression, Element] | None:
        """Return the weights, fully expanded, and the values; None if no factor is a softmax."""
        weights: list[Expression] = []
        values: list[Expression] = []
        for factor in product(outer.operand):
            before = len(self._reader.seen)
            if self._is_near_exponential(factor, _NEAR):
                full = self._reader.full(factor)
                if any(is_op(part, "math.exp") for part in walk(full)):
                    weights.append(full)
                    continue
            del self._reader.seen[before:]
            values.append(self._narrow(factor))
        if len(weights) != 1 or len(values) != 1 or not isinstance(values[0], Element):
            return None
        return weights[0], values[0]

    def _is_near_exponential(self, expression: Expression, levels: int) -> bool:
        """Return whether an exponential is within some levels; expanding all may take long."""
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
            self._is_near_exponential(operand, levels - 1) for operand in expression.operands
        )

    def _softmax(self, weights: Expression, keys: int) -> tuple[bool, Expression]:
        """Return whether fully masked rows give zeros, and the operand of the softmax."""
        condition: Expression | None = None
        weights = unrounded(weights)
        if is_op(weights, "arith.select"):
            condition, zero, weights = weights.operands
            weights = unrounded(weights)
            if number(widened(zero)) != 0:
                raise NotAttention(_OTHER_SELECTION)
        if not is_op(weights, "arith.divf"):
            raise NotAttention("the weights are not divided by their sum")
        exponential, total = weights.operands
        if not is_op(exponential, "math.exp"):
            raise NotAttention("the dividend is not an exponential")
        (difference,) = exponential.operands
        if not is_op(difference, "arith.subf"):
            raise NotAttention("the exponent is not a difference from a maximum")
        changed, maximum = difference.operands
        reason = "the divisor is not the sum of the weights"
        if self._reduced(total, keys, ("arith.addf",), reason, 0).operand != exponential:
            raise NotAttention(reason)
        reason = "the subtracted value is not a maximum"
        largest = self._reduced(maximum, keys, _MAXIMA, reason)
        if largest.operand != changed:
            raise NotAttention(reason)
        self._check_lowest(largest)
        if condition is not None:
            self._require_masked(condition, keys, changed)
        return condition is not None, changed

    def _reduced(
        self,
        element: Expression,
        keys: int,
        functions: tuple[str, ...],
        otherwise: str,
        initial: float | None = None,
    ) -> Reduced:
        """Return the reduction of an element over the keys, its operand fully expanded."""
        reduced = self._reader.reduced(element, [keys])
        if reduced is None or reduced.function not in functions:
            raise NotAttention(otherwise)
        if initial is not None and number(reduced.initial) != initial:
            raise NotAttention(otherwise)
        return replace(reduced, operand=self._reader.full(reduced.operand))

    def _check_lowest(self, maximum: Reduced) -> None:
        start = number(maximum.initial)
        is_nan = start is not None and start != start
        is_lowest = start is not None and start <= _LOWEST[self._element_type]
        if not is_lowest and not (is_nan and maximum.function == "arith.maxnumf"):
            raise NotAttention("the maximum does not start from the lowest value")

    def _require_masked(self, condition: Expression, keys: int, changed: Expression) -> None:
        compared = self._reduced(condition, keys, ("arith.andi",), _OTHER_SELECTION, 1).operand
        if not is_op(compared, "arith.cmpf"):
            raise NotAttention(_OTHER_SELECTION)
        score, limit = compared.operands
        is_equal = compared.attributes == "predicate = 1 : i64"  # oeq
        is_lowest = number(_as_f32(limit)) == float("-inf")
        if not is_equal or not is_lowest or _as_f32(score) != _as_f32(changed):
            raise NotAttention(_OTHER_SELECTION)

    def _scores(self, changed: Expression, keys: int) -> tuple[Element, Reduced]:
        """Return the sum of products of queries and keys in the operand of the softmax."""
        scores: list[tuple[Element, Reduced]] = []
        for element in elements_of(changed):
            if keys not in element.at:
                continue
            before = len(self._reader.seen)
            products = self._reader.reduced(element)
            if products is not None and _is_sum_of_products(products):
                scores.append((element, products))
            else:
                del self._reader.seen[before:]
        if len(scores) != 1:
            raise NotAttention("the scores are not a product of two operands")
        return scores[0]

    def _factors(self, products: Reduced, keys: int) -> tuple[Element, Element, list[Expression]]:
        """Return queries, keys, and the constants that multiply them."""
        scales: list[Expression] = []
        elements: list[Element] = []
        for factor in map(self._narrow, product(products.operand)):
            if isinstance(factor, Element):
                elements.append(self._unscaled(factor, scales))
            else:
                scales.append(factor)
        query, key = sorted(elements, key=lambda element: keys in element.at)
        return query, key, scales

    def _narrow(self, factor: Expression) -> Expression:
        """Return a factor in memory, before it was widened for the product."""
        before = len(self._reader.seen)
        inner = self._reader.behind(factor) if isinstance(factor, Element) else factor
        if inner is not None and is_op(inner, "arith.extf"):
            (narrow,) = inner.operands
            if isinstance(narrow, Element) and type_of(narrow) in NARROW and inner.type == WIDE:
                return narrow
        del self._reader.seen[before:]
        return factor

    def _unscaled(self, element: Element, scales: list[Expression]) -> Element:
        """Return an operand before constants multiplied it; they join the scales."""
        while True:
            before = len(self._reader.seen)
            factors = product(self._reader.behind(element) or element)
            inner = [factor for factor in factors if isinstance(factor, Element)]
            constants = [factor for factor in factors if not isinstance(factor, Element)]
            if len(inner) != 1 or not constants or not all(map(is_constant, constants)):
                del self._reader.seen[before:]
                return element
            (element,) = inner
            scales += constants

    def _loops(
        self, query: Element, key: Element, value: Element, score: Element, keys: int,
        depth: tuple[int, ...],
    ) -> Loops:  # fmt: skip
        if keys in query.at or keys not in key.at or keys not in value.at:
            raise NotAttention("the queries and keys cannot be distinguished")
        scored = [loop for loop in self._at if loop is not None and loop in score.at]
        columns = [loop for loop in self._at if loop is not None and loop not in score.at]
        batch = tuple(loop for loop in scored if loop in key.at or loop in value.at)
        rows = tuple(loop for loop in scored if loop not in batch)
        reached = query.loops | key.loops | score.loops
        if not reached <= {*batch, *rows, keys, *depth} or not set(rows) <= query.loops:
            raise NotAttention("the queries or keys have a dimension of their own")
        if not value.loops <= {*batch, keys, *columns}:
            raise NotAttention("the values have a dimension of their own")
        if not columns or not set(columns) <= value.loops or not depth:
            raise NotAttention("the keys or values have one element each")
        if not set(depth) <= query.loops & key.loops:
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
        return loops


def _as_f32(expression: Expression) -> Expression:
    """Return an expression as f32, whether it was widened to that, or from it to f64."""
    wide = widened(expression)
    if is_op(wide, "arith.extf") and type_of(wide) == "f64":
        return wide.operands[0]
    return wide


def _is_sum_of_products(reduced: Reduced) -> bool:
    factors = product(reduced.operand)
    narrow = [factor.operands[0] if is_op(factor, "arith.extf") else factor for factor in factors]
    scales = [
        factor
        for factor, inner in zip(factors, narrow, strict=True)
        if not isinstance(inner, Element)
    ]
    is_sum = reduced.function == "arith.addf" and number(reduced.initial) == 0
    return is_sum and len(factors) - len(scales) == 2 and all(map(is_constant, scales))


_LEAST_ROWS = 4
"""The least queries of a head for which packing its keys pays."""


class NotAttention(Exception):
    """The reason why ops that resemble attention are not."""


def check_on_vectors(changed: Expression, loops: set[int]) -> None:
    for part in walk(changed):
        if is_op(part, "arith.bitcast"):
            raise NotAttention("the scores are read as bits")
        if isinstance(part, Applied):
            if not has_vector_form(part.name, part.type):
                raise NotAttention(f"the scores go through {part.name}")
        elif isinstance(part, Element):
            if not part.loops <= loops:
                raise NotAttention("the mask has a dimension of its own")
        elif isinstance(part, Position) and part.loop is not None and part.loop not in loops:
            raise NotAttention("the mask depends on another position")


def in_order(ops: list[Any]) -> tuple[Any, ...]:
    """Return the ops in the order of their block, in which all must be."""
    if any(op.block != ops[0].block for op in ops):
        raise NotAttention("the ops are in several blocks")
    order = ops_of(ops[0].block)
    return tuple(sorted(ops, key=order.index))


def check_alone(ops: tuple[Any, ...], scores: Any, last: Any) -> None:
    """Check that no other op reads the scores, or values computed from them."""
    of_scores = [scores]
    for op in ops:
        if op == last or op.name == "arith.constant":
            continue
        inputs = list(op.operands)[: 1 if "shape" in op.name else len(op.operands) - 1]
        writers = [writer(value) for value in inputs]
        if op != scores and not any(
            writing_op in of_scores for writing_op in writers if writing_op is not None
        ):
            continue
        of_scores.append(op)
        result = op.results[0] if len(op.results) else output_of(op)
        for use in result.uses:
            user = use.owner.operation
            fills = len(user.operands) == 1 and has_maps_and_body(user)
            if user not in ops and user.name != "memref.dealloc" and not fills:
                raise NotAttention("the scores or weights are read by other ops")
