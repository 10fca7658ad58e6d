"""Sizes of the iteration space and of outputs, from the shapes of the operands.

An indexing map says which elements an op touches; the largest index that it reaches must lie inside
the operand. Sizes follow from that alone: a dimension that indexes an operand by itself is as long
as that operand; one inside a sum (`oh * SH + kh * DH`) is as long as the rest leaves room for,
which is the usual size of a convolution's output without padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.definition.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineSymbol,
)
from linalg_ext.definition.model import OpDefinition, OperandKind
from linalg_ext.errors import DefinitionError, ShapeError

Size = Any
"""An `int`, or a value with the arithmetic of one and `clamped()`: itself, 0 if it is negative."""


def infer_extents(
    definition: OpDefinition,
    shapes: Mapping[str, Sequence[Size | None]],
    symbols: Mapping[str, int],
) -> dict[str, Size]:
    """The size of each dimension of the iteration space that the shapes determine.

    Args:
        definition: the op.
        shapes: sizes of the operands that are known, by name; None for a size that is not.
        symbols: values of the symbols that index attributes bind.

    Raises:
        ShapeError: an operand is too small for a single position of a sum (a kernel larger than
            what it slides over).
    """
    terms = _index_terms(definition, shapes, symbols)
    extents: dict[str, Size] = {}
    for term in terms:
        if isinstance(term.expr, AffineDim):
            known = extents.get(term.expr.name)
            # A number is worth more than a size that is known at run time only.
            if known is None or (isinstance(term.size, int) and not isinstance(known, int)):
                extents[term.expr.name] = term.size
    # What an output declares may be what a sum leaves open: the kernel that slides over an image.
    extents = {**_declared_extents(definition, shapes, symbols), **extents}
    progress = True
    while progress:
        progress = False
        for term in terms:
            solved = _solve(definition, term, extents)
            if solved is not None:
                extents[solved[0]] = solved[1]
                progress = True
    return extents


def _declared_extents(
    definition: OpDefinition,
    shapes: Mapping[str, Sequence[Size | None]],
    symbols: Mapping[str, int],
) -> dict[str, Size]:
    """Sizes that the declared shapes of outputs state: numbers, attributes, products of sizes."""
    known = symbol_sizes(definition, shapes, symbols)
    return {
        _name(index): size.evaluate(known)
        for output in definition.outputs
        for index, size in zip(
            definition.assignment_to(output.name).target.indices, output.shape, strict=False
        )
        if all(AffineSymbol(symbol) in known for symbol in size.symbols)
    }


def output_shape(
    definition: OpDefinition, output: str, extents: Mapping[str, Size]
) -> tuple[Size, ...]:
    """The shape of an output.

    Raises:
        ShapeError: the inputs do not determine it.
    """
    target = definition.assignment_to(output).target
    # Index 0 is that of an axis of size 1, see the checks of definitions.
    known = {**extents, "": 1}
    missing = [_name(index) for index in target.indices if _name(index) not in known]
    if missing:
        raise ShapeError(
            f"{definition.name}: the size of output {output} along {', '.join(missing)} "
            "does not follow from the inputs",
            cure=f"give the output (out= for arrays, outs= for IR values) with its shape "
            f"({', '.join(map(str, definition.operand(output).shape))})",
        )
    return tuple(known[_name(index)] for index in target.indices)


def check_shapes(
    definition: OpDefinition,
    shapes: Mapping[str, Sequence[Size | None]],
    symbols: Mapping[str, int],
    extents: Mapping[str, Size],
) -> None:
    """Raise unless every index that the op reaches lies inside its operand.

    Sizes that are no `int` are not looked at.

    Raises:
        ShapeError: naming the operands, the dimension and the sizes.
    """
    extents = {dim: extent for dim, extent in extents.items() if isinstance(extent, int)}
    owner: dict[str, str] = {}
    for term in _index_terms(definition, shapes, symbols):
        if not isinstance(term.size, int):
            continue
        if isinstance(term.expr, AffineDim):
            dim = term.expr.name
            if extents[dim] != term.size:
                raise ShapeError(
                    f"{definition.name}: dimension {dim} is {extents[dim]} "
                    f"for {owner.get(dim, 'another operand')}, "
                    f"but {term.operand} has size {term.size} along axis {term.axis}",
                    expected=f"equal sizes: {_describe(definition)}",
                )
            owner.setdefault(dim, f"{term.operand} (axis {term.axis})")
        elif all(extents.get(dim, 0) > 0 for dim in term.expr.dims):
            _check_reach(definition, term, extents)
    _check_equal_symbols(definition, shapes)
    _check_declared_sizes(definition, shapes, symbols)


def _check_declared_sizes(
    definition: OpDefinition,
    shapes: Mapping[str, Sequence[Size | None]],
    symbols: Mapping[str, int],
) -> None:
    """A size that is declared as a number, or for an output as an expression, is that long.

    What an input declares as an expression may be longer: a stride need not divide an image.
    """
    known = symbol_sizes(definition, shapes, symbols)
    for name, shape in shapes.items():
        operand = definition.operand(name)
        for axis, (expr, size) in enumerate(zip(operand.shape, shape, strict=False)):
            stating: tuple[type[AffineExpr], ...] = (AffineConst,)
            if operand.kind is OperandKind.OUTPUT_TENSOR:
                stating = (AffineConst, AffineBinary)
            is_known = all(AffineSymbol(symbol) in known for symbol in expr.symbols)
            if not (isinstance(expr, stating) and is_known):
                continue
            stated = expr.evaluate(known)
            if isinstance(size, int) and isinstance(stated, int) and size != stated:
                raise ShapeError(
                    f"{definition.name}: {name} has size {size} along axis {axis}, "
                    f"which is declared as {expr}",
                    expected=f"{stated}",
                )


def _check_equal_symbols(
    definition: OpDefinition, shapes: Mapping[str, Sequence[Size | None]]
) -> None:
    """A symbol that is written for two sizes says that they are equal."""
    known: dict[AffineExpr, tuple[int, str]] = {}
    for name, shape in shapes.items():
        for axis, (expr, size) in enumerate(
            zip(definition.operand(name).shape, shape, strict=False)
        ):
            if not isinstance(expr, AffineSymbol) or not isinstance(size, int):
                continue
            first, place = known.setdefault(expr, (size, f"{name} (axis {axis})"))
            if first != size:
                raise ShapeError(
                    f"{definition.name}: {expr} is {first} for {place}, "
                    f"but {name} has size {size} along axis {axis}",
                    expected=f"equal sizes: {_describe(definition)}",
                )


def check_rank(definition: OpDefinition, name: str, rank: int) -> None:
    """Raise unless an operand has the rank that the op indexes it with."""
    expected = len(definition.accesses[name][0])
    if rank != expected and not definition.is_rank_polymorphic:
        raise ShapeError(
            f"{definition.name}: operand {name} is of rank {rank}",
            expected=f"rank {expected}: {_describe(definition)}",
        )


@dataclass(frozen=True)
class _IndexTerm:
    """One index of an access, its symbols replaced by numbers, and the size it must stay below."""

    expr: AffineExpr
    size: Size
    operand: str
    axis: int
    written: AffineExpr


def _index_terms(
    definition: OpDefinition,
    shapes: Mapping[str, Sequence[Size | None]],
    symbols: Mapping[str, int],
) -> list[_IndexTerm]:
    known: dict[AffineExpr, AffineExpr | int] = {
        symbol: size
        for symbol, size in symbol_sizes(definition, shapes, symbols).items()
        if isinstance(size, int)
    }
    return [
        _IndexTerm(_known_index(definition, index, known), size, name, axis, index)
        for name, shape in shapes.items()
        for indices in definition.accesses[name]
        for axis, (index, size) in enumerate(zip(indices, shape, strict=True))
        if size is not None
    ]


def _known_index(
    definition: OpDefinition, index: AffineExpr, known: Mapping[AffineExpr, AffineExpr | int]
) -> AffineExpr:
    try:
        return index.substitute(known)
    except DefinitionError as error:
        raise ShapeError(
            f"{definition.name}: `{index}` divides by a size that is 0",
            expected=f"operands that are not empty: {_describe(definition)}",
        ) from error


def _check_reach(definition: OpDefinition, term: _IndexTerm, extents: Mapping[str, int]) -> None:
    if term.expr.symbols:
        return
    low, high = _bounds(term.expr, extents)
    if low < 0 or high >= term.size:
        raise ShapeError(
            f"{definition.name}: `{term.written}` reaches index {low if low < 0 else high} "
            f"of {term.operand}, which has size {term.size} along axis {term.axis}",
            expected=_describe(definition),
        )


def _describe(definition: OpDefinition) -> str:
    return ", ".join(
        f"{operand.name}({', '.join(map(str, operand.shape))})"
        for operand in definition.operands
        if operand.kind.is_tensor
    )


def _name(index: AffineExpr) -> str:
    return index.name if isinstance(index, AffineDim) else ""


def symbol_sizes(
    definition: OpDefinition,
    shapes: Mapping[str, Sequence[Size | None]],
    symbols: Mapping[str, int],
) -> dict[AffineExpr, Size]:
    """The value of each symbol that an index attribute binds, or that is the size of an operand.

    Args:
        definition: the op.
        shapes: sizes of the operands that are known, by name; None for a size that is not.
        symbols: values of the symbols that index attributes bind.
    """
    values: dict[AffineExpr, Size] = {}
    for name, shape in shapes.items():
        declared = definition.operand(name).shape
        for expr, size in zip(declared, shape, strict=False):
            if not isinstance(expr, AffineSymbol) or size is None:
                continue
            # A number is worth more than a size that is known at run time only.
            if expr not in values or isinstance(size, int):
                values[expr] = size
    values.update((AffineSymbol(name), value) for name, value in symbols.items())
    return values


def linear_terms(expr: AffineExpr) -> tuple[dict[str, int], int] | None:
    """An index as coefficients of dimensions and a constant; None if it is not linear."""
    if isinstance(expr, AffineConst):
        return {}, expr.value
    if isinstance(expr, AffineDim):
        return {expr.name: 1}, 0
    if not isinstance(expr, AffineBinary):
        return None
    left, right = linear_terms(expr.lhs), linear_terms(expr.rhs)
    if left is None or right is None:
        return None
    if expr.kind is AffineKind.ADD:
        merged = dict(left[0])
        for dim, factor in right[0].items():
            merged[dim] = merged.get(dim, 0) + factor
        return merged, left[1] + right[1]
    if expr.kind is AffineKind.MUL and not right[0]:
        return {dim: factor * right[1] for dim, factor in left[0].items()}, left[1] * right[1]
    return None


def _solve(
    definition: OpDefinition, term: _IndexTerm, extents: Mapping[str, Size]
) -> tuple[str, Size] | None:
    """The one unknown dimension of a sum, and the largest size it may have."""
    linear = linear_terms(term.expr)
    if linear is None:
        return None
    factors, constant = linear
    unknown = [dim for dim in factors if dim not in extents]
    if len(unknown) != 1 or any(factor <= 0 for factor in factors.values()):
        return None
    room = term.size - 1 - constant
    for dim, factor in factors.items():
        if dim in extents:
            room = room - (extents[dim] - 1) * factor
    if isinstance(room, int) and room < 0 < term.size:
        raise ShapeError(
            f"{definition.name}: `{term.written}` needs {term.size - room} elements of "
            f"{term.operand}, which has size {term.size} along axis {term.axis}",
            expected=_describe(definition),
        )
    extent = room // factors[unknown[0]] + 1
    return unknown[0], max(extent, 0) if isinstance(extent, int) else extent.clamped()


def _bounds(expr: AffineExpr, extents: Mapping[str, int]) -> tuple[int, int]:
    """The smallest and the largest value of an expression over the iteration space."""
    if isinstance(expr, AffineConst):
        return expr.value, expr.value
    if isinstance(expr, AffineDim):
        return 0, extents[expr.name] - 1
    linear = linear_terms(expr)
    if linear is not None:
        factors, constant = linear
        reach = [factor * (extents[dim] - 1) for dim, factor in factors.items()]
        return (
            constant + sum(value for value in reach if value < 0),
            constant + sum(value for value in reach if value > 0),
        )
    if not isinstance(expr, AffineBinary):
        raise ShapeError(f"the value of symbol {expr} is not known", cure="bind it to an attribute")
    (low, high), (divisor, _) = _bounds(expr.lhs, extents), _bounds(expr.rhs, extents)
    match expr.kind:
        case AffineKind.ADD:
            other_low, other_high = _bounds(expr.rhs, extents)
            return low + other_low, high + other_high
        case AffineKind.MUL:
            ends = (low * divisor, high * divisor)
            return min(ends), max(ends)
        case AffineKind.FLOORDIV:
            return low // divisor, high // divisor
        case AffineKind.CEILDIV:
            return -(-low // divisor), -(-high // divisor)
        case AffineKind.MOD:
            return (low, high) if low >= 0 and high < divisor else (0, divisor - 1)
