"""Building arithmetic on a value that is a scalar or a vector of any rank, in one spelling.

Sizes of buffers as numbers, and the folding of conditions whose answers are known, stand here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linalg_ext.bindings import arith, ir, memref, vector
from linalg_ext.structured.constants import index
from linalg_ext.structured.views import tile_view

from .walking import producer, replace_op


def constant(type_: Any, value: int | float) -> Any:
    """Build `value` as a scalar of `type_`, or in every element of a vector.

    The attribute is made from text: made from a Python number it is cut to 64 bits, and of a float
    type from an integer it is not defined at all.
    """
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return literal(type_, repr(float(value) if isinstance(element, ir.FloatType) else int(value)))


def literal(type_: Any, text: str) -> Any:
    """Return the constant that MLIR writes as `text`, as a scalar or in every element of a vector.

    A float may be given by its bits, in hexadecimal.
    """
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    attribute = ir.Attribute.parse(f"{text} : {element}")
    if isinstance(type_, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    constant_op: Any = arith.ConstantOp  # the stubs know of numbers only
    return constant_op(type_, attribute).result


def element_of_constant(value: Any) -> Any | None:
    """Return the attribute of a constant, or of the element that fills it; else None."""
    op = producer(value)
    if op is None or op.name not in ("arith.constant", "index.constant"):
        return None
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr):
        return attribute
    return attribute.get_splat_value() if attribute.is_splat else None


def like(type_: Any, element: Any) -> Any:
    """Return `type_` with another element type: a scalar stays one, a vector keeps its shape."""
    if not isinstance(type_, ir.VectorType):
        return element
    return ir.VectorType.get(
        type_.shape,
        element,
        scalable=type_.scalable_dims if type_.scalable else None,
    )


def negated(condition: Any) -> Any:
    """Return the negation of a condition: of an i1, or a vector of them."""
    return arith.xori(condition, constant(condition.type, -1))


def as_row(value: Any, lanes: int) -> Any:
    """Return a value as a vector: a scalar in every lane."""
    if isinstance(value.type, ir.VectorType):
        return value
    return vector.broadcast(ir.VectorType.get([lanes], value.type), value)


def on_rows(op: Any, operands: Iterable[Any], replacements: Mapping[Any, Any]) -> list[Any]:
    """Build an op of a body on vectors; on scalars where all its operands are. Return its results.

    Args:
        op: the op.
        operands: its operands, in the order in which it is to take them.
        replacements: the values that replace them.
    """
    operands = [replacements.get(value, value) for value in operands]
    lanes = next((v.type.shape[0] for v in operands if isinstance(v.type, ir.VectorType)), None)
    types = [value.type for value in op.results]
    if lanes is not None:
        operands = [as_row(value, lanes) for value in operands]
        types = [ir.VectorType.get([lanes], type_) for type_ in types]
    attributes = {name: op.attributes[name] for name in op.attributes}
    new = ir.Operation.create(op.name, results=types, operands=operands, attributes=attributes)
    return list(new.results)


class Integers:
    """Arithmetic on integers of one type, scalar or vector, at the current insertion point."""

    def __init__(self, type_: Any) -> None:
        self.type = type_

    def value(self, operand: Any) -> Any:
        """Return a Python integer as a constant of the type; a value as it is."""
        return constant(self.type, operand) if isinstance(operand, int) else operand

    def add(self, a: Any, b: Any) -> Any:
        """Return `a + b`, modulo 2^width."""
        return arith.addi(self.value(a), self.value(b))

    def sub(self, a: Any, b: Any) -> Any:
        """Return `a - b`, modulo 2^width."""
        return arith.subi(self.value(a), self.value(b))

    def conj(self, a: Any, b: Any) -> Any:
        """Return the bitwise and."""
        return arith.andi(self.value(a), self.value(b))

    def disj(self, a: Any, b: Any) -> Any:
        """Return the bitwise or."""
        return arith.ori(self.value(a), self.value(b))

    def shl(self, a: Any, bits: int) -> Any:
        """Return `a << bits`."""
        return arith.shli(self.value(a), self.value(bits)) if bits else self.value(a)

    def shr(self, a: Any, bits: int) -> Any:
        """Return `a >> bits`, zeros shifted in."""
        return arith.shrui(self.value(a), self.value(bits)) if bits else self.value(a)

    def compare(self, predicate: Any, a: Any, b: Any) -> Any:
        """Return an i1, or a vector of it."""
        return arith.cmpi(predicate, self.value(a), self.value(b))

    def equal(self, a: Any, b: Any) -> Any:
        """Return `a == b`."""
        return self.compare(arith.CmpIPredicate.eq, a, b)

    def above(self, a: Any, b: Any) -> Any:
        """Return `a > b`, unsigned."""
        return self.compare(arith.CmpIPredicate.ugt, a, b)

    def below(self, a: Any, b: Any) -> Any:
        """Return `a < b`, unsigned."""
        return self.compare(arith.CmpIPredicate.ult, a, b)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        """Return `condition ? a : b`."""
        return arith.select(condition, self.value(a), self.value(b))


def known_trips(lower: ir.Value | int, upper: ir.Value | int, step: ir.Value | int) -> int | None:
    """Return the trip count of a loop; None where it is known only at run time."""
    low, high, stride = map(known_index, (lower, upper, step))
    if low is None or high is None or stride is None:
        return None
    return max(0, -(-(high - low) // max(1, stride)))


_MOST_TRIPS = (1 << 63) - 1
"""More than a loop ever goes through."""


def trip_count(lower: Any, upper: Any, step: Any, *, is_unsigned: bool = False) -> Any:
    """Return the trip count of a loop, as an index; 0 where it ends before it begins."""
    known = known_trips(lower, upper, step)
    if known is not None:
        return index(min(known, _MOST_TRIPS))
    compare = arith.CmpIPredicate.ult if is_unsigned else arith.CmpIPredicate.slt
    length = arith.ceildivui(arith.subi(upper, lower), step)
    trips = arith.select(arith.cmpi(compare, lower, upper), length, constant(length.type, 0))
    is_index = trips.type == ir.IndexType.get()
    return trips if is_index else arith.index_castui(ir.IndexType.get(), trips)


def known_index(value: ir.Value | int) -> int | None:
    """Return an index that is a number or a constant; None for any other."""
    if isinstance(value, int):
        return value
    if isinstance(value.owner, ir.Block) or value.owner.name != "arith.constant":
        return None
    return ir.IntegerAttr(value.owner.attributes["value"]).value


def number(value: float) -> Any:
    """Return a constant f64."""
    return constant(ir.F64Type.get(), value)


def as_number(value: Any) -> Any:
    """Return an index as an f64."""
    as_integer = arith.index_cast(ir.IntegerType.get_signless(64), value)
    return arith.uitofp(ir.F64Type.get(), as_integer)


def times(value: Any, factor: int) -> Any:
    """Return an index, or a number, times `factor`."""
    if isinstance(value, int) or factor == 1:
        return value * factor if isinstance(value, int) else value
    return arith.muli(value, index(factor))


def dim(value: Any, axis: int) -> Any:
    """Return the size of a buffer along an axis, as an index."""
    return index(size_of(value, axis))


def size_of(value: Any, axis: int) -> Any:
    """Return the size of a buffer along an axis: a number, or an index where it is dynamic."""
    if not value.type.is_dynamic_dim(axis):
        return value.type.get_dim_size(axis)
    if not isinstance(value.owner, ir.Block) and value.owner.name == "memref.alloc":
        return value.owner.operands[sum(map(value.type.is_dynamic_dim, range(axis)))]
    return memref.dim(value, index(axis))


_LOGIC = ("arith.andi", "arith.ori")


def fold_known(answers: Mapping[Any, bool]) -> None:
    """Replace conditions by their answers, fold the selects on them, and erase ops without users.

    Args:
        answers: for comparisons of one block, True where they hold.
    """
    if not answers:
        return
    body = next(iter(answers)).block
    for op, holds in answers.items():
        with op.location, ir.InsertionPoint(op):
            replace_op(op, constant(ir.IntegerType.get_signless(1), int(holds)))
    for op in [op.operation for op in body.operations]:
        if op.name == "arith.select" and (condition := known_condition(op.operands[0])) is not None:
            replace_op(op, op.operands[1 if condition else 2])
        elif op.name in _LOGIC and str(op.results[0].type) == "i1":
            _fold_logic(op)
    _erase_unused(body)


def known_condition(value: Any) -> bool | None:
    """Return the value of a condition that is a constant; None for any other value."""
    op = producer(value)
    if op is None or op.name != "arith.constant" or str(value.type) != "i1":
        return None
    return bool(ir.IntegerAttr(op.attributes["value"]).value)


def _fold_logic(op: Any) -> None:
    """Replace the result of a logic op with a known operand by that operand or the other one."""
    deciding = op.name == "arith.ori"
    for value, other in (tuple(op.operands), tuple(op.operands)[::-1]):
        condition = known_condition(value)
        if condition is not None:
            replace_op(op, value if condition == deciding else other)
            return


def _erase_unused(body: Any) -> None:
    for op in reversed([op.operation for op in body.operations]):
        is_pure = op.name.startswith(("arith.", "math.", "linalg.index"))
        if is_pure and not any(True for result in op.results for _ in result.uses):
            op.erase()


def descriptor_type(rank: int) -> ir.Type:
    """Return LLVM's type of the descriptor of a buffer."""
    fields = "ptr, ptr, i64"
    if rank:
        fields += f", array<{rank} x i64>, array<{rank} x i64>"
    return ir.Type.parse(f"!llvm.struct<({fields})>")


def strides_of(type_: Any) -> list[int] | None:
    """Return the strides of a memref in elements; None of a layout without strides."""
    try:
        strides, _ = type_.get_strides_and_offset()
    except (ir.MLIRError, ValueError, RuntimeError):
        return None
    return list(strides)


def layout_of(value: Any) -> tuple[list[Any], Any]:
    """Return the strides of a buffer and its offset: numbers, or indices where they are dynamic."""
    type_ = value.type
    strides, offset = type_.get_strides_and_offset()
    if not any(map(type_.is_dynamic_stride_or_offset, (*strides, offset))):
        return list(strides), offset
    metadata = memref.ExtractStridedMetadataOp(value)
    of_run = list(metadata.results)[2 + type_.rank :]
    known = [
        run if type_.is_dynamic_stride_or_offset(stride) else stride
        for stride, run in zip(strides, of_run, strict=True)
    ]
    is_open = type_.is_dynamic_stride_or_offset(offset)
    return known, metadata.results[1] if is_open else offset


def part_along(buffer: Any, axis: int, first: Any, length: Any) -> Any:
    """Return the part of a buffer along an axis, as a view at the insertion point.

    Args:
        buffer: a memref with strides.
        axis: the axis.
        first: where the part begins: a number, or a value of type index.
        length: the number of steps, likewise.
    """
    rank = buffer.type.rank
    offsets = [first if number == axis else 0 for number in range(rank)]
    sizes = [length if number == axis else size_of(buffer, number) for number in range(rank)]
    return tile_view(buffer, offsets, sizes)
