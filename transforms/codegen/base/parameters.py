"""Parameters: arguments that are the same for many calls, so that work on them is done once."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir

PARAMETER = "linalg_ext.parameter"
"""The attribute of an argument that is the same for many calls."""

FACTORS = "linalg_ext.factors"
"""The attribute of one that has factors of Winograd's algorithm behind the filters."""


def parameters(function: Any) -> list[int]:
    """The numbers of the arguments that are said to be parameters."""
    return [number for number, each in enumerate(_said(function)) if PARAMETER in each]


def has_factors(value: Any) -> bool:
    """Return whether a value is an argument that has factors behind the filters."""
    if not isinstance(value, ir.BlockArgument):
        return False
    said = _said(value.owner.owner)
    return value.arg_number < len(said) and FACTORS in said[value.arg_number]


def mark(function: Any, number: int, name: str) -> None:
    """Put one more attribute on an argument of a function that has some already."""
    said = _said(function)
    one = {each.name: each.attr for each in said[number]}
    said[number] = ir.DictAttr.get(one | {name: ir.UnitAttr.get()})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(said)


def _said(function: Any) -> list[Any]:
    if "arg_attrs" not in function.attributes:
        return []
    return [ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes["arg_attrs"])]


def retype(function: Any) -> None:
    """Have the type of a function say what its arguments are."""
    given = [argument.type for argument in function.regions[0].blocks[0].arguments]
    results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(given, results))
