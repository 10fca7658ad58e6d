"""Queries of tiling, fusion and footprints to an op: the parts that depend on each other.

A `Rule` is made for one op of live IR. It sees the op as a function over a *domain*, a box of
index vectors, and answers four questions:

    which part of the domain computes a part of a result?       `part_for_result`
    which part of a result does a part of the domain compute?   `part_of_result`
    which part of each operand does it read for that?           `operand_parts`
    which op computes just that?                                `build`

Parts are tiles of `linalg_ext.symbolic.index_sets`, whose numbers may be values of the IR. A family
of ops is one file: classes derived from `Rule`, and their lines in the table of `__init__.py`.

A query that has no exact answer raises `Unserved` with the reason. A rule never answers with
a part that is too small, and never builds an op that computes something else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeAlias

from linalg_ext.bindings import arith, cf, ir
from linalg_ext.dialects.gml_st.rules.bodies import on_operands
from linalg_ext.structured.sizes import sizes_of, value_of
from linalg_ext.symbolic.index_sets import Point, Tile, full
from linalg_ext.symbolic.integers import Number, is_eq, is_le

PARALLEL, REDUCTION = "parallel", "reduction"

Take: TypeAlias = Callable[[int, Tile], ir.Value]
"""`take(position, tile)` gives a part of an operand as a tensor of the tile's shape.

It is the caller's: a materialize in a loop over subsets, a slice where slices are wanted.
"""

Pair: TypeAlias = tuple[Number, Number]

TakeElement: TypeAlias = Callable[[int, Point], ir.Value]
"""`take_element(position, point)` gives one element of an operand as a scalar."""


class Unserved(Exception):
    """An op, or a part of it, that no rule serves; the text is the reason, for a report."""

    @property
    def reason(self) -> str:
        """Why."""
        return str(self.args[0])


@dataclass(frozen=True)
class Domain:
    """The index vectors that an op computes at.

    Attributes:
        sizes: along each dimension, which begins at 0.
        iterators: `PARALLEL` or `REDUCTION`, one for each dimension. Parts that cut a reduction
            compute partial results.
        whole: dimensions that no part may cut.
    """

    sizes: tuple[Number, ...]
    iterators: tuple[str, ...]
    whole: frozenset[int] = frozenset()

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    @property
    def all(self) -> Tile:
        """All of it."""
        return full(self.sizes)

    def spans(self, part: Tile, dim: int) -> bool:
        """Return whether a part is known to hold all of a dimension, in order."""
        return (
            is_eq(part.offset(dim), 0) is True
            and is_eq(part.stride(dim), 1) is True
            and is_eq(part.size(dim), self.sizes[dim]) is True
        )


@dataclass(frozen=True)
class Accumulation:
    """The combination, in any order, of the results of parts that cut a reduction.

    Attributes:
        combine: builds the combination of two elements, at the current insertion point.
        neutral: builds the neutral element.
    """

    combine: Callable[[ir.Value, ir.Value], ir.Value]
    neutral: Callable[[], ir.Value]


class Rule(ABC):
    """The computation of one op part by part.

    A rule of a family answers by the methods that begin with an underscore.

    Attributes:
        op: the op. A rule reads it and never changes it.
        destinations: for each result the position of the operand that it overwrites, or None where
            the result has no destination.
        is_cheap: True where an element of a result is cheap enough to be computed twice: no sum
            over many, no search.
    """

    is_cheap: bool = True

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.destinations: tuple[int | None, ...] = (None,) * len(op.results)

    @cached_property
    def domain(self) -> Domain:
        """The domain; for most ops that are not structured, the indices of the result."""
        sizes = tuple(self._sizes())
        return Domain(sizes, (PARALLEL,) * len(sizes), frozenset(self._whole(sizes)))

    def _sizes(self) -> Sequence[Number]:
        return sizes_of(self.op.results[0])

    def _whole(self, sizes: Sequence[Number]) -> Iterable[int]:
        """The dimensions of these sizes that no part may cut."""
        return ()

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """The part of each operand that a part of the domain needs; None for scalars and sizes.

        Raises:
            Unserved: it has no exact answer.
        """
        self.check_part(part)
        return tuple(self._parts(part))

    @abstractmethod
    def _parts(self, part: Tile) -> Sequence[Tile | None]: ...

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """Build the op on a part of the domain, at the current insertion point.

        Returns:
            The value for each result: a tensor of the shape of `part_of_result`.

        Raises:
            Unserved: it has no exact answer; nothing was operands_on_parts then.
        """
        parts = self.operand_parts(part)
        self._demand_fit()
        return self._build(part, parts, take)

    def _demand_fit(self) -> None:
        """Assert the sizes of the operands that must agree and whose types leave this open."""
        demand(self.op, equal=self._equal_sizes(), at_most=self._ordered_sizes())

    def _equal_sizes(self) -> Iterable[Pair]:
        return ()

    def _ordered_sizes(self) -> Iterable[Pair]:
        """Pairs of sizes of which the first must be no greater than the second."""
        return ()

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        """Build the same op on parts of its operands, with the types of its destinations."""
        operands = operands_on_parts(parts, self.op.operands, take)
        types = [operands[position].type for position in self.destinations if position is not None]
        return list(on_operands(self.op, operands, types).results)

    def build_element(self, point: Point, take: TakeElement) -> list[ir.Value] | None:
        """Build the op at one point of the domain, on scalars, at the current insertion point.

        Returns:
            A scalar for each result; None where this op has no form on scalars.

        Raises:
            Unserved: as `build`.
        """
        return self._element(point, take)

    def _element(self, point: Point, take: TakeElement) -> list[ir.Value] | None:
        return None

    def part_of_result(self, part: Tile, number: int = 0) -> Tile:
        """The part of a result that a part of the domain computes."""
        return part

    def part_for_result(self, result_part: Tile, number: int = 0) -> Tile:
        """The part of the domain that computes a part of a result, all its reductions whole.

        Raises:
            Unserved: it has no exact answer.
        """
        self.check_part(result_part)
        return result_part

    def result_sizes(self, number: int = 0) -> tuple[Number, ...]:
        """The sizes of a result, from the op's operands."""
        return self.part_of_result(self.domain.all, number).sizes

    def accumulation(self, number: int = 0) -> Accumulation | None:
        """Return the combination of partial results; None where unknown or nothing is reduced."""
        return None

    def check_part(self, part: Tile) -> None:
        """Refuse a part that cuts a dimension which must stay whole.

        Raises:
            Unserved: it does.
        """
        for dim in sorted(self.domain.whole):
            if not self.domain.spans(part, dim):
                raise Unserved(f"dimension {dim} of {self.op.name} cannot be cut")


def require_unit_strides(op: ir.Operation, part: Tile) -> None:
    """Refuse a part with gaps, for an op that computes rows of neighbours alone.

    Raises:
        Unserved: a stride is not known to be 1.
    """
    if any(is_eq(stride, 1) is not True for stride in part.strides):
        raise Unserved(f"{op.name} has no rule for parts with strides")


def operands_on_parts(
    parts: Sequence[Tile | None], operands: Sequence[ir.Value], take: Take
) -> list[ir.Value]:
    """The operands of an op on a part: tensors at their parts, scalars as they are."""
    return [
        value if tile is None else take(position, tile)
        for position, (value, tile) in enumerate(zip(operands, parts, strict=True))
    ]


_EQUAL, _AT_MOST = arith.CmpIPredicate.eq, arith.CmpIPredicate.sle


def demand(
    op: ir.Operation,
    *,
    equal: Iterable[Pair],
    at_most: Iterable[Pair],
) -> None:
    """Assert at the insertion point the facts on sizes that are not known already.

    An op on whole tensors asserts that its sizes fit where it is lowered. Parts fit by
    construction, so the requirement on the whole needs an assertion of its own.

    Raises:
        Unserved: it is known not to hold. Then nothing was built.
    """
    comparisons = [(pair, is_eq(*pair), _EQUAL) for pair in equal]
    comparisons += [(pair, is_le(*pair), _AT_MOST) for pair in at_most]
    if any(truth is False for _, truth, _ in comparisons):
        raise Unserved(f"the sizes of {op.name} do not fit")
    open_ = [(pair, predicate) for pair, truth, predicate in comparisons if truth is None]
    truths = [
        arith.CmpIOp(predicate, value_of(lhs), value_of(rhs)).result
        for (lhs, rhs), predicate in dict.fromkeys(open_)
    ]
    if truths:
        cf.AssertOp(reduce(arith.andi, truths), f"{op.name}: the sizes do not fit")


def known_size(*sizes: Number) -> Number:
    """One of sizes that ought to be equal: a number where there is one."""
    return next((size for size in sizes if isinstance(size, int)), sizes[0])
