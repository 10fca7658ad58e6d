"""The functions of TC: `std_addf` and its kin, and the scalar functions that they stand for.

Source: the EDSC intrinsics of MLIR (`StandardOps/EDSC/Intrinsics.h`, 2020 and 2021), each named for
the op of the old `std` dialect that it built; ops of that dialect without an intrinsic of their own
are named by the same rule, as `std_sexti32` is for sign extension to 32 bits.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, UNARY, Function
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.renaming import with_types_of, with_values
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Carried,
    Const,
    Index,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    type_of,
)
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import ArgumentError, NotationError

ELEMENT_TYPES = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")
"""The element types of TC, as MLIR spells them; `I8` and so on are their type variables."""

_WIDTH = {"bf16": 16, **{name: int(name[1:]) for name in ELEMENT_TYPES if name != "bf16"}}
FLOATS = tuple(name for name in ELEMENT_TYPES if "f" in name)
INTEGERS = tuple(name for name in ELEMENT_TYPES if name[0] == "i" and name != "i1")
BOOLEANS = ("i1",)


@dataclass(frozen=True)
class StdFunction:
    """One function of TC.

    Attributes:
        name: as TC spells it.
        function: the function that it computes.
        operands: the element types that it takes.
        result: the element type that it casts to; None for a function that is not a cast.
    """

    name: str
    function: Function
    operands: tuple[str, ...]
    result: str | None = None

    @property
    def type_var(self) -> TypeVar | None:
        """The target of a cast."""
        return None if self.result is None else type_var(self.result)


def type_var(element: str) -> TypeVar:
    """The type variable of an element type: `F32` of `f32`."""
    return TypeVar(element.upper())


def element_of(variable: TypeVar | None) -> str | None:
    """The element type that a type variable always stands for, as MLIR spells it, or None."""
    name = "" if variable is None else variable.name
    return name.lower() if name.isupper() and name.lower() in ELEMENT_TYPES else None


_UNARY_NAMES = "exp log sqrt rsqrt tanh erf round sin cos atan exp2 expm1 log2 log10 log1p"
"""Functions of floats that have one name here and in TC."""


def _arithmetic() -> list[StdFunction]:
    floating = {
        "addf": BINARY["add"],
        "subf": BINARY["sub"],
        "mulf": BINARY["mul"],
        "divf": BINARY["div"],
        "maxf": BINARY["max_signed"],
        "minf": BINARY["min_signed"],
        "powf": BINARY["powf"],
        "absf": UNARY["abs"],
        "ceilf": UNARY["ceil"],
        "floorf": UNARY["floor"],
        "negf": UNARY["negf"],
        **{name: UNARY[name] for name in _UNARY_NAMES.split()},
        "remf": BINARY["rem"],
        "atan2": BINARY["atan2"],
        "copysign": BINARY["copysign"],
    }
    integer = {
        "addi": BINARY["add"],
        "subi": BINARY["sub"],
        "muli": BINARY["mul"],
        "divi_signed": BINARY["div"],
        "divi_unsigned": BINARY["div_unsigned"],
        "divis": BINARY["div"],
        "diviu": BINARY["div_unsigned"],
        "maxsi": BINARY["max_signed"],
        "minsi": BINARY["min_signed"],
        "maxui": BINARY["max_unsigned"],
        "minui": BINARY["min_unsigned"],
        "absi": UNARY["abs"],
        "remi_signed": BINARY["rem"],
    }
    boolean = {"and": BINARY["mul"], "or": BINARY["add"], "xor": BINARY["xor"]}
    return [
        *(StdFunction(f"std_{name}", function, FLOATS) for name, function in floating.items()),
        *(StdFunction(f"std_{name}", function, INTEGERS) for name, function in integer.items()),
        *(StdFunction(f"std_{name}", function, BOOLEANS) for name, function in boolean.items()),
        StdFunction("std_select", TERNARY["select"], ELEMENT_TYPES),
    ]


def _comparisons() -> list[StdFunction]:
    """Comparisons by the predicates of `std.cmpf` and `std.cmpi`; `u` is unordered, `o` ordered."""
    floating = {"oeq": "eq", "une": "ne", "olt": "lt", "ole": "le", "ogt": "gt", "oge": "ge"}
    integer = {"eq": "eq", "ne": "ne", "slt": "lt", "sle": "le", "sgt": "gt", "sge": "ge"}
    return [
        *(StdFunction(f"std_cmpf_{name}", BINARY[f], FLOATS) for name, f in floating.items()),
        *(StdFunction(f"std_cmpi_{name}", BINARY[f], INTEGERS) for name, f in integer.items()),
    ]


def _casts() -> list[StdFunction]:
    signed, unsigned = TYPE["cast_signed"], TYPE["cast_unsigned"]
    functions = []
    for target in INTEGERS:
        narrower = tuple(t for t in INTEGERS if _WIDTH[t] < _WIDTH[target])
        wider = tuple(t for t in INTEGERS if _WIDTH[t] > _WIDTH[target])
        width = _WIDTH[target]
        functions += [
            StdFunction(f"std_sexti{width}", signed, narrower, target),
            StdFunction(f"std_zexti{width}", unsigned, (*BOOLEANS, *narrower), target),
            StdFunction(f"std_trunci{width}", signed, wider, target),
            StdFunction(f"std_fptosi{width}", signed, FLOATS, target),
            StdFunction(f"std_fptoui{width}", unsigned, FLOATS, target),
        ]
    for target in FLOATS:
        label = target if target == "bf16" else target[1:]
        narrower = tuple(t for t in FLOATS if _WIDTH[t] < _WIDTH[target])
        wider = tuple(t for t in FLOATS if _WIDTH[t] > _WIDTH[target])
        functions += [
            StdFunction(f"std_fpext{label}", signed, narrower, target),
            StdFunction(f"std_fptrunc{label}", signed, wider, target),
            StdFunction(f"std_sitofp{label}", signed, INTEGERS, target),
            StdFunction(f"std_uitofp{label}", unsigned, (*BOOLEANS, *INTEGERS), target),
        ]
    return [cast for cast in functions if cast.operands]


STD_FUNCTIONS: dict[str, StdFunction] = {
    f.name: f for f in (*_arithmetic(), *_comparisons(), *_casts())
}
"""Every function of TC, by its name."""


def std_function(function: Function, element: str, result: str | None = None) -> StdFunction | None:
    """The function of TC that computes `function` on operands of an element type, or None.

    Args:
        element: the element type of its operands (of the values to choose from, for `select`).
        result: the target of a cast.
    """
    for candidate in STD_FUNCTIONS.values():
        if (
            candidate.function is function
            and element in candidate.operands
            and candidate.result == result
        ):
            return candidate
    return None


def std_function_of(expr: Apply, definition: OpDefinition, notation: str) -> StdFunction:
    """The function of TC that an expression applies; a NotationError where it has none."""
    if expr.attribute is not None:
        raise NotationError(
            f"{definition.name} applies the function attribute {expr.attribute}, "
            f"and {notation} has none",
            hint="write an op with the function that is meant",
        )
    operand = expr.args[-1]
    if isinstance(operand, (Const, Index)):
        raise NotationError(
            f"{definition.name} computes with `{operand}`, and {notation} has no constants and no "
            "index() among its elements",
            hint="give the value as an operand of rank 0",
        )
    variable = type_of(operand)
    element, result = element_of(variable), element_of(expr.type_var)
    for type_variable, known_element in ((variable, element), (expr.type_var, result)):
        if type_variable is not None and known_element is None:
            raise no_element_type(definition, type_variable.name, notation)
    std = std_function(expr.function, element or "", result)
    if std is None:
        on = f"{element} to {result}" if result else str(element)
        raise NotationError(
            f"{definition.name} applies {expr.function} on {on}, and {notation} has no function "
            "for that",
            hint="write it with functions that TC has, such as std_mulf(x, x) for a square",
        )
    return std


def no_element_type(definition: OpDefinition, name: str, notation: str) -> NotationError:
    """The error for a type variable where a notation needs an element type."""
    return NotationError(
        f"{definition.name} is over the type variable {name}, and {notation} names each function "
        "for an element type",
        hint=f'choose one: types={{"{name}": "f32"}} here, `--type {name}=f32` on the command line',
    )


def near(name: str) -> list[str]:
    """Functions whose names are close to a name that is none."""
    names = list(STD_FUNCTIONS)
    if name in (bare := {known_name.removeprefix("std_") for known_name in names}):
        return [f"std_{name}"]
    stem = name.removeprefix("std_")
    # `std_add` is the document's own shorthand for both of them.
    typed = [f"std_{stem}{suffix}" for suffix in ("f", "i") if f"{stem}{suffix}" in bare]
    return typed or difflib.get_close_matches(name, names, n=3)


def concrete(definition: OpDefinition, types: Mapping[str, str] | str | None) -> OpDefinition:
    """The definition with its type variables replaced; casts to the same type fall away.

    Args:
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
                f"{element!r} is not an element type of TC",
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

    own = {o.name: variables[o.type_var] for o in definition.operands if o.type_var in variables}
    typed = with_values(with_types_of(definition, own), substituted)
    assignments = (
        replace(a, target=replace(a.target, type_var=own.get(a.target.operand, a.target.type_var)))
        for a in typed.assignments
    )
    return replace(typed, assignments=tuple(assignments))
