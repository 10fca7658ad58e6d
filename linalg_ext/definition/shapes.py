"""Sizes of the iteration space and of outputs, from the shapes of the operands.

An indexing map says which elements an op touches; the largest index that it reaches must lie inside
the operand. Sizes follow from that alone: a dimension that indexes an operand by itself is as long
as that operand; one inside a sum (`oh * SH + kh * DH`) is as long as the rest leaves room for,
which is the usual size of a convolution's output without padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.definition.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineSymbol,
)
from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import ShapeError

Size = Any
"""An `int`, or any value with the arithmetic of one (a size that is known at run time only)."""


def infer_extents(
    definition: OpDefinition,
    shapes: Mapping[str, Sequence[Size]],
    symbols: Mapping[str, int],
) -> dict[str, Size]:
    """The size of each dimension of the iteration space that the shapes determine.

    Args:
        definition: the op.
        shapes: sizes of the operands that are known, by name.
        symbols: values of the symbols that index attributes bind.
    """
    known: dict[AffineExpr, AffineExpr | int] = _symbol_values(definition, shapes, symbols)
    terms = [
        (expr.substitute(known), size)
        for name, shape in shapes.items()
        for indices in definition.accesses[name]
        for expr, size in zip(indices, shape, strict=True)
    ]
    extents: dict[str, Size] = {}
    for expr, size in terms:
        if isinstance(expr, AffineDim):
            extents.setdefault(expr.name, size)
    progress = True
    while progress:
        progress = False
        for expr, size in terms:
            solved = _solve(expr, size, extents)
            if solved is not None:
                extents[solved[0]] = solved[1]
                progress = True
    return extents


def output_shape(
    definition: OpDefinition, output: str, extents: Mapping[str, Size]
) -> tuple[Size, ...]:
    """The shape of an output.

    Raises:
        ShapeError: the inputs do not determine it.
    """
    target = definition.assignment_to(output).target
    missing = [_name(index) for index in target.indices if _name(index) not in extents]
    if missing:
        raise ShapeError(
            f"{definition.name}: the size of output {output} along {', '.join(missing)} "
            "does not follow from the inputs",
            cure=f"give the output (out= for arrays, outs= for IR values) with its shape "
            f"({', '.join(map(str, definition.operand(output).shape))})",
        )
    return tuple(extents[_name(index)] for index in target.indices)


def check_shapes(
    definition: OpDefinition,
    shapes: Mapping[str, Sequence[int]],
    symbols: Mapping[str, int],
    extents: Mapping[str, int],
) -> None:
    """Raise unless every index that the op reaches lies inside its operand.

    Raises:
        ShapeError: naming the operands, the dimension and the sizes.
    """
    known = _symbol_values(definition, shapes, symbols)
    owner: dict[str, str] = {}
    for name, shape in shapes.items():
        for indices in definition.accesses[name]:
            for axis, (index, size) in enumerate(zip(indices, shape, strict=True)):
                expr = index.substitute(known)
                place = f"{name} has size {size} along axis {axis}"
                if isinstance(expr, AffineDim):
                    if extents[expr.name] != size:
                        raise ShapeError(
                            f"{definition.name}: dimension {expr.name} is {extents[expr.name]} "
                            f"for {owner.get(expr.name, 'another operand')}, but {place}",
                            expected=f"equal sizes: {_describe(definition)}",
                        )
                    owner.setdefault(expr.name, f"{name} (axis {axis})")
                elif all(extents[dim] > 0 for dim in expr.dims):
                    _check_reach(definition, name, axis, index, size, expr, extents)


def check_rank(definition: OpDefinition, name: str, rank: int) -> None:
    """Raise unless an operand has the rank that the op indexes it with."""
    expected = len(definition.accesses[name][0])
    if rank != expected and not definition.is_rank_polymorphic:
        raise ShapeError(
            f"{definition.name}: operand {name} is of rank {rank}",
            expected=f"rank {expected}: {_describe(definition)}",
        )


def _check_reach(
    definition: OpDefinition,
    name: str,
    axis: int,
    index: AffineExpr,
    size: int,
    expr: AffineExpr,
    extents: Mapping[str, int],
) -> None:
    low, high = _bounds(expr, extents)
    if low < 0 or high >= size:
        reach = f"{low}" if low < 0 else f"{high}"
        raise ShapeError(
            f"{definition.name}: `{index}` reaches index {reach} of {name}, which has size {size} "
            f"along axis {axis}",
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


def _symbol_values(
    definition: OpDefinition, shapes: Mapping[str, Sequence[Size]], symbols: Mapping[str, int]
) -> dict[AffineExpr, AffineExpr | int]:
    values: dict[AffineExpr, AffineExpr | int] = {}
    for name, shape in shapes.items():
        declared = definition.operand(name).shape
        for expr, size in zip(declared, shape, strict=False):
            if isinstance(expr, AffineSymbol) and isinstance(size, int):
                values.setdefault(expr, size)
    values.update((AffineSymbol(name), value) for name, value in symbols.items())
    return values


def _linear(expr: AffineExpr) -> tuple[dict[str, int], int] | None:
    """`expr` as coefficients of dimensions and a constant; None if it is not linear."""
    if isinstance(expr, AffineConst):
        return {}, expr.value
    if isinstance(expr, AffineDim):
        return {expr.name: 1}, 0
    if not isinstance(expr, AffineBinary):
        return None
    left, right = _linear(expr.lhs), _linear(expr.rhs)
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


def _solve(expr: AffineExpr, size: Size, extents: Mapping[str, Size]) -> tuple[str, Size] | None:
    """The one unknown dimension of a sum, and the largest size it may have."""
    linear = _linear(expr)
    if linear is None:
        return None
    factors, constant = linear
    unknown = [dim for dim in factors if dim not in extents]
    if len(unknown) != 1 or any(factor <= 0 for factor in factors.values()):
        return None
    room = size - 1 - constant
    for dim, factor in factors.items():
        if dim in extents:
            room = room - (extents[dim] - 1) * factor
    extent = room // factors[unknown[0]] + 1
    return unknown[0], max(extent, 0) if isinstance(extent, int) else extent


def _bounds(expr: AffineExpr, extents: Mapping[str, int]) -> tuple[int, int]:
    """The smallest and the largest value of an expression over the iteration space."""
    if isinstance(expr, AffineConst):
        return expr.value, expr.value
    if isinstance(expr, AffineDim):
        return 0, extents[expr.name] - 1
    linear = _linear(expr)
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
            return (low, high) if 0 <= low and high < divisor else (0, divisor - 1)
