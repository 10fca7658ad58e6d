"""Index values as numbers: what is known of an offset or a size that IR computes.

The other way of `emission`. What it cannot look into becomes a symbol whose key is the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineSymbol
from linalg_ext.errors import LinalgExtError
from linalg_ext.notations.affine_text import parse_affine_map
from linalg_ext.structured.indices.loop_ranges import range_of
from linalg_ext.structured.indices.mixed import Index
from linalg_ext.structured.utils.values import producer
from linalg_ext.symbolic.integers import (
    Number,
    Operand,
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

_DEEPEST = 64
"""The most ops in a chain that is followed to a number; more could overflow Python's stack."""


class IndexReader:
    """Reads index values as numbers; one that was read before, once.

    Constants, `arith` and `affine` are looked into. Induction variables know what they run over,
    sizes of tensors that they are not negative; every other value is a symbol without bounds.
    Sums and products are taken not to overflow.

    Args:
        known: what values stand for of which the caller knows more: symbols with bounds.
    """

    def __init__(self, known: Mapping[ir.Value, Operand] | None = None) -> None:
        self._known = {value: as_number(number) for value, number in (known or {}).items()}
        self._depth = 0

    def __call__(self, index: Index) -> Number:
        """The number that an index stands for."""
        if isinstance(index, int):
            return index
        if index not in self._known:
            self._known[index] = self._read(index)
        return self._known[index]

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
        found = range_of(value)
        if found is None:
            return _symbol(value)
        lower, upper, step = (self(each) for each in found)
        # Loops with a step that is not positive are not run; what they say is not relied on.
        if not isinstance(step, int) or step < 1:
            step = 1
        # Where steps end at the upper bound, the last one begins a step before it.
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
    """A division by what is known to be positive; one that truncates, of what is not negative."""

    def reader(read: IndexReader, op: ir.Operation) -> Number | None:
        dividend, divisor = (read(operand) for operand in op.operands)
        is_same = is_le(1, divisor) and (not truncates or is_le(0, dividend))
        return compute(dividend, divisor) if is_same else None

    return reader


def _constant(read: IndexReader, op: ir.Operation) -> Number:
    return ir.IntegerAttr(op.attributes["value"]).value


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
    "arith.constant": _constant,
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
