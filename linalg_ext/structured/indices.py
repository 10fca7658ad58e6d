"""Index values in IR: read as symbolic integers, and emitted from them.

A value that the reader cannot look into becomes a symbol whose key is the value. Dialects above add
the ranges of their own loops by `add_loop_ranges`.

Numbers are emitted as upstream's tiling emits them, so that its canonicalization and its bounds
analysis take them further: one `affine.apply` for all that is affine, `affine.min` and `affine.max`
with a result for each operand. Products of two values and divisions by a value are arith.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeVar

from linalg_ext.bindings import affine, arith, ir
from linalg_ext.errors import ArgumentError, LinalgExtError
from linalg_ext.notations.affine_text import parse_affine_map
from linalg_ext.structured.constants import integer_constant, result_of
from linalg_ext.structured.mixed import OPERAND_SEGMENTS, Index, mixed
from linalg_ext.structured.operands import grouped, producer
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineSymbol
from linalg_ext.symbolic.integers import (
    AllOf,
    AnyOf,
    Atom,
    Comparison,
    Condition,
    Expression,
    Extreme,
    Number,
    Operand,
    Product,
    Quotient,
    Relation,
    Remainder,
    Selection,
    Symbol,
    Truth,
    as_number,
    at_most,
    ceildiv,
    different,
    equal,
    floordiv,
    is_le,
    maximum,
    minimum,
    modulo,
    negated,
    select,
)


class Range(NamedTuple):
    """One induction variable: from `lower` to below `upper` by `step`."""

    lower: Index
    upper: Index
    step: Index


def range_of(argument: ir.BlockArgument) -> Range | None:
    """Return the range of an argument; None where it is not a known induction variable."""
    op = argument.owner.owner
    if not isinstance(op, (ir.Operation, ir.OpView)) or op.operation.name not in _RANGES:
        return None
    ranges = _RANGES[op.operation.name](op.operation)
    return ranges[argument.arg_number] if argument.arg_number < len(ranges) else None


def add_loop_ranges(op_name: str, ranges: Callable[[ir.Operation], Sequence[Range]]) -> None:
    """Add a loop of a dialect above: a function of the op gives the range of each iterator."""
    _RANGES[op_name] = ranges


def parallel_ranges(op: ir.Operation) -> Sequence[Range]:
    """The ranges of a loop whose first groups of operands are lower bounds, upper bounds, steps."""
    lower, upper, step, *_ = _segments(op)
    return [Range(*bounds) for bounds in zip(lower, upper, step, strict=True)]


def _forall(op: ir.Operation) -> Sequence[Range]:
    lists = (
        mixed(op, name, name, segment)
        for name, segment in zip(
            ("staticLowerBound", "staticUpperBound", "staticStep"), _segments(op), strict=False
        )
    )
    return [Range(*bounds) for bounds in zip(*lists, strict=True)]


def _segments(op: ir.Operation) -> list[list[ir.Value]]:
    return grouped(list(op.operands), list(ir.DenseI32ArrayAttr(op.attributes[OPERAND_SEGMENTS])))


_RANGES: dict[str, Callable[[ir.Operation], Sequence[Range]]] = {
    "scf.for": lambda op: [Range(*list(op.operands)[:3])],
    "scf.forall": _forall,
    "scf.parallel": parallel_ranges,
}


_DEEPEST = 64
"""The most ops in a chain that is followed to a number; more could overflow Python's stack."""


class IndexReader:
    """Reads index values as numbers; one that was read before, once.

    Constants, `arith` and `affine` are looked into. Induction variables know their ranges, sizes of
    tensors that they are not negative; every other value is a symbol without bounds. Sums and
    products are taken not to overflow.

    Args:
        known: numbers for values of which the caller knows more: symbols with bounds.
    """

    def __init__(self, known: Mapping[ir.Value, Operand] | None = None) -> None:
        self._numbers = {value: as_number(number) for value, number in (known or {}).items()}
        self._depth = 0

    def __call__(self, index: Index) -> Number:
        """The number that an index stands for."""
        if isinstance(index, int):
            return index
        if index not in self._numbers:
            self._numbers[index] = self._read(index)
        return self._numbers[index]

    def truth(self, value: ir.Value) -> Truth | None:
        """A comparison of indices as a condition; None if it is something else."""
        op = producer(value)
        if op is None or op.name != "arith.cmpi":
            return None
        a, b = op.operands
        compare = _COMPARISONS.get(ir.IntegerAttr(op.attributes["predicate"]).value)
        if compare is None or not isinstance(a.type, ir.IndexType):
            return None
        return compare(self(a), self(b))

    def _read(self, value: ir.Value) -> Number:
        if not isinstance(value.type, ir.IndexType) or self._depth >= _DEEPEST:
            return _symbol(value)
        self._depth += 1
        try:
            if isinstance(value, ir.BlockArgument):
                return self._argument(value)
            op = producer(value)
            number = _READERS[op.name](self, op) if op is not None and op.name in _READERS else None
        except LinalgExtError:  # a division by 0, which is the run's to report
            number = None
        finally:
            self._depth -= 1
        return _symbol(value) if number is None else number

    def _argument(self, value: ir.BlockArgument) -> Number:
        range_ = range_of(value)
        if range_ is None:
            return _symbol(value)
        lower, upper, step = (self(bound) for bound in range_)
        # Loops with a step that is not positive are not run; they are not relied on.
        if not isinstance(step, int) or step < 1:
            step = 1
        # The last iteration begins a step before the upper bound if the steps end there.
        ends = modulo(upper - lower, step) == 0
        return _symbol(value, lower, upper - (step if ends else 1), step)


def _symbol(
    value: ir.Value, lower: Number | None = None, upper: Number | None = None, step: int = 1
) -> Number:
    return Symbol(value, lower, upper, step, name=value.get_name).number


_Reader = Callable[[IndexReader, ir.Operation], Number | None]


def _binary(compute: Callable[[Operand, Operand], Number]) -> _Reader:
    return lambda read, op: compute(*(read(operand) for operand in op.operands))


def _unsigned(compute: Callable[[Operand, Operand], Number]) -> _Reader:
    """Return a reader of an unsigned op whose signed form agrees where no operand is negative."""

    def reader(read: IndexReader, op: ir.Operation) -> Number | None:
        numbers = [read(operand) for operand in op.operands]
        return compute(*numbers) if all(is_le(0, number) for number in numbers) else None

    return reader


def _division(compute: Callable[[Operand, Operand], Number], *, truncates: bool = False) -> _Reader:
    """The reader of a division by a positive number; truncation needs a dividend of 0 or more."""

    def reader(read: IndexReader, op: ir.Operation) -> Number | None:
        dividend, divisor = (read(operand) for operand in op.operands)
        is_same = is_le(1, divisor) and (not truncates or is_le(0, dividend))
        return compute(dividend, divisor) if is_same else None

    return reader


def _select(read: IndexReader, op: ir.Operation) -> Number | None:
    condition, then, otherwise = op.operands
    truth = read.truth(condition)
    return None if truth is None else select(truth, read(then), read(otherwise))


def _mapped(combine: Callable[[Sequence[Number]], Number]) -> _Reader:
    def reader(read: IndexReader, op: ir.Operation) -> Number:
        map = parse_affine_map(str(op.attributes["map"]))
        names: list[AffineExpr] = [AffineDim(name) for name in map.dims]
        names += [AffineSymbol(name) for name in map.symbols]
        values = dict(zip(names, (read(operand) for operand in op.operands), strict=True))
        return combine([result.evaluate(values) for result in map.results])

    return reader


def _dim(read: IndexReader, op: ir.Operation) -> Number:
    source, position = op.operands
    dim = read(position)
    shaped = ir.ShapedType(source.type)
    if shaped.has_rank and isinstance(dim, int) and 0 <= dim < shaped.rank:
        size = shaped.shape[dim]
        return _symbol(op.results[0], 0) if shaped.is_dynamic_dim(dim) else size
    return _symbol(op.results[0], 0)


_READERS: dict[str, _Reader] = {
    "arith.constant": lambda read, op: ir.IntegerAttr(op.attributes["value"]).value,
    "arith.addi": _binary(lambda a, b: a + b),
    "arith.subi": _binary(lambda a, b: a - b),
    "arith.muli": _binary(lambda a, b: a * b),
    "arith.minsi": _binary(minimum),
    "arith.maxsi": _binary(maximum),
    "arith.minui": _unsigned(minimum),
    "arith.maxui": _unsigned(maximum),
    "arith.floordivsi": _division(floordiv),
    "arith.ceildivsi": _division(ceildiv),
    "arith.ceildivui": _division(ceildiv, truncates=True),
    "arith.divsi": _division(floordiv, truncates=True),
    "arith.divui": _division(floordiv, truncates=True),
    "arith.remsi": _division(modulo, truncates=True),
    "arith.remui": _division(modulo, truncates=True),
    "arith.select": _select,
    "affine.apply": _mapped(lambda results: results[0]),
    "affine.min": _mapped(lambda results: minimum(*results)),
    "affine.max": _mapped(lambda results: maximum(*results)),
    "tensor.dim": _dim,
    "memref.dim": _dim,
}

_COMPARISONS: dict[int, Callable[[Operand, Operand], Truth]] = {
    0: equal,
    1: different,
    2: lambda a, b: negated(at_most(b, a)),
    3: at_most,
    4: lambda a, b: negated(at_most(a, b)),
    5: lambda a, b: at_most(b, a),
}
"""By the number of the predicate of `arith.cmpi`; those without signs are not read."""


K = TypeVar("K", bound=Number | Condition)


class Emitter:
    """Emits numbers at the current insertion point, equal ones once.

    A value that was emitted is used again, so one emitter serves one block, from an insertion point
    downwards, and the blocks inside of the ops that follow.

    Args:
        values: the values of symbols, by key. A key that is a value itself needs no entry.
    """

    def __init__(self, values: Mapping[Hashable, ir.Value] | None = None) -> None:
        self._values = dict(values or {})
        self._emitted: dict[Number | Condition, ir.Value] = {}

    def inside(self) -> Emitter:
        """One for a block inside an op that follows: all that was emitted so far is there too."""
        inner = type(self)(self._values)
        inner._emitted.update(self._emitted)
        return inner

    def value(self, number: Operand) -> ir.Value:
        """A number as an index; an ArgumentError where a symbol stands for no value."""
        return self._once(as_number(number), self._new_value)

    def mixed(self, numbers: Sequence[Operand]) -> list[int | ir.Value]:
        """Numbers as ops with static and dynamic offsets take them: known ones stay integers."""
        return [n if isinstance(n, int) else self.value(n) for n in map(as_number, numbers)]

    def truth(self, truth: Truth) -> ir.Value:
        """A condition as a value of type i1."""
        # True and 1 are equal as keys.
        if isinstance(truth, bool):
            return integer_constant(ir.IntegerType.get_signless(1), int(truth))
        return self._once(truth, self._new_truth)

    def _once(self, key: K, emit: Callable[[K], ir.Value]) -> ir.Value:
        value = self._emitted.get(key)
        if value is None:
            value = self._emitted[key] = emit(key)
        return value

    def _new_value(self, number: Number) -> ir.Value:
        if isinstance(number, int):
            return integer_constant(ir.IndexType.get(), number)
        if len(number.terms) == 1 and number.terms[0][1] == 1 and not number.constant:
            return self._atom(number.terms[0][0])
        return self._affine(number)

    def _atom(self, atom: Atom) -> ir.Value:
        match atom:
            case Symbol():
                return self._symbol(atom)
            case Extreme(is_minimum, operands):
                map, values = self._map(operands)
                kind = affine.AffineMinOp if is_minimum else affine.AffineMaxOp
                return result_of(kind(map, values))
            case Product(factors):
                return reduce(arith.muli, [self.value(factor) for factor in factors])
            case Selection(condition, then, otherwise):
                return arith.select(self.truth(condition), self.value(then), self.value(otherwise))
            case Quotient(dividend, divisor) if not isinstance(divisor, int):
                return arith.floordivsi(self.value(dividend), self.value(divisor))
            case Remainder(dividend, divisor) if not isinstance(divisor, int):
                if is_le(0, dividend):
                    return arith.remui(self.value(dividend), self.value(divisor))
                # That of arith has the sign of the dividend; this one has the divisor's.
                return self.value(dividend - (dividend // divisor) * divisor)
        return self._affine(as_number(atom))

    def _symbol(self, symbol: Symbol) -> ir.Value:
        value = self._values.get(symbol.key, symbol.key)
        if isinstance(value, ir.Value):
            return value
        raise ArgumentError(
            f"symbol {symbol} stands for no value",
            expected="a symbol whose key is an IR value, or one that the emitter was given",
        )

    def _affine(self, number: Number) -> ir.Value:
        map, values = self._map([number])
        return result_of(affine.AffineApplyOp(map, values))

    def _map(self, numbers: Sequence[Number]) -> tuple[ir.AffineMap, list[ir.Value]]:
        leaves: dict[Atom, int] = {}
        results = [_affine_expression(number, leaves) for number in numbers]
        return ir.AffineMap.get(len(leaves), 0, results), [self.value(leaf) for leaf in leaves]

    def _new_truth(self, truth: Condition) -> ir.Value:
        match truth:
            case AllOf(conditions):
                return reduce(arith.andi, [self.truth(condition) for condition in conditions])
            case AnyOf(conditions):
                return reduce(arith.ori, [self.truth(condition) for condition in conditions])
            case Comparison(relation, difference):
                return self._comparison(relation, difference)
        raise TypeError(f"unknown condition {type(truth).__name__}")

    def _comparison(self, relation: Relation, difference: Expression) -> ir.Value:
        """`a - b` compared with 0 as a compared with b: nothing to subtract."""
        positive = tuple((atom, factor) for atom, factor in difference.terms if factor > 0)
        negative = tuple((atom, -factor) for atom, factor in difference.terms if factor < 0)
        left: Number = Expression(max(difference.constant, 0), positive)
        right: Number = Expression(max(-difference.constant, 0), negative)
        return arith.cmpi(_PREDICATES[relation], self.value(left + 0), self.value(right + 0))


_PREDICATES = {
    Relation.AT_MOST: arith.CmpIPredicate.sle,
    Relation.EQUAL: arith.CmpIPredicate.eq,
    Relation.DIFFERENT: arith.CmpIPredicate.ne,
}


def _affine_expression(number: Number, leaves: dict[Atom, int]) -> ir.AffineExpr:
    """A number as an affine expression; atoms that are not affine are numbered in `leaves`."""
    if isinstance(number, int):
        return ir.AffineConstantExpr.get(number)
    terms = [
        ir.AffineMulExpr.get(_affine_atom(atom, leaves), ir.AffineConstantExpr.get(factor))
        for atom, factor in number.terms
    ]
    return reduce(ir.AffineAddExpr.get, [*terms, ir.AffineConstantExpr.get(number.constant)])


def _affine_atom(atom: Atom, leaves: dict[Atom, int]) -> ir.AffineExpr:
    if isinstance(atom, (Quotient, Remainder)) and isinstance(atom.divisor, int):
        kind = ir.AffineFloorDivExpr if isinstance(atom, Quotient) else ir.AffineModExpr
        dividend = _affine_expression(atom.dividend, leaves)
        return kind.get(dividend, ir.AffineConstantExpr.get(atom.divisor))
    return ir.AffineDimExpr.get(leaves.setdefault(atom, len(leaves)))
