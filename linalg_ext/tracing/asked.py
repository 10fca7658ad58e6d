"""The expression of a user's that asks a traced value for its truth or number, and its replacement.

`0 < x < 2` and `min(x, y)` ask for the truth of a traced value, `math.sin(x)` for its number.
Python does not tell the value why it is asked. The place in the user's source does.
"""

from __future__ import annotations

import ast
import linecache

import numpy as np

from linalg_ext.errors import users_frame

_OF_MATH = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "dist": "linalg.norm",
    "fabs": "abs",
    "fsum": "sum",
    "pow": "power",
}
"""Functions of `math` that NumPy has by another name."""

_WIDE = {"min": "minimum", "max": "maximum"}


def instead() -> str | None:
    """Return the replacement of the expression that is evaluated now, if there is one."""
    frame = users_frame()
    if frame is None:
        return None
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if None in positions:
        return None
    first, last, column, end = (int(at or 0) for at in positions)
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        and (node.lineno, node.col_offset) <= (first, column)
        and (node.end_lineno or 0, node.end_col_offset or 0) >= (last, end)
    ]
    # The innermost first: what is walked later lies deeper.
    return next((told for node in reversed(around) if (told := _instead_of(node))), None)


def _instead_of(node: ast.expr) -> str | None:
    match node:
        case ast.BoolOp(op, values):
            return _joined("and" if isinstance(op, ast.And) else "or", values)
        case ast.Compare(left, ops, others) if len(ops) > 1:
            operands = [left, *others]
            pairs = zip(operands, ops, operands[1:], strict=False)
            return _joined("and", [ast.Compare(a, [op], [b]) for a, op, b in pairs])
        case ast.UnaryOp(ast.Not(), operand):
            return f"np.logical_not({ast.unparse(operand)})"
        case ast.Call(ast.Name(name), [_, _, *_] as given, []) if name in _WIDE:
            return _folded(f"np.{_WIDE[name]}", [ast.unparse(each) for each in given])
        case ast.Call(ast.Name(name), [given]) if name in _WIDE:
            return f"np.{name}({ast.unparse(given)})"
        case ast.Call(ast.Attribute(ast.Name("math"), name) | ast.Name(name), given):
            named = _OF_MATH.get(name, name)
            is_there = hasattr(np, named) or named in _OF_MATH.values()
            if name in ("float", "int", "bool", "round") or not is_there:
                return None
            return f"np.{named}({', '.join(map(ast.unparse, given))})"
    return None


def _joined(word: str, values: list[ast.expr]) -> str:
    return _folded(f"np.logical_{word}", [ast.unparse(value) for value in values])


def _folded(function: str, values: list[str]) -> str:
    text = values[0]
    for value in values[1:]:
        text = f"{function}({text}, {value})"
    return text
