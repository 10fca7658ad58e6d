"""Dimensions of an op's iteration space that can be split among blocks.

A dimension can be split where it has the same meaning for a block as for the whole. It must index
operands by itself, neither its position nor its size may be read, and its reductions must be
associative. All this is read off the definition; no op is known by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineSymbol
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.calls import Shape
from linalg_ext.definition.functions import Function, FunctionKind
from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    are_independent,
    domain_of,
    why_unmapped,
)
from linalg_ext.definition.renaming import with_values
from linalg_ext.definition.scalar import Access, Apply, Const, Index, ScalarExpr, Size
from linalg_ext.definition.shapes import symbol_sizes
from linalg_ext.definition.specialization import at_rank
from linalg_ext.errors import ArgumentError


@dataclass(frozen=True)
class Splitting:
    """The splitting of an op among blocks.

    Attributes:
        sizes: the symbols whose sizes would differ in blocks, with the numbers of the whole.
        axes: for each tensor operand a dimension for each axis. An axis that is no plain dimension
            of the op has a dimension of its own.
        whole: the dimensions that a block must have all of, and why.
        combine: for each output the function that combines the results of blocks; None where it
            has no reduction.
    """

    sizes: Mapping[str, int]
    axes: Mapping[str, tuple[str, ...]]
    whole: Mapping[str, str]
    combine: Mapping[str, Function | None]


def split(
    definition: OpDefinition, shapes: Mapping[str, Shape], attributes: CallAttributes
) -> Splitting:
    """Return the splitting of an op for operands of these shapes.

    Args:
        definition: the op, as the call gives its operands (`with_operand_maps`).
        shapes: the shape of every tensor operand.
        attributes: the attributes of the call.
    """
    if (reason := why_unmapped(definition)) is not None:
        raise ArgumentError(
            f"{definition.name} does not come apart in blocks: {reason}",
            hint="compute the operands first, or call it on each block with map_blocks",
        )
    if definition.is_rank_polymorphic:
        # Each operand has all axes, or none.
        ranked = at_rank(definition, max(map(len, shapes.values())))
        axes = {name: ranked.dims[: len(shape)] for name, shape in shapes.items()}
        return Splitting({}, axes, {}, {output.name: None for output in definition.outputs})
    found = _Rules(definition, attributes)
    known = symbol_sizes(definition, shapes, {})
    sizes = {symbol: known[AffineSymbol(symbol)] for symbol in sorted(found.replaced)}
    return Splitting(sizes, found.axes, found.whole, found.combine)


def with_numbers(definition: OpDefinition, sizes: Mapping[str, int]) -> OpDefinition:
    """A definition with numbers in the place of sizes that it computes with."""

    def number(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, Size) and expr.symbol in sizes:
            return Const(sizes[expr.symbol])
        return expr

    return with_values(definition, number) if sizes else definition


class _Rules:
    """The rules, each of which may find dimensions that must be whole."""

    def __init__(self, definition: OpDefinition, attributes: CallAttributes) -> None:
        self.definition = definition
        self.whole: dict[str, str] = {}
        self.axes = {
            name: tuple(self._axis(name, axis, indices) for axis, indices in enumerate(columns))
            for name, accesses in definition.accesses.items()
            for columns in [list(zip(*accesses, strict=True))]
        }
        self._by_symbol = self._dims_of_symbols()
        self._bound = attributes.symbols.keys()
        self._check_symbols()
        self.replaced = self._check_values()
        self.combine = {
            assignment.target.operand: self._combination(assignment, attributes)
            for assignment in definition.assignments
        }

    def _keep(self, dims: Iterable[str], why: str) -> None:
        for dim in dims:
            self.whole.setdefault(dim, why)

    def _axis(self, name: str, axis: int, indices: tuple[AffineExpr, ...]) -> str:
        """The dimension that an axis is indexed by, in every access of the operand."""
        first = indices[0]
        if isinstance(first, AffineDim) and all(index == first for index in indices):
            return first.name
        shown = " and ".join(f"`{index}`" for index in dict.fromkeys(indices))
        own = f"{name}, axis {axis}"
        self._keep((own,), f"the op indexes it by {shown}")
        for index in indices:
            self._keep(index.dims, f"the op indexes {name} by {shown}")
        return own

    def _dims_of_symbols(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name, axes in self.axes.items():
            for expr, dim in zip(self.definition.operand(name).shape, axes, strict=False):
                for symbol in expr.symbols:
                    found.setdefault(symbol, set()).add(dim)
        return found

    def _check_symbols(self) -> None:
        """A size that is part of an index or of a declared size is that of the whole."""
        for symbol, dims in self._by_symbol.items():
            if len(dims) > 1:
                self._keep(dims, "the op declares it to be as long as another one")
            if symbol in self._bound:
                self._keep(dims, f"the attribute {symbol} says how long it is")
        for name, axes in self.axes.items():
            declared = self.definition.operand(name).shape
            for expr, dim in zip(declared, axes, strict=False):
                if not _is_symbol(expr):
                    self._keep((dim,), f"the op declares it to be {expr} long")
                    self._keep_symbols(expr.symbols, f"the op declares a size as {expr}")
            for indices in self.definition.accesses[name]:
                for index in indices:
                    self._keep_symbols(index.symbols, f"the op indexes {name} by `{index}`")

    def _keep_symbols(self, symbols: tuple[str, ...], why: str) -> None:
        for symbol in symbols:
            self._keep(self._by_symbol.get(symbol, set()), why)

    def _check_values(self) -> frozenset[str]:
        """Keep whole whose position counts; the symbols whose sizes may become numbers."""
        expressions = list(self.definition.expressions())
        indices = [expr for expr in expressions if isinstance(expr, Index)]
        for index in indices:
            self._keep((index.dim,), f"the op computes with the position along {index.dim}")
        sizes = [expr for expr in expressions if isinstance(expr, Size)]
        cast = [
            expr.args[0]
            for expr in expressions
            if isinstance(expr, Apply) and expr.function.kind is FunctionKind.TYPE
        ]
        replaced = set()
        for size in sizes:
            dims = self._by_symbol.get(size.symbol)
            if not dims or size.symbol in self._bound:
                continue  # an attribute's, which blocks have too
            if sum(size == other for other in cast) == sum(size == other for other in sizes):
                replaced.add(size.symbol)
            else:
                self._keep(dims, f"the op computes with {size}")
        return frozenset(replaced)

    def _combination(self, assignment: Assignment, attributes: CallAttributes) -> Function | None:
        reduction = assignment.reduction
        name = assignment.target.operand
        left = [dim for dim in self.definition.dims if dim not in domain_of(assignment)]
        self._keep(left, f"{name} is not computed along it")
        if reduction is None:
            return None
        chosen = reduction.attribute
        function = attributes.functions[chosen] if chosen else reduction.function
        others = {a.target.operand for a in self.definition.assignments}
        others.discard(assignment.target.operand)
        reads = {e.operand for e in assignment.value.walk() if isinstance(e, Access)}
        if function is None:
            self._keep(reduction.dims, "the op folds over it, which no function of pairs says")
        elif others & reads:
            self._keep(reduction.dims, f"{name} depends on other outputs")
        elif any(
            not are_independent(assignment, other)
            for other in self.definition.assignments
            if other is not assignment
        ):
            self._keep(reduction.dims, f"other outputs depend on {name}")
        return function


def _is_symbol(expr: AffineExpr) -> bool:
    return isinstance(expr, AffineSymbol)
