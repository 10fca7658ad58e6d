"""Conditions that must hold of an op when it runs: checked if known from the IR, else asserted."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from linalg_ext.bindings import affine, arith, cf, ir, linalg, memref, tensor
from linalg_ext.structured.constants import index
from linalg_ext.structured.operands import grouped
from linalg_ext.transforms.ir_utils.arithmetic import constant, element_of_constant
from linalg_ext.transforms.ir_utils.generics import loop_of
from linalg_ext.transforms.ir_utils.tensor_loops import compare, sub
from linalg_ext.transforms.ir_utils.walking import is_unused, producer, text_of

Origin: TypeAlias = "int | tuple[Any, int] | Any"
"""A number; a tensor or a memref with one of its dimensions; or a value of any kind."""

_DIMS = ("tensor.dim", "memref.dim")
_LOOPS = ("scf.for", "affine.for")
_LOOP = "scf.for"
_SAME_SHAPE = {
    **dict.fromkeys(("tensor.insert", "tensor.insert_slice"), 1),
    **dict.fromkeys(("linalg.pack", "linalg.softmax", "linalg.unpack"), 1),
    **dict.fromkeys(("tensor.cast", "memref.cast"), 0),
}
"""The number of the operand that has the shape of the result."""
_SIZES = {
    **dict.fromkeys(("tensor.empty", "tensor.generate", "memref.alloc", "memref.alloca"), 0),
    "tensor.splat": 1,
}
"""The number of the operand at which the dynamic sizes of the result begin."""

Shapes: TypeAlias = dict[Any, Any]
"""Values, and for each the first one of its shape: a shape that was found is not looked for
again.
"""


def origin_of_number(value: Any, shapes: Shapes | None = None) -> Origin:
    """Return the origin of a number of type `index`."""
    element = element_of_constant(value)
    if element is not None:
        return int(ir.IntegerAttr(element).value)
    op = producer(value)
    if op is None or op.name not in _DIMS:
        return value
    axis = element_of_constant(op.operands[1])
    if axis is None:
        return value
    return origin_of_size(op.operands[0], ir.IntegerAttr(axis).value, shapes)


def origin_of_size(value: Any, axis: int, shapes: Shapes | None = None) -> Origin:
    """Return the origin of a size of a tensor or a memref."""
    type_ = value.type
    if not isinstance(type_, ir.RankedTensorType | ir.MemRefType) or axis not in range(type_.rank):
        return value, axis
    if not type_.is_dynamic_dim(axis):
        return int(type_.get_dim_size(axis))
    first = _first_of_shape(value, {} if shapes is None else shapes)
    if first != value and not first.type.is_dynamic_dim(axis):
        return int(first.type.get_dim_size(axis))
    op = producer(first)
    if op is not None and op.name in _SIZES:
        before = sum(first.type.is_dynamic_dim(position) for position in range(axis))
        return origin_of_number(op.operands[_SIZES[op.name] + before], shapes)
    return first, axis


def is_position(value: Any) -> bool:
    """Return whether a value is the position of a loop."""
    op = producer(value)
    if op is not None:
        return bool(op.name == "linalg.index")
    loop = value.owner.owner
    return loop is not None and loop.operation.name in _LOOPS and value.arg_number == 0


def ends_of(position: Any) -> list[Origin]:
    """Return the numbers that the position of a loop stays below."""
    index = producer(position)
    if index is not None:
        op, dim = index.block.owner.operation, ir.AffineDimExpr.get(loop_of(index))
        maps: Any = linalg.get_indexing_maps(op)
        return [
            origin_of_size(value, axis)
            for value, map_ in zip(op.operands, maps, strict=True)
            for axis, result in enumerate(ir.AffineMapAttr(map_).value.results)
            if result == dim
        ]
    loop = position.owner.owner.operation
    return _least(loop.operands[1]) if loop.name == _LOOP else []


def _least(number: Any) -> list[Origin]:
    """Return the origin of a number; for a minimum, the origins of its operands."""
    op = producer(number)
    if op is None or op.name != "arith.minsi":
        return [origin_of_number(number)]
    return [origin for operand in op.operands for origin in _least(operand)]


def _first_of_shape(value: Any, shapes: Shapes) -> Any:
    """Return the first value of a value's shape, and remember it for all values in between."""
    passed = []
    while value not in shapes:
        shape = _of_equal_shape(value)
        if shape is None or not _is_ranked_as(shape, value):
            shapes[value] = value
            break
        passed.append(value)
        value = shape
    first = shapes[value]
    shapes.update(dict.fromkeys(passed, first))
    return first


def _is_ranked_as(value: Any, other: Any) -> bool:
    kinds = ir.RankedTensorType | ir.MemRefType
    return isinstance(value.type, kinds) and value.type.rank == other.type.rank


def _of_equal_shape(value: Any) -> Any | None:
    """Return a value of the same shape that the value is computed from; None if unknown."""
    op = producer(value)
    if op is None:
        loop = value.owner.owner
        is_loop = loop is not None and loop.operation.name == _LOOP
        return _carried(loop.operation, value.arg_number - 1) if is_loop else None
    if op.name in _SAME_SHAPE:
        return op.operands[_SAME_SHAPE[op.name]]
    if op.name == _LOOP:
        return _carried(op, value.result_number)
    if op.name.startswith("linalg.") and "operandSegmentSizes" in op.attributes:
        # The destinations are the last operands, one for each result.
        return op.operands[len(op.operands) - len(op.results) + value.result_number]
    if op.name.startswith(("arith.", "math.")):
        # Elementwise ops on whole tensors have operands of one shape.
        return next(
            (operand for operand in op.operands if isinstance(operand.type, ir.RankedTensorType)),
            None,
        )
    return None


def _carried(loop: Any, number: int) -> Any | None:
    """Return the initial value of a loop that keeps the shape in each iteration; else None."""
    if number < 0:
        return None
    block = loop.regions[0].blocks[0]
    argument = block.arguments[number + 1]
    value = block.operations[len(block.operations) - 1].operands[number]
    while value != argument:
        shape = None if producer(value) is None else _of_equal_shape(value)
        if shape is None:
            return None
        value = shape
    return loop.operands[number + 3]


DYNAMIC = ir.ShapedType.get_dynamic_size()

Range = tuple[int, int]
"""The least and the greatest that a number can be."""

_ENDLESS = -(1 << 63), (1 << 63) - 1


class Bounds:
    """The conditions of one op, asserted at the insertion point: an assertion for each reason.

    Args:
        op: the op.
        shapes: the first value of each shape, shared by the ops of a module.
    """

    def __init__(self, op: Any, shapes: Shapes) -> None:
        self.op = op
        self._known = shapes
        self._held: dict[str, list[Any]] = {}
        self._sizes: dict[Origin, Any] = {}
        self._made: list[Any] = []

    def size(self, value: Any, axis: int) -> Any:
        """Return a size of a tensor or a memref: a number where it is known from the IR."""
        origin = origin_of_size(value, axis, self._known)
        if not isinstance(origin, tuple):
            return origin
        if origin not in self._sizes:
            value, axis = origin
            dim = memref.dim if isinstance(value.type, _MEMREFS) else tensor.dim
            number = index(axis)
            self._sizes[origin] = dim(value, number)
            self._made += [number.owner, self._sizes[origin].owner]
        return self._sizes[origin]

    def sizes(self, value: Any) -> list[Any]:
        """Return all sizes of a tensor or a memref."""
        return [self.size(value, axis) for axis in range(value.type.rank)]

    def number(self, value: Any) -> Any:
        """Return a number if the value is known, else one value for all that are the same size."""
        if isinstance(value, int):
            return value
        origin = origin_of_number(value, self._known)
        if not isinstance(origin, tuple):
            return origin
        return self._sizes.setdefault(origin, value)

    def within(self, start: Any, count: Any, size: Any) -> None:
        """Require that `count` positions from a start on are below a size, and none is negative."""
        self.at_most(0, start)
        self.at_most(0, count)
        if count == 1:
            self.below(start, size)
        else:
            self.at_most(start, sub(size, count))

    def below(self, left: Any, right: Any, reason: str = "") -> None:
        """Require that a number, or a value, is less than another."""
        if range_of(left)[1] < range_of(right)[0]:
            return
        if not isinstance(left, int) and is_position(left):
            end = right if isinstance(right, int) else origin_of_number(right, self._known)
            if end in ends_of(left):
                return
        self.holds(compare("slt", left, right), reason)

    def at_most(self, left: Any, right: Any, reason: str = "") -> None:
        """Require that a number, or a value, is no greater than another."""
        if range_of(left)[1] > range_of(right)[0]:
            self.holds(compare("sle", left, right), reason)

    def equal(self, left: Any, right: Any, reason: str = "") -> None:
        """Require that a number, or a value, is equal to another."""
        if left is not right and left != right:
            self.holds(compare("eq", left, right), reason)

    def holds(self, condition: Any, reason: str = "") -> None:
        """Require a condition: a value of type i1, or a known answer."""
        if condition is not True:
            self._held.setdefault(reason, []).append(condition)

    def not_negative(self, sizes: Iterable[Any]) -> None:
        """Require that sizes given as numbers are 0 or more."""
        for size in sizes:
            self.at_most(0, size, "a size is negative")

    def product(self, factors: Iterable[Any], reason: str = "") -> Any:
        """Return a product of numbers that are 0 or more; require that 63 bits hold it."""
        result: Any = 1
        for factor in sorted(factors, key=lambda term: not isinstance(term, int)):
            if isinstance(result, int) and (result == 1 or isinstance(factor, int)):
                result = factor if result == 1 else result * factor
                continue
            if isinstance(result, int) and not 0 < result <= _ENDLESS[1]:
                self.holds(result == 0, reason)
                return 0
            i64 = ir.IntegerType.get_signless(64)
            product = arith.MulUIExtendedOp(
                *(arith.index_cast(i64, index(term)) for term in (result, factor))
            )
            zero = constant(product.low.type, 0)
            self.holds(arith.cmpi(arith.CmpIPredicate.eq, product.high, zero), reason)
            self.holds(arith.cmpi(arith.CmpIPredicate.sge, product.low, zero), reason)
            result = arith.index_cast(ir.IndexType.get(), product.low)
        return result

    def emit(self) -> bool:
        """Assert all of it, at the insertion point; True if there is any."""
        if not self._held:
            for dim in reversed(self._made):
                if is_unused(dim.results[0]):
                    dim.erase()
            return False
        text, location = text_of(self.op), self.op.location
        with ir.Location.name(text, location):
            for reason, conditions in self._held.items():
                name = self.op.name
                message = f"{name}: {reason}" if reason else f"out-of-bounds access: {name}"
                cf.AssertOp(functools.reduce(arith.andi, map(as_condition, conditions)), message)
        return True


_MEMREFS = ir.MemRefType | ir.UnrankedMemRefType


def as_condition(answer: Any) -> Any:
    """Return an answer as a constant of type i1; a value as it is."""
    if isinstance(answer, bool):
        return constant(ir.IntegerType.get_signless(1), answer)
    return answer


def mixed(op: Any, static: str, dynamic: Sequence[Any]) -> list[Any]:
    """Return the numbers of an attribute, with values for the dynamic ones."""
    remaining = iter(dynamic)
    sizes = ir.DenseI64ArrayAttr(op.attributes[static])
    return [next(remaining) if size == DYNAMIC else size for size in sizes]


def operand_groups(op: Any) -> list[list[Any]]:
    """Return the operands of an op, by its segments."""
    counts: Any = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return grouped(op.operands, counts)


def apply_map(map_: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the results of an affine map: numbers, operands, and `affine.apply` of the rest."""
    return [_apply_result(map_, number, list(operands)) for number in range(len(map_.results))]


def _apply_result(map_: Any, number: int, operands: list[Any]) -> Any:
    expr = map_.results[number]
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return operands[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return operands[map_.n_dims + expr.position]
    return affine.AffineApplyOp(map_.get_submap([number]), operands).result


def range_of(value: Any) -> Range:
    """Return the range of an integer or an index, from its constants, its loops and its bounds."""
    if isinstance(value, int):
        return value, value
    op = producer(value)
    if op is None:
        return _of_argument(value)
    match op.name:
        case "tensor.dim" | "memref.dim":
            return 0, _ENDLESS[1]
        case "linalg.index":
            ends = [end for end in ends_of(value) if isinstance(end, int)]
            return 0, min(ends, default=1 << 63) - 1
        case "arith.constant":
            value = ir.IntegerAttr(op.attributes["value"]).value
            return value, value
        case "arith.index_cast":
            # The cast keeps an integer of up to 64 bits.
            return range_of(op.operands[0])
        case "arith.minsi":
            (least, greatest), (other, most) = map(range_of, op.operands)
            return min(least, other), min(greatest, most)
        case "arith.maxsi":
            (least, greatest), (other, most) = map(range_of, op.operands)
            return max(least, other), max(greatest, most)
        case "affine.apply":
            map_ = ir.AffineMapAttr(op.attributes["map"]).value
            return _of_expression(map_.results[0], map_.n_dims, list(op.operands)) or _ENDLESS
    return _ENDLESS


def _of_argument(value: Any) -> Range:
    loop = value.owner.owner
    if loop is None or value.arg_number != 0:
        return _ENDLESS
    if loop.name == "scf.for":
        (lower, _), (_, upper), (step, most) = map(range_of, list(loop.operands)[:3])
        return _positions(lower, upper, step if step == most else 1)
    if loop.name == "affine.for":
        ends = [_constant(loop.attributes[f"{end}BoundMap"]) for end in ("lower", "upper")]
        lower = ends[0] if ends[0] is not None else _ENDLESS[0]
        upper = ends[1] if ends[1] is not None else _ENDLESS[1]
        return _positions(lower, upper, ir.IntegerAttr(loop.attributes["step"]).value)
    return _ENDLESS


def _positions(lower: int, upper: int, step: int) -> Range:
    """Return the range of the positions of a loop; any range for a loop that does not run."""
    if lower >= upper or step < 1 or _ENDLESS[0] == lower or upper == _ENDLESS[1]:
        return max(lower, _ENDLESS[0]), max(lower, upper - 1)
    return lower, lower + (upper - 1 - lower) // step * step


def _constant(attribute: Any) -> int | None:
    results = ir.AffineMapAttr(attribute).value.results
    if len(results) == 1 and isinstance(results[0], ir.AffineConstantExpr):
        return int(results[0].value)
    return None


def _of_expression(expr: Any, dims: int, operands: list[Any]) -> Range | None:
    """Return the range of sums and products of numbers and operands; None where it is not known."""
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value, expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return range_of(operands[expr.position])
    if isinstance(expr, ir.AffineSymbolExpr):
        return range_of(operands[dims + expr.position])
    if not isinstance(expr, ir.AffineAddExpr | ir.AffineMulExpr):
        return None
    parts = [_of_expression(side, dims, operands) for side in (expr.lhs, expr.rhs)]
    if None in parts or _ENDLESS in parts:
        return None
    (a, b), (c, d) = (part for part in parts if part is not None)
    if isinstance(expr, ir.AffineAddExpr):
        bounds = a + c, b + d
    else:
        corners = a * c, a * d, b * c, b * d
        bounds = min(corners), max(corners)
    return bounds if _ENDLESS[0] < bounds[0] and bounds[1] < _ENDLESS[1] else None
