"""What must hold of an access: what the text tells is known, the rest is asserted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import affine, arith, cf, ir, memref, tensor

from ._elementwise import index
from ._tensor_loops import compare, sub
from ._walk import producer

DYNAMIC = ir.ShapedType.get_dynamic_size()

Range = tuple[int, int]
"""The least and the greatest that a number can be."""

_ENDLESS = -(1 << 63), (1 << 63) - 1


class Bounds:
    """What must hold of one access, asserted at once."""

    def __init__(self) -> None:
        self._held: list[Any] = []

    def within(self, start: Any, count: Any, size: Any) -> None:
        """So many from a start on are below a size, and none is negative."""
        self.at_most(0, start)
        self.at_most(0, count)
        self.at_most(start, sub(size, count))

    def at_most(self, left: Any, right: Any) -> None:
        """A number, or a value, is no greater than another."""
        if range_of(left)[1] > range_of(right)[0]:
            self.holds(compare("sle", left, right))

    def holds(self, condition: Any) -> None:
        """A condition, of type i1."""
        self._held.append(condition)

    def emit(self, op: str) -> bool:
        """Assert all of it, at the insertion point, of an op by its name; True if there is any."""
        if not self._held:
            return False
        all_hold, *others = self._held
        for other in others:
            all_hold = arith.andi(all_hold, other)
        cf.AssertOp(all_hold, f"out-of-bounds access: {op}")
        return True


def size(value: Any, axis: int) -> Any:
    """A size of a tensor or a memref: a number where its type tells."""
    if not value.type.is_dynamic_dim(axis):
        return value.type.get_dim_size(axis)
    dim = tensor.dim if isinstance(value.type, ir.RankedTensorType) else memref.dim
    return dim(value, index(axis))


def mixed(op: Any, static: str, dynamic: Sequence[Any]) -> list[Any]:
    """Numbers of an attribute, and in the place of those that it leaves open, values."""
    left = iter(dynamic)
    known = ir.DenseI64ArrayAttr(op.attributes[static])
    return [next(left) if each == DYNAMIC else each for each in known]


def operand_groups(op: Any) -> list[list[Any]]:
    """The operands of an op, by its segments."""
    left = iter(op.operands)
    counts = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return [[next(left) for _ in range(count)] for count in counts]


def places(map_: Any, operands: Sequence[Any]) -> list[Any]:
    """What an affine map makes of operands: numbers, operands, and `affine.apply` of others."""
    return [_place(map_, at, list(operands)) for at in range(len(map_.results))]


def _place(map_: Any, at: int, operands: list[Any]) -> Any:
    expr = map_.results[at]
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return operands[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return operands[map_.n_dims + expr.position]
    return affine.AffineApplyOp(map_.get_submap([at]), operands).result


def range_of(value: Any) -> Range:
    """What the text tells of a number, or an index: of constants, loops, and bounds given to it."""
    if isinstance(value, int):
        return value, value
    op = producer(value)
    if op is None:
        return _of_argument(value)
    match op.name:
        case "arith.constant":
            known = ir.IntegerAttr(op.attributes["value"]).value
            return known, known
        case "arith.index_cast":
            # Of an integer of up to 64 bits: it stays itself.
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
    """Of the position of a loop."""
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
    """From one up to, and without, another; of loops that do not run, any."""
    if lower >= upper or step < 1 or _ENDLESS[0] == lower or upper == _ENDLESS[1]:
        return max(lower, _ENDLESS[0]), max(lower, upper - 1)
    return lower, lower + (upper - 1 - lower) // step * step


def _constant(attribute: Any) -> int | None:
    results = ir.AffineMapAttr(attribute).value.results
    if len(results) == 1 and isinstance(results[0], ir.AffineConstantExpr):
        return int(results[0].value)
    return None


def _of_expression(expr: Any, dims: int, operands: list[Any]) -> Range | None:
    """Of sums and products of numbers and operands."""
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value, expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return range_of(operands[expr.position])
    if isinstance(expr, ir.AffineSymbolExpr):
        return range_of(operands[dims + expr.position])
    if not isinstance(expr, ir.AffineAddExpr | ir.AffineMulExpr):
        return None
    parts = [_of_expression(each, dims, operands) for each in (expr.lhs, expr.rhs)]
    if None in parts or _ENDLESS in parts:
        return None
    (a, b), (c, d) = (part for part in parts if part is not None)
    if isinstance(expr, ir.AffineAddExpr):
        found = a + c, b + d
    else:
        corners = a * c, a * d, b * c, b * d
        found = min(corners), max(corners)
    return found if _ENDLESS[0] < found[0] and found[1] < _ENDLESS[1] else None
