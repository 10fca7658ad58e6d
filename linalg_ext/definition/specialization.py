"""A definition specialized to element types and attributes.

MLIR's `linalg.generic` is such a special case: where two type variables are of one type, there is
no cast between them, and strides are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, UNARY, Function, FunctionKind
from linalg_ext.definition.model import Assignment, OpDefinition, Reduction
from linalg_ext.definition.renaming import (
    Renaming,
    rewrite_expression,
    with_types_of,
    with_values,
)
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Const,
    Index,
    ScalarExpr,
    ScalarOperand,
    Size,
    constant_of,
    type_of,
)
from linalg_ext.definition.types import (
    PREDEFINED,
    PREDEFINED_ELEMENTS,
    TypeVar,
    is_integer_or_boolean,
    width,
)
from linalg_ext.errors import DefinitionError
from linalg_ext.symbolic.affine import AffineDim, AffineSymbol


def specialize(
    definition: OpDefinition,
    types: Mapping[str, str],
    attributes: CallAttributes | None = None,
) -> OpDefinition:
    """The definition at given element types.

    It has one type variable for each type (T, or T1, T2, ... in the order of the operands). Casts
    to the type that a value has already are gone, and of functions that mean the same for a type
    one is left. Attributes become numbers and functions.

    Args:
        types: the element type of each type variable, as MLIR spells it: `"f32"`, `"i8"`.
        attributes: the values of attributes (`resolve_attributes`); None keeps them.

    Raises:
        DefinitionError: a type variable has no type.
    """
    known = {**types, **PREDEFINED_ELEMENTS}
    missing = [t.name for t in definition.type_vars if t.name not in known]
    if missing:
        raise DefinitionError(
            f"{definition.name}: no element type is given for {', '.join(missing)}",
            expected=f"one for each of {', '.join(t.name for t in definition.type_vars)}",
        )
    elements = list(dict.fromkeys(known[t.name] for t in definition.type_vars))
    owner = {
        element: f"T{i + 1}" if len(elements) > 1 else "T" for i, element in enumerate(elements)
    }
    for name, element in PREDEFINED_ELEMENTS.items():
        owner.setdefault(element, name)
    merged = Renaming(
        type_vars={name: owner[element] for name, element in known.items() if element in owner},
        symbols=attributes.symbols if attributes else {},
    ).definition(definition)
    by_name = {name: element for element, name in owner.items()}
    rewriter = _Specializer(by_name, attributes.functions if attributes else {})
    operands = merged.operands
    if attributes is not None:
        operands = tuple(operand for operand in operands if not operand.kind.is_attribute)
    return replace(
        merged,
        operands=operands,
        assignments=tuple(rewriter.assignment(a) for a in merged.assignments),
    )


def specialized(
    definition: OpDefinition, types: Mapping[str, str]
) -> tuple[OpDefinition, dict[str, str]]:
    """The definition at given element types, and the element type of each of its type variables."""
    result = specialize(definition, types)
    pairs = zip(definition.operands, result.operands, strict=True)
    variables = {new.type_var: old.type_var for old, new in pairs}
    return result, {new.name: types[old.name] for new, old in variables.items() if new and old}


def at_rank(definition: OpDefinition, rank: int) -> OpDefinition:
    """A rank-polymorphic definition on tensors of a rank; any other definition as it is."""
    if not definition.is_rank_polymorphic:
        return definition
    dims = tuple(f"d{axis}" for axis in range(rank))
    indices = tuple(AffineDim(dim) for dim in dims)
    shape = tuple(AffineSymbol(dim.upper()) for dim in dims)

    def ranked(expr: ScalarExpr) -> ScalarExpr:
        return replace(expr, indices=indices) if isinstance(expr, Access) else expr

    valued = with_values(definition, ranked)
    return replace(
        valued,
        dims=dims,
        operands=tuple(replace(o, shape=shape) if o.kind.is_tensor else o for o in valued.operands),
        assignments=tuple(
            replace(a, target=replace(a.target, indices=indices)) for a in valued.assignments
        ),
    )


@dataclass(frozen=True)
class _Specializer:
    """Rewrites expressions whose type variables are of known, different types."""

    types: Mapping[str, str]
    functions: Mapping[str, Function]

    def assignment(self, assignment: Assignment) -> Assignment:
        reduction = assignment.reduction
        if reduction is not None:
            reduction = self._reduction(reduction, assignment.target.type_var)
        return Assignment(
            assignment.target, rewrite_expression(assignment.value, self._step), reduction
        )

    def _reduction(self, reduction: Reduction, type_var: TypeVar) -> Reduction:
        chosen = self.functions.get(reduction.attribute or "")
        function, initial = chosen or reduction.function, reduction.initial
        if function is not None:
            function = self._on_booleans(function, type_var)
        if isinstance(initial, Function):
            initial = self._on_booleans(initial, type_var)
        attribute = None if chosen else reduction.attribute
        return Reduction(function, reduction.dims, attribute, initial)

    def _step(self, expr: ScalarExpr) -> ScalarExpr:
        if not isinstance(expr, Apply):
            return expr
        if expr.attribute in self.functions:
            expr = replace(expr, function=self.functions[expr.attribute or ""], attribute=None)
        if expr.attribute is not None:
            return expr
        if expr.function.kind is FunctionKind.TYPE:
            return self._cast(expr)
        if expr.function == UNARY["conj"] and "complex" not in self._element(type_of(expr)):
            return expr.args[0]
        args = tuple(self._typed(arg) for arg in expr.args)
        expr = replace(expr, function=self._on_booleans(expr.function, type_of(expr)), args=args)
        return self._shortened(self._spelt_out(expr))

    def _typed(self, expr: ScalarExpr) -> ScalarExpr:
        """Constants, positions and sizes have 64 bits until they are cast."""
        is_float = isinstance(expr, Const) and isinstance(expr.value, float)
        if not isinstance(expr, (Const, Index, Size)):
            return expr
        default_element = "f64" if is_float else "i64"
        name = next(name for name, element in self.types.items() if element == default_element)
        return Apply(TYPE["cast_signed"], (expr,), TypeVar(name))

    def _spelt_out(self, expr: Apply) -> Apply:
        """Expand a clamp and a fused multiply-add into the functions that the body of an op has."""
        if expr.function == TERNARY["clamp"]:
            x, low, high = expr.args
            return self._composed("min_signed", self._composed("max_signed", x, low), high)
        if expr.function == TERNARY["fma"] and self._element(type_of(expr))[:1] not in ("f", "b"):
            x, y, z = expr.args
            return self._composed("add", self._composed("mul", x, y), z)
        return expr

    def _composed(self, name: str, x: ScalarExpr, y: ScalarExpr) -> Apply:
        return Apply(self._on_booleans(BINARY[name], type_of(x)), (x, y))

    def _cast(self, expr: Apply) -> ScalarExpr:
        (value,) = expr.args
        source = type_of(value)
        if source is not None and source == expr.type_var:
            return value
        if isinstance(value, (Const, Index)) or self._ignores_sign(source, expr.type_var):
            return replace(expr, function=TYPE["cast_signed"])
        return expr

    def _ignores_sign(self, source: TypeVar | None, target: TypeVar | None) -> bool:
        """Return whether signed and unsigned casts give the same result.

        They do for casts to a narrower integer or to `i1`, and between types that are not integers.
        """
        before, after = self._element(source), self._element(target)
        if after == "i1" or not is_integer_or_boolean(before):
            return after == "i1" or not is_integer_or_boolean(after)
        return is_integer_or_boolean(after) and width(after) < width(before)

    def _on_booleans(self, function: Function, type_var: TypeVar | None) -> Function:
        """Replace a maximum or `or` on `i1` by `add`, and a minimum or `and` by `mul`."""
        element = self._element(type_var)
        if element == "i1":
            usual = _ON_BOOLEANS.get(function.name)
            return function if usual is None else BINARY[usual]
        return function

    def _shortened(self, expr: Apply) -> ScalarExpr:
        """`0 - x` of integers is a negation, `1 / x` of floats a reciprocal."""
        if expr.function not in (BINARY["sub"], BINARY["div"]):
            return expr
        first, second = expr.args
        number = constant_of(first)
        is_integer = is_integer_or_boolean(self._element(type_of(second)))
        if expr.function == BINARY["sub"] and is_integer and number == 0:
            return Apply(UNARY["negf"], (second,))
        if expr.function == BINARY["div"] and not is_integer and number == 1:
            return Apply(UNARY["reciprocal"], (second,))
        return expr

    def _element(self, type_var: TypeVar | None) -> str:
        if type_var is None:
            return ""
        return self.types.get(type_var.name) or PREDEFINED_ELEMENTS.get(type_var.name, "")


_ON_BOOLEANS = {
    **dict.fromkeys(("max_signed", "max_unsigned", "or"), "add"),
    **dict.fromkeys(("min_signed", "min_unsigned", "and"), "mul"),
}
"""On booleans a sum is `or`, a product `and`."""


def with_own_types(definition: OpDefinition) -> OpDefinition:
    """The definition with a type variable for each operand that shares the result's.

    Its elements are cast to the type of the result, as the ops of upstream do whose operands have
    type variables of their own: `add(lhs: T, rhs: T) -> O: T` becomes that of `(T_lhs, T_rhs) ->
    T`. A definition of several outputs stays as it is.
    """
    if len(definition.outputs) != 1:
        return definition
    result = definition.outputs[0].type_var
    if result is None or result.name in PREDEFINED:
        return definition
    own = {o.name: TypeVar(f"T_{o.name}") for o in definition.inputs if o.type_var == result}

    def cast(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, (Access, ScalarOperand)) and expr.operand in own:
            typed = replace(expr, type_var=own[expr.operand])
            return Apply(TYPE["cast_signed"], (typed,), result)
        return expr

    return with_values(with_types_of(definition, own), cast)
