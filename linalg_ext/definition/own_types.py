"""Definitions whose operands may each be of a type of their own."""

from __future__ import annotations

from dataclasses import replace

from linalg_ext.definition.functions import TYPE
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.renaming import rewrite_expression
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr, ScalarOperand
from linalg_ext.definition.types import PREDEFINED, TypeVar


def with_own_types(definition: OpDefinition) -> OpDefinition:
    """The definition with a type variable for each operand that shares the result's.

    What is read of it is cast to the type of the result, as the ops of upstream do whose operands
    have type variables of their own: `add(lhs: T, rhs: T) -> O: T` becomes that of `(T_lhs, T_rhs)
    -> T`. A definition of several outputs stays as it is.
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

    return replace(
        definition,
        operands=tuple(
            replace(o, type_var=own[o.name]) if o.name in own else o for o in definition.operands
        ),
        assignments=tuple(
            replace(a, value=rewrite_expression(a.value, cast)) for a in definition.assignments
        ),
    )
