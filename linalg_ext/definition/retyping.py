"""Scalar expressions computed in another type; the rules are those of `compute_type`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from linalg_ext.definition.element_types import family, has_function, holds
from linalg_ext.definition.functions import BINARY, TYPE, Function, FunctionKind
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Const,
    Index,
    ScalarExpr,
    ScalarOperand,
    Size,
    type_of,
)
from linalg_ext.definition.types import BOOLEAN, PREDEFINED_ELEMENTS, TypeVar
from linalg_ext.errors import DTypeError

_SIGNED, _UNSIGNED = TYPE["cast_signed"], TYPE["cast_unsigned"]
_LOGICAL = frozenset(
    ("and", "or", "xor", "not", "add", "mul", "max_signed", "min_signed", "select")
)
"""Functions that booleans are combined with: on them a sum is `or`, a product `and`."""


def element_table(types: Mapping[str, str]) -> dict[str, str]:
    """The element type of each type variable, the predefined ones included."""
    return {**PREDEFINED_ELEMENTS, **types}


def is_cast(expr: ScalarExpr) -> bool:
    """Return whether an expression is a cast."""
    return isinstance(expr, Apply) and expr.function.kind is FunctionKind.TYPE


def is_computed(expr: ScalarExpr) -> bool:
    """Return whether an expression is more than a (cast) operand, constant or position."""
    while is_cast(expr):
        (expr,) = expr.operands
    return isinstance(expr, Apply)


def is_unsigned(expr: ScalarExpr) -> bool:
    """Return whether an expression is a function of unsigned integers."""
    return isinstance(expr, Apply) and expr.function.name.endswith("_unsigned")


@dataclass(frozen=True)
class Retyper:
    """Rewrites the expressions of one definition to compute in a type.

    Attributes:
        definition: the op, as it is before.
        elements: the element type of each type variable, the compute type's included.
        compute: the type variable of the compute type.
        compute_element: the compute type, as MLIR spells it.
    """

    definition: OpDefinition
    elements: Mapping[str, str]
    compute: TypeVar
    compute_element: str

    @cached_property
    def conditions(self) -> frozenset[str]:
        """The outputs whose values are the answers of comparisons: they stay as they are."""
        return frozenset(
            a.target.operand
            for a in self.definition.assignments
            if self.elements[a.target.type_var.name] == "i1" and self.is_condition(a.value)
        )

    @cached_property
    def _accumulators(self) -> frozenset[str]:
        """The outputs that are of the compute type from now on."""
        return frozenset(o.name for o in self.definition.outputs) - self.conditions

    def number(self, expr: ScalarExpr, *, unsigned: bool) -> ScalarExpr:
        """An expression as a number of the compute type.

        Args:
            expr: any expression of the definition.
            unsigned: whether integers that no cast reads are unsigned there.

        Raises:
            DTypeError: a function has no meaning for the compute type, or a cast no counterpart.
        """
        if self.is_condition(expr):
            return self._converted(self.condition(expr), _UNSIGNED)
        if not isinstance(expr, Apply):
            is_boolean = self._element(expr) == "i1"
            return self._leaf(expr, _UNSIGNED if unsigned or is_boolean else _SIGNED)
        if is_cast(expr):
            return self._cast(expr, unsigned=unsigned)
        function = self._function(expr.function)
        below = unsigned or is_unsigned(expr)
        if function.name == "select":
            condition, *values = expr.args
            args = (self.condition(condition), *(self.number(v, unsigned=below) for v in values))
        else:
            args = tuple(self.number(arg, unsigned=below) for arg in expr.args)
        return replace(expr, function=function, args=args)

    def condition(self, expr: ScalarExpr) -> ScalarExpr:
        """An expression as a condition: comparisons in the compute type, the rest as it stands.

        Integers and positions are compared as such under a float compute type, which may not hold
        them.

        Raises:
            DTypeError: as of `number`.
        """
        if isinstance(expr, Access) and expr.operand in self._accumulators:
            return Apply(_SIGNED, (replace(expr, type_var=self.compute),), BOOLEAN)
        if not isinstance(expr, Apply):
            return expr
        if expr.function.is_predicate:
            if self._is_of_integers(expr):
                return expr
            self._function(expr.function)
            args = tuple(self.number(arg, unsigned=False) for arg in expr.args)
            return replace(expr, args=args)
        if self._element(expr) != "i1":
            return self.number(expr, unsigned=False)
        if is_cast(expr):
            (arg,) = expr.args
            if is_computed(arg) and self._element(arg) != "i1":
                return replace(expr, args=(self.number(arg, unsigned=False),))
            return replace(expr, args=(self.condition(arg),))
        return replace(expr, args=tuple(self.condition(arg) for arg in expr.args))

    def without_cast_out(self, expr: ScalarExpr, element: str) -> tuple[ScalarExpr, bool]:
        """The value of an assignment without the cast to its output, and whether that is unsigned.

        Raises:
            DTypeError: the cast reads a computed integer as unsigned.
        """
        if not isinstance(expr, Apply) or not is_cast(expr) or self._element(expr) != element:
            return expr, False
        (inner,) = expr.args
        is_out_unsigned = expr.function == _UNSIGNED
        if not is_computed(inner):
            return expr, is_out_unsigned
        source = self._element(inner)
        if source == "i1" or (self._is_exact(inner) and family(element) == "float"):
            return expr, False
        self._refuse_reinterpretation(expr, source)
        return inner, is_out_unsigned

    def reads_unsigned(self, expr: ScalarExpr) -> bool:
        """Return whether a value is made only of operands that casts read as unsigned."""
        found = {
            e.function
            for e in expr.walk()
            if isinstance(e, Apply)
            and is_cast(e)
            and isinstance(e.args[0], (Access, ScalarOperand))
            and family(self._element(e.args[0])) == "integer"
        }
        return found == {_UNSIGNED}

    def is_condition(self, expr: ScalarExpr) -> bool:
        """Return whether an expression is the answer of a comparison, or made of such by logic."""
        if not isinstance(expr, Apply) or self._element(expr) != "i1":
            return False
        if expr.function.is_predicate:
            return True
        if is_cast(expr):
            return is_computed(expr.args[0])
        return expr.function.name in _LOGICAL and any(map(self.is_condition, expr.args))

    def _cast(self, expr: Apply, *, unsigned: bool) -> ScalarExpr:
        chain: list[Apply] = []
        inner: ScalarExpr = expr
        while isinstance(inner, Apply) and is_cast(inner):
            chain.append(inner)
            (inner,) = inner.args
        is_exact = self._is_exact(inner)
        if isinstance(inner, Apply) and not is_exact:
            return self._cast_of_computed(chain, inner, unsigned=unsigned)
        if isinstance(inner, Access) and inner.operand in self._accumulators:
            return self._leaf(inner, _SIGNED)
        is_input = is_exact or isinstance(inner, (Access, ScalarOperand))
        if not is_input or not self._loses(chain[1:], inner):
            return self._leaf(inner, chain[-1].function)
        # The input is rounded before it is read: only the last cast was to the op's own type.
        return self._converted(chain[1], chain[0].function)

    def _is_exact(self, expr: ScalarExpr) -> bool:
        """Return whether an expression computes with integers what a float compute type need not.

        A hash of the position, a difference to a zero point: no float does it better.
        """
        return (
            isinstance(expr, Apply)
            and family(self._element(expr)) in ("integer", "index")
            and family(self.compute_element) in ("float", "complex")
            and not any(
                isinstance(e, Access) and e.operand in self._accumulators for e in expr.walk()
            )
        )

    def _is_of_integers(self, comparison: Apply) -> bool:
        """Return whether a comparison is of integers while the compute type is a float."""
        if family(self.compute_element) not in ("float", "complex"):
            return False
        return not any(
            (isinstance(e, Access) and e.operand in self._accumulators)
            or family(self._element(e)) in ("float", "complex")
            for e in comparison.walk()
        )

    def _cast_of_computed(self, chain: list[Apply], inner: Apply, *, unsigned: bool) -> ScalarExpr:
        """Casts in the middle of an expression: roundings stay."""
        current = self._element(inner)
        value = self.number(inner, unsigned=unsigned)
        if self.is_condition(inner):
            value, current = self._converted(self.condition(inner), chain[-1].function), "i1"
        for cast in reversed(chain):
            target = self._element(cast)
            if current != "i1":
                self._refuse_reinterpretation(cast, current)
            if not holds(target, current) and not holds(target, self.compute_element):
                self._refuse_wrapping(cast, current, target)
                value = self._converted(replace(cast, args=(value,)), cast.function)
            current = target
        return value

    def _leaf(self, expr: ScalarExpr, function: Function) -> ScalarExpr:
        if isinstance(expr, Access) and expr.operand in self._accumulators:
            return replace(expr, type_var=self.compute)
        if isinstance(expr, Const):
            self._refuse_fraction(expr)
        if isinstance(expr, (Const, Index, Size)):
            return Apply(_SIGNED, (expr,), self.compute)
        return self._converted(expr, function)

    def _converted(self, expr: ScalarExpr, function: Function) -> ScalarExpr:
        if self._element(expr) == self.compute_element:
            return expr
        return Apply(function, (expr,), self.compute)

    def _loses(self, chain: list[Apply], inner: ScalarExpr) -> bool:
        """Return whether a chain of casts loses something of what it is applied to."""
        current = self._element(inner)
        for cast in reversed(chain):
            target = self._element(cast)
            if not holds(target, current):
                return True
            current = target
        return False

    def _function(self, function: Function) -> Function:
        if function.name == "div_unsigned" and family(self.compute_element) == "float":
            return BINARY["div"]
        if not has_function(self.compute_element, function.name):
            raise DTypeError(
                f"{self.definition.name} cannot be computed in {self.compute_element}: "
                f"{function.name} has no meaning for it",
                hint="give a compute type that has the function, or take the compute type away",
            )
        return function

    def _element(self, expr: ScalarExpr) -> str:
        """The element type of an expression as it was; empty for a bare constant or position."""
        type_var = type_of(expr)
        return "" if type_var is None else self.elements[type_var.name]

    def _refuse_fraction(self, expr: Const) -> None:
        is_whole = float(expr.value).is_integer()
        if family(self.compute_element) in ("integer", "boolean") and not is_whole:
            raise DTypeError(
                f"{self.definition.name} cannot be computed in {self.compute_element}: "
                f"the constant {expr.value} has no meaning for it",
                hint="give a float compute type",
            )

    def _refuse_reinterpretation(self, cast: Apply, source: str) -> None:
        if cast.function == _UNSIGNED and family(source) == "integer":
            raise DTypeError(
                f"{self.definition.name} has no compute type: it reads a computed {source} as "
                "unsigned, which depends on how that type wraps around",
                where=f"{cast}",
                hint="take the compute type away",
            )

    def _refuse_wrapping(self, cast: Apply, source: str, target: str) -> None:
        if family(source) == family(target) == "integer" != family(self.compute_element):
            raise DTypeError(
                f"{self.definition.name} cannot be computed in {self.compute_element}: it wraps a "
                f"computed {source} around to {target}",
                where=f"{cast}",
                hint="give an integer compute type",
            )
