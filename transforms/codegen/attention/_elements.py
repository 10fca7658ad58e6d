"""Elements of tensors and buffers as expressions of elements of others.

    %d = linalg.generic (b, q, k) -> ... ins(%p, %m) { exp(p - m) }

means that the element of %d at (b, q, k) is `exp(%p[b, q, k] - %m[b, q])`. The reader looks through
element-wise ops, and through reshapes that add or drop axes of one element. So the expression does
not depend on the division of a chain into ops. Loops are numbers; an axis of one element has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.maps import groups_of
from linalg_ext.structured.operands import static_sizes
from linalg_ext.transforms.codegen.base.payload import attributes_text, combination_of
from linalg_ext.transforms.ir_utils.generics import (
    extents_of,
    maps_of,
    output_of,
    parallel_loops,
    yielded_by,
)
from linalg_ext.transforms.ir_utils.walking import producer

from ._expressions import Applied, At, Element, Expression, Number, Position


@dataclass(frozen=True)
class Reduced:
    """An element of a reduction's result: a function, as `arith.addf`, combines the operand along
    loops, outermost first.
    """

    op: Any
    function: str
    operand: Expression
    initial: Expression
    loops: tuple[int, ...]


class ElementReader:
    """Reads elements, of tensors or of buffers that are written once.

    Attributes:
        seen: the ops that were looked through.
        sizes: the size of each loop; None for a dynamic one.
    """

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.sizes: dict[int, int | None] = {}

    def loop(self, size: int | None) -> int | None:
        """Return the number of a new loop; None for a loop of one step."""
        if size == 1:
            return None
        number = len(self.sizes)
        self.sizes[number] = size
        return number

    def at_output(self, op: Any) -> At:
        return tuple(map(self.loop, static_sizes(output_of(op))))

    def full(self, expression: Expression) -> Expression:
        """Expand all elements in an expression whose ops can be read."""
        if isinstance(expression, Applied):
            return expression.mapped(self.full)
        if isinstance(expression, Element):
            inner = self.behind(expression)
            if inner is not None:
                return self.full(inner)
        return expression

    def reduced(self, element: Expression, loops: Sequence[int] | None = None) -> Reduced | None:
        """Return the reduction that computes an element; None where no reduction does.

        Its loops get new numbers where none are given.
        """
        while isinstance(element, Element):
            op = writer(element.value)
            if op is None or op.name not in _RESHAPES:
                break
            reshaped = _before_reshape(op, element)
            if reshaped is None:
                return None
            self._note(op)
            element = reshaped
        if not isinstance(element, Element):
            return None
        op = writer(element.value)
        if op is None or not has_maps_and_body(op):
            return None
        initial = self._initial(op, element)
        return None if initial is None else self.reduction(op, element.at, initial, loops)

    def reduction(
        self, op: Any, at: At, initial: Expression, loops: Sequence[int] | None = None
    ) -> Reduced | None:
        """Return the reduction that an op computes.

        None where it is not a reduction, or does not combine the elements one by one.

        Args:
            at: the loops along the axes of its result.
            initial: the initial value of its destination.
            loops: the numbers of the reduction's loops; new ones if not given.
        """
        kinds = _kinds(op)
        bound = self._bound(op, at)
        if all(kinds) or _number_of_outputs(op) != 1 or bound is None:
            return None
        if not self._bind_reduced(op, bound, loops):
            return None
        combination = combination_of(op)
        if combination is None:
            return None
        combiner, value = combination
        read = self._scalar(op, value, bound)
        if read is None:
            return None
        self._note(op)
        inner = [bound[loop] for loop, is_parallel in enumerate(kinds) if not is_parallel]
        reduced_loops = tuple(loop for loop in inner if loop is not None)
        return Reduced(op, combiner.name, read, initial, reduced_loops)

    def _bind_reduced(
        self, op: Any, bound: dict[int, int | None], loops: Sequence[int] | None
    ) -> bool:
        """Bind the loops that an op reduces to numbers; return False if they do not fit."""
        sizes, remaining = extents_of(op), list(loops or ())
        for loop, is_parallel in enumerate(_kinds(op)):
            if is_parallel:
                continue
            if loops is None or sizes[loop] == 1:
                bound[loop] = self.loop(sizes[loop])
            elif remaining and self.sizes[remaining[0]] == sizes[loop]:
                bound[loop] = remaining.pop(0)
            else:
                return False
        return not remaining

    def _initial(self, op: Any, element: Element) -> Expression | None:
        """Return the initial value of a reduction's output; None where it is not known."""
        output = output_of(op)
        if len(op.results):
            return self.full(Element(output, element.at))
        first = _writers(output)
        if len(first) != 2:
            return None
        inner = self._body(first[0], element.at)
        return None if inner is None else self.full(inner)

    def behind(self, element: Element) -> Expression | None:
        """Return the expression of an element, one op deep.

        None where neither an element-wise op, a reshape nor a constant of one value computes it.
        """
        op = writer(element.value)
        if op is None:
            return None
        if op.name in _RESHAPES:
            reshaped = _before_reshape(op, element)
            if reshaped is not None:
                self._note(op)
            return reshaped
        if op.name == "arith.constant":
            return _splat(op)
        if not has_maps_and_body(op) or not all(_kinds(op)) or _number_of_outputs(op) != 1:
            return None
        return self._body(op, element.at)

    def _body(self, op: Any, at: At) -> Expression | None:
        bound = self._bound(op, at)
        if bound is None:
            return None
        body = op.regions[0].blocks[0]
        yielded = yielded_by(body)[0]
        expression = self._scalar(op, yielded, bound)
        if expression is not None:
            self._note(op)
        return expression

    def _bound(self, op: Any, at: At) -> dict[int, int | None] | None:
        """Return the loop of attention for each loop of an op that writes an element."""
        map_ = maps_of(op)[-1]
        bound: dict[int, int | None] = {}
        sizes = extents_of(op)
        for result, loop in zip(map_.results, at, strict=True):
            if isinstance(result, ir.AffineDimExpr):
                if result.position in bound:
                    return None
                bound[result.position] = loop
            elif result != ir.AffineExpr.get_constant(0):
                return None
        for loop, is_parallel in enumerate(_kinds(op)):
            if is_parallel and loop not in bound:
                if sizes[loop] != 1:
                    return None
                bound[loop] = None
        return bound

    def _scalar(self, op: Any, value: Any, bound: dict[int, int | None]) -> Expression | None:
        body = op.regions[0].blocks[0]
        for number, argument in enumerate(body.arguments):
            if value == argument:
                if number == len(body.arguments) - 1:
                    return None  # the old element
                return self._operand(op, number, bound)
        inner = producer(value)
        if inner is None:
            return None
        if inner.name == "arith.constant":
            return Number(str(inner.attributes["value"]))
        if inner.name == "linalg.index":
            loop = ir.IntegerAttr(inner.attributes["dim"]).value
            return Position(bound[loop]) if loop in bound else None
        if not inner.name.startswith(("arith.", "math.")) or len(inner.results) != 1:
            return None
        operands = [self._scalar(op, operand, bound) for operand in inner.operands]
        if any(operand is None for operand in operands):
            return None
        # Flags of one computation need not hold for another of the same value.
        attributes = attributes_text(inner, without=("fastmath", "overflowFlags"))
        known = tuple(operand for operand in operands if operand is not None)
        return Applied(inner.name, attributes, known, str(inner.results[0].type))

    def _operand(self, op: Any, number: int, bound: dict[int, int | None]) -> Expression | None:
        value = op.operands[number]
        if not isinstance(value.type, ir.ShapedType):
            constant = producer(value)
            if constant is None or constant.name != "arith.constant":
                return None
            return Number(str(constant.attributes["value"]))
        shape = ir.ShapedType(value.type)
        at: list[int | None] = []
        for axis, result in enumerate(maps_of(op)[number].results):
            if not shape.is_dynamic_dim(axis) and shape.get_dim_size(axis) == 1:
                at.append(None)
            elif isinstance(result, ir.AffineDimExpr) and result.position in bound:
                at.append(bound[result.position])
            else:
                return None
        return Element(value, tuple(at))

    def _note(self, op: Any) -> None:
        if op not in self.seen:
            self.seen.append(op)


_RESHAPES = frozenset(
    f"{dialect}.{name}_shape" for dialect in ("tensor", "memref") for name in ("expand", "collapse")
)


def has_maps_and_body(op: Any) -> bool:
    return op.name in ("linalg.generic", "linalg.contract")


def writer(value: Any) -> Any:
    """The op that computes a tensor, or a buffer that is written once; None if absent.

    An op that fills a buffer before a reduction does not count.
    """
    owner = producer(value)
    if not isinstance(value.type, ir.MemRefType):
        return owner
    if owner is None:
        return None
    if owner.name in _RESHAPES:
        return owner
    if owner.name != "memref.alloc":
        return None
    ops = _writers(value)
    if len(ops) == 2 and len(ops[0].operands) == 1 and not all(_kinds(ops[1])):
        return ops[1]
    return ops[0] if len(ops) == 1 else None


def _writers(buffer: Any) -> list[Any]:
    """Return the structured ops that write a buffer, in order; none if other ops may write it."""
    ops: list[Any] = []
    for use in buffer.uses:
        user = use.owner.operation
        if user.name in ("memref.dealloc", *_RESHAPES):
            continue
        if not has_maps_and_body(user) or user.block != producer(buffer).block:
            return []
        if use.operand_number == len(user.operands) - 1:
            ops.append(user)
    order: Callable[[Any, Any], int] = lambda a, b: -1 if a.is_before_in_block(b) else 1  # noqa: E731
    ops.sort(key=cmp_to_key(order))
    return ops


def _number_of_outputs(op: Any) -> int:
    return int(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[1])


def _kinds(op: Any) -> tuple[bool, ...]:
    if op.name == "linalg.contract":
        written = {
            result.position
            for result in maps_of(op)[-1].results
            if isinstance(result, ir.AffineDimExpr)
        }
        return tuple(loop in written for loop in range(maps_of(op)[-1].n_dims))
    return parallel_loops(op)


def _splat(op: Any) -> Number | None:
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    return Number(str(attribute.get_splat_value()))


def _before_reshape(op: Any, element: Element) -> Element | None:
    """Return the source element of a reshape that adds or drops axes of one element."""
    source, result = ir.ShapedType(op.operands[0].type), ir.ShapedType(op.results[0].type)
    expands = "expand" in op.name
    long = result if expands else source
    groups = groups_of(op)
    # A reshape from or to rank 0 has no groups: all its axes have one element.
    at: list[int | None] = [] if groups else [None] * source.rank
    for axis, axes in enumerate(groups):
        wide = [
            long_axis
            for long_axis in axes
            if long.is_dynamic_dim(long_axis) or long.get_dim_size(long_axis) != 1
        ]
        if len(wide) > 1:
            return None
        if expands:
            at.append(element.at[wide[0]] if wide else None)
        else:
            at.extend(element.at[axis] if long_axis in wide else None for long_axis in axes)
    return Element(op.operands[0], tuple(at))
