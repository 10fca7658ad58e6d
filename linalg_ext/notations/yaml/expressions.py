"""The scalar expressions of a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linalg_ext.definition.functions import Function, FunctionKind
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Const,
    Index,
    ScalarExpr,
    ScalarOperand,
)
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import NotationError
from linalg_ext.notations.constants import parse_constant
from linalg_ext.notations.yaml.format import READ_FUNCTIONS
from linalg_ext.notations.yaml.nodes import Field

_FORMS = ("scalar_arg", "scalar_const", "scalar_index", "scalar_fn")
_MAX_DEPTH = 200


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use.

    Attributes:
        elements: the element that is read of each tensor and scalar, by name.
        functions: the default of each function attribute, by name.
        dims: the iteration space.
    """

    elements: Mapping[str, Access | ScalarOperand]
    functions: Mapping[str, Function]
    dims: tuple[str, ...]


def read_expression(field: Field, scope: Scope, depth: int = 0) -> ScalarExpr:
    """The expression of a field.

    Raises:
        NotationError: with the place of the field.
    """
    if depth > _MAX_DEPTH:
        raise field.error(f"expressions are nested more than {_MAX_DEPTH} deep")
    forms = field.mapping("!ScalarExpression", (), _FORMS)
    if len(forms) != 1:
        raise field.error(
            f"an expression has {len(forms)} of the fields {', '.join(_FORMS)}",
            expected="exactly one of them",
        )
    ((form, value),) = forms.items()
    if form == "scalar_arg":
        return scope.elements[value.choice("tensor or scalar operand", tuple(scope.elements))]
    if form == "scalar_const":
        return _constant(value)
    if form == "scalar_index":
        return _index(value, scope)
    return _function(value, scope, depth)


def _constant(field: Field) -> ScalarExpr:
    try:
        return Const(parse_constant(field.text("a constant such as 2 : i64 or 5.0e-01 : f64")))
    except NotationError as error:
        if error.where is not None:
            raise
        raise field.error(error.what, expected=error.expected) from None


def _index(field: Field, scope: Scope) -> ScalarExpr:
    expected = "the number of a dimension"
    if scope.dims:
        expected += f", 0 to {len(scope.dims) - 1}"
    position = field.integer(expected)
    if not 0 <= position < len(scope.dims):
        raise field.error(f"the op has no dimension {position}", expected=expected)
    return Index(scope.dims[position])


def _function(field: Field, scope: Scope, depth: int) -> ScalarExpr:
    fields = field.mapping("", ("kind", "operands"), ("fn_name", "attr_name", "type_var"))
    kinds = {kind.value: kind for kind in FunctionKind}
    kind = kinds[fields["kind"].choice("kind of function", tuple(kinds))]
    function, attribute = _chosen(field, fields, kind, scope)
    name = attribute or function.name
    type_var = None
    if kind is FunctionKind.TYPE:
        if "type_var" not in fields:
            raise field.error(f"{name} has no field `type_var`", expected="the type to cast to")
        type_var = TypeVar(fields["type_var"].name("a type variable"))
    elif "type_var" in fields:
        raise fields["type_var"].error(
            f"{name} takes no type variable", expected="type_var on functions of kind type alone"
        )
    operands = fields["operands"].sequence("expressions")
    if len(operands) != kind.arity:
        raise fields["operands"].error(
            f"{name} got {len(operands)} operand(s)", expected=f"{kind.arity}"
        )
    args = tuple(read_expression(operand, scope, depth + 1) for operand in operands)
    return Apply(function, args, type_var, attribute)


def _chosen(
    field: Field, fields: Mapping[str, Field], kind: FunctionKind, scope: Scope
) -> tuple[Function, str | None]:
    """The function that is applied, and the attribute that chooses it."""
    if ("fn_name" in fields) == ("attr_name" in fields):
        both = "both fn_name and attr_name" if "fn_name" in fields else "no fn_name"
        raise field.error(
            f"a function has {both}", expected="fn_name, or attr_name of a function attribute"
        )
    if "fn_name" in fields:
        table = READ_FUNCTIONS[kind]
        name = fields["fn_name"].choice(f"{kind.value} function of upstream's format", tuple(table))
        return table[name], None
    attributes = {n: default for n, default in scope.functions.items() if default.kind is kind}
    name = fields["attr_name"].choice(f"{kind.value} function attribute", tuple(attributes))
    return attributes[name], name
