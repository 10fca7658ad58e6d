"""Building arithmetic on a value that is a scalar or a vector of any rank, in one spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linalg_ext.bindings import arith, ir, vector

from .walking import producer


def constant(type_: Any, value: int | float) -> Any:
    """`value` as a scalar of `type_`, or in every element where `type_` is a vector.

    The attribute is made from text: made from a Python number it is cut to 64 bits, and of a float
    type from an integer it is not defined at all.
    """
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return literal(type_, repr(float(value) if isinstance(element, ir.FloatType) else int(value)))


def index(value: Any) -> Any:
    """A number as a constant of the type `index`; a value as it is."""
    return constant(ir.IndexType.get(), value) if isinstance(value, int) else value


def literal(type_: Any, text: str) -> Any:
    """The constant that MLIR writes as `text`, as a scalar or in every element of a vector.

    A float may be given by its bits, in hexadecimal.
    """
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    attribute = ir.Attribute.parse(f"{text} : {element}")
    if isinstance(type_, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    constant_op: Any = arith.ConstantOp  # the stubs know of numbers only
    return constant_op(type_, attribute).result


def element_of_constant(value: Any) -> Any | None:
    """The attribute of a constant, of each element where it is full of one; None of all else."""
    op = producer(value)
    if op is None or op.name not in ("arith.constant", "index.constant"):
        return None
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr):
        return attribute
    return attribute.get_splat_value() if attribute.is_splat else None


def like(type_: Any, element: Any) -> Any:
    """`type_` with another element type: a scalar stays one, a vector keeps its shape."""
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


def on_rows(op: Any, operands: Iterable[Any], known: Mapping[Any, Any]) -> list[Any]:
    """Build an op of a body on vectors; on scalars where all its operands are. Return its results.

    Args:
        op: the op.
        operands: its operands, in the order in which it is to take them.
        known: the values that replace them.
    """
    operands = [known.get(value, value) for value in operands]
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
        """A Python integer as a constant of the type; a value as it is."""
        return constant(self.type, operand) if isinstance(operand, int) else operand

    def add(self, a: Any, b: Any) -> Any:
        """`a + b`, modulo 2^width."""
        return arith.addi(self.value(a), self.value(b))

    def sub(self, a: Any, b: Any) -> Any:
        """`a - b`, modulo 2^width."""
        return arith.subi(self.value(a), self.value(b))

    def conj(self, a: Any, b: Any) -> Any:
        """Bitwise and."""
        return arith.andi(self.value(a), self.value(b))

    def disj(self, a: Any, b: Any) -> Any:
        """Bitwise or."""
        return arith.ori(self.value(a), self.value(b))

    def shl(self, a: Any, bits: int) -> Any:
        """`a << bits`."""
        return arith.shli(self.value(a), self.value(bits)) if bits else self.value(a)

    def shr(self, a: Any, bits: int) -> Any:
        """`a >> bits`, zeros shifted in."""
        return arith.shrui(self.value(a), self.value(bits)) if bits else self.value(a)

    def compare(self, predicate: Any, a: Any, b: Any) -> Any:
        """i1, or a vector of it."""
        return arith.cmpi(predicate, self.value(a), self.value(b))

    def equal(self, a: Any, b: Any) -> Any:
        """`a == b`."""
        return self.compare(arith.CmpIPredicate.eq, a, b)

    def above(self, a: Any, b: Any) -> Any:
        """`a > b`, unsigned."""
        return self.compare(arith.CmpIPredicate.ugt, a, b)

    def below(self, a: Any, b: Any) -> Any:
        """`a < b`, unsigned."""
        return self.compare(arith.CmpIPredicate.ult, a, b)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        """`condition ? a : b`."""
        return arith.select(condition, self.value(a), self.value(b))


def known_trips(lower: ir.Value | int, upper: ir.Value | int, step: ir.Value | int) -> int | None:
    """Return the trip count of a loop; None where it is known only at run time."""
    low, high, stride = map(known_index, (lower, upper, step))
    if low is None or high is None or stride is None:
        return None
    return max(0, -(-(high - low) // max(1, stride)))


def known_index(value: ir.Value | int) -> int | None:
    """Return an index that is a number or a constant; None for any other."""
    if isinstance(value, int):
        return value
    if isinstance(value.owner, ir.Block) or value.owner.name != "arith.constant":
        return None
    return ir.IntegerAttr(value.owner.attributes["value"]).value
