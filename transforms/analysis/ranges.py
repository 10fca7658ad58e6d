"""Numbers of type `index`: where each comes from, and the least and the greatest that it may be."""

from __future__ import annotations

from typing import Any, TypeAlias

from linalg_ext.bindings import ir, linalg
from linalg_ext.transforms.ir_utils.arithmetic import element_of_constant
from linalg_ext.transforms.ir_utils.generics import loop_of
from linalg_ext.transforms.ir_utils.walking import producer

Origin: TypeAlias = "int | tuple[Any, int] | Any"
"""A number; a tensor or a memref with one of its dimensions; or a value of any kind."""

_DIMS = ("tensor.dim", "memref.dim")
_LOOPS = ("scf.for", "affine.for")
_LOOP = "scf.for"
_UNSIGNED = "unsignedCmp"
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


Range = tuple[int, int]
"""The least and the greatest number that a value may be."""

_BITS = 64
_ENDLESS = -(1 << _BITS - 1), (1 << _BITS - 1) - 1

_COMBINED = frozenset(
    f"arith.{name}" for name in ("addi", "subi", "muli", "divui", "shli", "shrui")
)


def range_of(value: Any) -> Range:
    """Return the range of an integer or an index, from its constants, its loops and its bounds."""
    return _Ranges().of(value)


def most_trips(lower: Any, upper: Any, step: Any) -> int | None:
    """Return the most rounds that a loop may have; None where nothing bounds them."""
    ranges = _Ranges()
    (first, _), (_, end), (stride, _) = map(ranges.of, (lower, upper, step))
    if first == _ENDLESS[0] or end == _ENDLESS[1]:
        return None
    return max(0, -(-(end - first) // max(1, stride)))


class _Ranges:
    """The ranges of some values, each computed once."""

    def __init__(self) -> None:
        self._known: dict[Any, Range] = {}

    def of(self, value: Any) -> Range:
        """Return the range of a value."""
        if isinstance(value, int):
            return value, value
        if value not in self._known:
            op = producer(value)
            self._known[value] = self._of_argument(value) if op is None else self._of_result(op)
        return self._known[value]

    def _of_result(self, op: Any) -> Range:
        match op.name:
            case "tensor.dim" | "memref.dim":
                return 0, _ENDLESS[1]
            case "linalg.index":
                ends = [end for end in ends_of(op.results[0]) if isinstance(end, int)]
                return 0, min(ends, default=1 << 63) - 1
            case "arith.constant" if isinstance(op.attributes["value"], ir.IntegerAttr):
                number = ir.IntegerAttr(op.attributes["value"]).value
                return number, number
            case "arith.index_cast":
                # The cast keeps an integer of up to 64 bits.
                return self.of(op.operands[0])
            case "arith.minsi":
                (least, greatest), (other, most) = map(self.of, op.operands)
                return min(least, other), min(greatest, most)
            case "arith.maxsi":
                (least, greatest), (other, most) = map(self.of, op.operands)
                return max(least, other), max(greatest, most)
            case "arith.subi" if self._is_rest(*op.operands):
                return 1, self.of(op.operands[0])[1]
            case "arith.select":
                (least, greatest), (other, most) = map(self.of, list(op.operands)[1:])
                return min(least, other), max(greatest, most)
            case "math.ctlz" if _is_wide(op):
                least, greatest = self.of(op.operands[0])
                return (0, _BITS) if least < 0 else (_zeros_before(greatest), _zeros_before(least))
            case name if name in _COMBINED and _is_wide(op):
                return _combined(name, *map(self.of, op.operands)) or _ENDLESS
            case "affine.apply":
                map_ = ir.AffineMapAttr(op.attributes["map"]).value
                operands = list(op.operands)
                return self._of_expression(map_.results[0], map_.n_dims, operands) or _ENDLESS
        return _ENDLESS

    def _of_argument(self, value: Any) -> Range:
        loop = value.owner.owner
        if loop is None or value.arg_number != 0:
            return _ENDLESS
        if loop.name == _LOOP and _UNSIGNED not in loop.attributes:
            (lower, _), (_, upper), (step, most) = map(self.of, list(loop.operands)[:3])
            return _positions(lower, upper, step if step == most else 1)
        if loop.name == "affine.for":
            ends = [_constant(loop.attributes[f"{end}BoundMap"]) for end in ("lower", "upper")]
            lower = ends[0] if ends[0] is not None else _ENDLESS[0]
            upper = ends[1] if ends[1] is not None else _ENDLESS[1]
            return _positions(lower, upper, ir.IntegerAttr(loop.attributes["step"]).value)
        return _ENDLESS

    def _is_rest(self, end: Any, position: Any) -> bool:
        """Return whether a difference is the rest, in a round, of a loop from 0 or more on."""
        if producer(position) is not None or not is_position(position):
            return False
        loop = position.owner.owner
        if loop.name != _LOOP or _UNSIGNED in loop.attributes or loop.operands[1] != end:
            return False
        return self.of(loop.operands[0])[0] >= 0

    def _of_expression(self, expr: Any, dims: int, operands: list[Any]) -> Range | None:
        """Return the range of sums and products of numbers and operands; None where unknown."""
        if isinstance(expr, ir.AffineConstantExpr):
            return expr.value, expr.value
        if isinstance(expr, ir.AffineDimExpr):
            return self.of(operands[expr.position])
        if isinstance(expr, ir.AffineSymbolExpr):
            return self.of(operands[dims + expr.position])
        if not isinstance(expr, ir.AffineAddExpr | ir.AffineMulExpr):
            return None
        left, right = (self._of_expression(e, dims, operands) for e in (expr.lhs, expr.rhs))
        name = "arith.addi" if isinstance(expr, ir.AffineAddExpr) else "arith.muli"
        return None if left is None or right is None else _combined(name, left, right)


def _is_wide(op: Any) -> bool:
    """Return whether a number has the 64 bits at which ranges end, and no fewer to wrap at."""
    type_ = op.results[0].type
    return not isinstance(type_, ir.IntegerType) or type_.width == 64


def _combined(name: str, left: Range, right: Range) -> Range | None:
    """Return the range of a result; None where an operand has any value, or where it may wrap."""
    (a, b), (c, d) = left, right
    if _ENDLESS[0] in (a, c) or _ENDLESS[1] in (b, d):
        return None
    match name:
        case "arith.addi":
            bounds = a + c, b + d
        case "arith.subi":
            bounds = a - d, b - c
        case "arith.muli":
            corners = a * c, a * d, b * c, b * d
            bounds = min(corners), max(corners)
        case "arith.divui" if a >= 0 and c >= 1:
            bounds = a // d, b // c
        case "arith.shli" if c >= 0 and d < _BITS:
            bounds = min(a << c, a << d), max(b << c, b << d)
        case "arith.shrui" if a >= 0 and c >= 0 and d < _BITS:
            bounds = a >> d, b >> c
        case _:
            return None
    return bounds if _ENDLESS[0] < bounds[0] and bounds[1] < _ENDLESS[1] else None


def _positions(lower: int, upper: int, step: int) -> Range:
    """Return the range of the positions of a loop; any range for a loop that does not run."""
    if lower >= upper or step < 1 or _ENDLESS[0] == lower or upper == _ENDLESS[1]:
        return max(lower, _ENDLESS[0]), max(lower, upper - 1)
    return lower, lower + (upper - 1 - lower) // step * step


def _zeros_before(number: int) -> int:
    return _BITS - number.bit_length()


def _constant(attribute: Any) -> int | None:
    results = ir.AffineMapAttr(attribute).value.results
    if len(results) == 1 and isinstance(results[0], ir.AffineConstantExpr):
        return int(results[0].value)
    return None
