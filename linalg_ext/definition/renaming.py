"""Definitions with other names, and with their expressions rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar as PyTypeVar

from linalg_ext.definition.model import Assignment, OpDefinition, Operand
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Carried,
    Const,
    Index,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    Size,
)
from linalg_ext.definition.types import TypeVar
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineSymbol, left_associated


@dataclass(frozen=True)
class Renaming:
    """New names, or for symbols new expressions; others keep their names."""

    dims: Mapping[str, str] = field(default_factory=dict)
    symbols: Mapping[str, AffineExpr | int] = field(default_factory=dict)
    type_vars: Mapping[str, str] = field(default_factory=dict)
    operands: Mapping[str, str] = field(default_factory=dict)

    def definition(self, definition: OpDefinition) -> OpDefinition:
        """The definition under the new names."""
        return replace(
            definition,
            operands=tuple(self._operand(operand) for operand in definition.operands),
            dims=tuple(self._dim(dim) for dim in definition.dims),
            assignments=tuple(self._assignment(a) for a in definition.assignments),
        )

    def indices(self, exprs: tuple[AffineExpr, ...]) -> tuple[AffineExpr, ...]:
        """Indices, or a shape, under the new names."""
        named: dict[AffineExpr, AffineExpr | int] = {
            AffineDim(old): AffineDim(new) for old, new in self.dims.items()
        }
        named.update((AffineSymbol(old), new) for old, new in self.symbols.items())
        return tuple(left_associated(expr.substitute(named)) for expr in exprs)

    def expression(self, expr: ScalarExpr) -> ScalarExpr:
        """A scalar expression under the new names."""
        return rewrite_expression(expr, self._leaf)

    def _dim(self, dim: str) -> str:
        return self.dims.get(dim, dim)

    def _name(self, operand: str) -> str:
        return self.operands.get(operand, operand)

    def _type_var(self, type_var: TypeVar) -> TypeVar:
        return TypeVar(self.type_vars.get(type_var.name, type_var.name))

    def _operand(self, operand: Operand) -> Operand:
        return replace(
            operand,
            name=self._name(operand.name),
            type_var=operand.type_var and self._type_var(operand.type_var),
            shape=self.indices(operand.shape),
            index_dims=None if operand.index_dims is None else self.indices(operand.index_dims),
        )

    def _assignment(self, assignment: Assignment) -> Assignment:
        reduction = assignment.reduction
        if reduction is not None:
            reduction = replace(
                reduction,
                dims=tuple(map(self._dim, reduction.dims)),
                attribute=reduction.attribute and self._name(reduction.attribute),
            )
        return Assignment(
            self._element(assignment.target), self.expression(assignment.value), reduction
        )

    def _element(self, element: _Element) -> _Element:
        return type(element)(
            self._name(element.operand),
            self.indices(element.indices),
            self._type_var(element.type_var),
        )

    def _leaf(self, expr: ScalarExpr) -> ScalarExpr:
        match expr:
            case Access():
                return self._element(expr)
            case Carried():
                return self._element(expr)
            case Lookup(operand=name, indices=indices, type_var=type_var):
                places = tuple(
                    i if isinstance(i, ScalarExpr) else self.indices((i,))[0] for i in indices
                )
                return Lookup(self._name(name), places, self._type_var(type_var))
            case ScalarOperand(operand=name, type_var=type_var):
                return ScalarOperand(self._name(name), self._type_var(type_var))
            case Index(dim=dim):
                return Index(self._dim(dim))
            case Size(symbol=symbol):
                return _size(symbol, self.symbols.get(symbol))
            case Apply(type_var=type_of_cast, attribute=attribute):
                return replace(
                    expr,
                    type_var=type_of_cast and self._type_var(type_of_cast),
                    attribute=attribute and self._name(attribute),
                )
            case _:
                return expr


_Element = PyTypeVar("_Element", Access, Carried)


def _size(symbol: str, value: AffineExpr | int | None) -> ScalarExpr:
    """Return the replacement of the size that a symbol stands for: another size, or a number."""
    if isinstance(value, AffineSymbol):
        return Size(value.name)
    return Const(value) if isinstance(value, int) else Size(symbol)


def rewrite_expression(expr: ScalarExpr, change: Callable[[ScalarExpr], ScalarExpr]) -> ScalarExpr:
    """An expression with every part replaced, from the inside out."""
    if isinstance(expr, Apply):
        expr = replace(expr, args=tuple(rewrite_expression(arg, change) for arg in expr.args))
    elif isinstance(expr, Lookup):
        indices = (
            rewrite_expression(index, change) if isinstance(index, ScalarExpr) else index
            for index in expr.indices
        )
        expr = replace(expr, indices=tuple(indices))
    return change(expr)


def with_values(
    definition: OpDefinition, change: Callable[[ScalarExpr], ScalarExpr]
) -> OpDefinition:
    """A definition with every part of every assigned value replaced, from the inside out."""
    return replace(
        definition,
        assignments=tuple(
            replace(a, value=rewrite_expression(a.value, change)) for a in definition.assignments
        ),
    )


def with_types_of(definition: OpDefinition, types: Mapping[str, TypeVar]) -> OpDefinition:
    """A definition with other type variables of some operands, its expressions left as they are."""
    operands = (
        replace(o, type_var=types[o.name]) if o.name in types else o for o in definition.operands
    )
    return replace(definition, operands=tuple(operands))


def with_indices(
    definition: OpDefinition, change: Callable[[AffineExpr], AffineExpr]
) -> OpDefinition:
    """A definition with every index, and every size, replaced."""

    def changed(exprs: tuple[AffineExpr, ...]) -> tuple[AffineExpr, ...]:
        return tuple(change(expr) for expr in exprs)

    def access(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, (Access, Carried)):
            return replace(expr, indices=changed(expr.indices))
        return expr

    named = with_values(definition, access)
    return replace(
        named,
        operands=tuple(
            replace(
                operand,
                shape=changed(operand.shape),
                index_dims=None if operand.index_dims is None else changed(operand.index_dims),
            )
            for operand in named.operands
        ),
        assignments=tuple(
            replace(a, target=replace(a.target, indices=changed(a.target.indices)))
            for a in named.assignments
        ),
    )
