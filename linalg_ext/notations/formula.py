"""A definition as a formula for people: one line of text, or LaTeX.

    C[m, n] = Σ_{k} A[m, k] * B[k, n]

Casts are left out unless they are asked for, and so is what a reduction starts from. Written only:
a formula does not say types, so none is read back.
"""

from __future__ import annotations

from dataclasses import replace

from linalg_ext.definition.affine import AffineDim, AffineExpr
from linalg_ext.definition.functions import FunctionKind
from linalg_ext.definition.model import Assignment, OpDefinition, Operand, OperandKind
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
from linalg_ext.notations.formula_style import ATOM, SUM, Rendered, Style
from linalg_ext.notations.formula_styles import LATEX, TEXT
from linalg_ext.notations.registry import Notation, register


def formula(definition: OpDefinition, *, casts: bool = False) -> str:
    """The formula in one line of text.

    Args:
        definition: the op.
        casts: whether to show casts, as `U(A[m, k])`.
    """
    return _Formula(definition, TEXT, casts).line()


def latex(definition: OpDefinition, *, casts: bool = False) -> str:
    """The formula in LaTeX, without dollar signs; arguments as of `formula`."""
    return _Formula(definition, LATEX, casts).line()


register(Notation("formula", "a formula for people, in one line of text", write=formula))
register(Notation("latex", "a formula for people, in LaTeX", write=latex))


class _Formula:
    """Writes one definition in one style."""

    def __init__(self, definition: OpDefinition, style: Style, casts: bool) -> None:
        self._definition = definition
        self._style = style
        self._casts = casts
        self._said: set[str] = set()

    def line(self) -> str:
        """All assignments, and what is said of operands that they do not name."""
        style = self._style
        parts = [self._assignment(assignment) for assignment in self._definition.assignments]
        notes = [self._note(o) for o in self._definition.operands if o.name not in self._said]
        return style.separator.join([*parts, *notes])

    def _assignment(self, assignment: Assignment) -> str:
        target = self._access(assignment.target)
        return f"{target} = {self._assigned(assignment).text}"

    def _assigned(self, assignment: Assignment) -> Rendered:
        reduction = assignment.reduction
        rest = _without(assignment.value, assignment.target) if reduction else None
        if reduction is None or (reduction.function is not None and not reduction.dims):
            return self._expression(assignment.value)
        function = reduction.function
        if function is None or rest is None:
            # A fold: its value says itself what becomes of the one before.
            # It runs in the order of the iteration space, which tells folds apart.
            dims = tuple(sorted(reduction.dims, key=self._definition.dims.index))
            return self._style.reduction(
                "fold", self._ranges(dims), self._expression(assignment.value)
            )
        name = reduction.attribute or function.name
        if reduction.attribute:
            self._said.add(reduction.attribute)
        body = self._expression(rest)
        return self._style.reduction(name, self._ranges(reduction.dims), body)

    def _ranges(self, dims: tuple[str, ...]) -> str:
        """The dimensions that a reduction runs over, with the shape that says how far."""
        left = list(dims)
        groups = []
        for operand in self._definition.inputs:
            own = _plain_dims(operand)
            if own and set(own) <= set(left):
                self._said.add(operand.name)
                names = ", ".join(map(self._style.dim, own))
                groups.append(f"{names} {self._style.member} {self._style.name(operand.name)}")
                left = [dim for dim in left if dim not in own]
        return ", ".join([*map(self._style.dim, left), *groups])

    def _expression(self, expr: ScalarExpr) -> Rendered:
        style = self._style
        match expr:
            case Access():
                return Rendered(self._access(expr), ATOM)
            case Lookup() | Carried():
                self._said.add(expr.operand)
                indices = [
                    self._index(index) if isinstance(index, AffineExpr) else self._expression(index)
                    for index in expr.indices
                ]
                return Rendered(self._style.access(expr.operand, indices), ATOM)
            case ScalarOperand(operand=name):
                self._said.add(name)
                return Rendered(style.name(name), ATOM)
            case Const(value=value):
                return style.number(value)
            case Index(dim=dim) | Size(symbol=dim):
                return Rendered(style.dim(dim), ATOM)
            case Apply():
                return self._apply(expr)
            case _:
                return Rendered(str(expr), SUM)

    def _apply(self, expr: Apply) -> Rendered:
        args = [self._expression(arg) for arg in expr.args]
        if expr.function.kind is FunctionKind.TYPE:
            if not self._casts:
                return args[0]
            if expr.attribute is not None:
                self._said.add(expr.attribute)
            return self._style.call(str(expr.type_var), args)
        if expr.attribute is not None:
            self._said.add(expr.attribute)
            return self._style.call(expr.attribute, args)
        return self._style.function(expr.function.name, args)

    def _access(self, access: Access) -> str:
        self._said.add(access.operand)
        return self._style.access(access.operand, [self._index(i) for i in access.indices])

    def _index(self, index: AffineExpr) -> Rendered:
        return self._style.affine(index)

    def _note(self, operand: Operand) -> str:
        """Return the note on an operand that the assignments do not mention.

        It states the value of an attribute, or the dimensions of a tensor.
        """
        style = self._style
        name = style.name(operand.name)
        if operand.kind is OperandKind.INDEX_ATTR:
            values = ", ".join(self._index(expr).text for expr in operand.shape)
            return f"{name} = ({values})"
        if operand.kind.is_attribute:
            return f"{name} = {style.name(str(operand.default))}"
        dims = ", ".join(self._index(i).text for i in operand.index_dims or ())
        return f"({dims}) {style.member} {name}"


def _plain_dims(operand: Operand) -> list[str]:
    """The dimensions that a tensor which only has a shape stands for."""
    return [dim.name for dim in operand.index_dims or () if isinstance(dim, AffineDim)]


def _without(value: ScalarExpr, target: Access) -> ScalarExpr | None:
    """Return the value that an accumulation adds: its value without the target, or None."""
    if value == target or not isinstance(value, Apply) or len(value.args) != 2:
        return None
    if target in value.args:
        return next(arg for arg in value.args if arg != target)
    for position, arg in enumerate(value.args):
        if any(part == target for part in arg.walk()):
            rest = _without(arg, target)
            if rest is None:
                return None
            args = list(value.args)
            args[position] = rest
            return replace(value, args=tuple(args))
    return None
