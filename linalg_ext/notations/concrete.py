"""A definition with element types in the place of its type variables.

TC and the C++ of `mlir-linalg-ods-gen` name each function for the types that it works on, so that
they hold no definition over type variables, and every one over types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from linalg_ext.definition.model import Assignment, OpDefinition
from linalg_ext.definition.renaming import rewrite_expression
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Carried,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    type_of,
)
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import ArgumentError
from linalg_ext.notations.std_functions import ELEMENT_TYPES, element_of, type_var


def concrete(definition: OpDefinition, types: Mapping[str, str] | str | None) -> OpDefinition:
    """The definition with its type variables replaced; casts to the same type fall away.

    Args:
        definition: the op.
        types: the element type of each type variable, as MLIR spells it; one for all of them; or
            None, which leaves the definition as it is.

    Raises:
        ArgumentError: a type is none of TC's, or a name none of the op's type variables.
    """
    if not types:
        return definition
    free = [v.name for v in definition.all_type_vars if element_of(v) is None]
    chosen = dict.fromkeys(free, types) if isinstance(types, str) else dict(types)
    for name, element in chosen.items():
        if element not in ELEMENT_TYPES:
            raise ArgumentError(
                f"{element!r} is no element type of TC",
                expected=f"one of {', '.join(ELEMENT_TYPES)}",
            )
        if name not in free:
            raise ArgumentError(
                f"{definition.name} has no type variable {name!r}",
                expected=f"one of {', '.join(free) or 'none: every type is fixed'}",
            )
    variables = {TypeVar(name): type_var(element) for name, element in chosen.items()}

    def substituted(expr: ScalarExpr) -> ScalarExpr:
        match expr:
            case Access() | ScalarOperand() | Lookup() | Carried():
                return replace(expr, type_var=variables.get(expr.type_var, expr.type_var))
            case Apply(type_var=TypeVar() as old):
                target = variables.get(old, old)
                if type_of(expr.args[0]) == target and expr.attribute is None:
                    return expr.args[0]
                return replace(expr, type_var=target)
            case _:
                return expr

    def assignment(each: Assignment) -> Assignment:
        target = replace(
            each.target, type_var=variables.get(each.target.type_var, each.target.type_var)
        )
        return replace(each, target=target, value=rewrite_expression(each.value, substituted))

    return replace(
        definition,
        operands=tuple(
            replace(o, type_var=variables.get(o.type_var, o.type_var)) if o.type_var else o
            for o in definition.operands
        ),
        assignments=tuple(map(assignment, definition.assignments)),
    )
