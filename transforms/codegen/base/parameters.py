"""Parameters: arguments that are the same for many calls, whose preparation is done once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report
from linalg_ext.transforms.ir_utils.walking import functions

PARAMETER = "linalg_ext.parameter"
"""The attribute of an argument that is the same for many calls."""

FACTORS = "linalg_ext.factors"
"""The attribute of a parameter that has factors of Winograd's algorithm behind the filters."""


def change_parameters(name: str, module: Any, change: Callable[[Any, int], str | None]) -> Report:
    """Change the arguments of functions that are marked as parameters, as the pass of a name.

    `change` is given a function and the argument's number, and returns why it does not change it.
    """
    report = Report(name)
    for function in functions(module):
        for number, attributes in enumerate(_attributes(function)):
            if PARAMETER not in attributes:
                continue
            report.matched["parameter"] += 1
            report.record("parameter", change(function, number))
        _retype(function)
    return report


def has_factors(value: Any) -> bool:
    """Return whether a value is an argument that has factors behind the filters."""
    if not isinstance(value, ir.BlockArgument):
        return False
    attributes = _attributes(value.owner.owner)
    return value.arg_number < len(attributes) and FACTORS in attributes[value.arg_number]


def mark(function: Any, number: int, name: str) -> None:
    """Put one more attribute on an argument of a function that has some already."""
    attributes = _attributes(function)
    own = {attribute.name: attribute.attr for attribute in attributes[number]}
    attributes[number] = ir.DictAttr.get(own | {name: ir.UnitAttr.get()})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def _attributes(function: Any) -> list[Any]:
    if "arg_attrs" not in function.attributes:
        return []
    return [
        ir.DictAttr(attributes) for attributes in ir.ArrayAttr(function.attributes["arg_attrs"])
    ]


def _retype(function: Any) -> None:
    """Set the type of a function to that of its arguments."""
    types = [argument.type for argument in function.regions[0].blocks[0].arguments]
    results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, results))
