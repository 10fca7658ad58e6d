"""Operations that a traced value refuses, each with an error at the user's line and a remedy.

`0 < x < 2` and `min(x, y)` ask for the truth of a traced value, `math.sin(x)` for its number.
Python does not tell the value why it is asked. The place in the user's source does, and the error
names the replacement. For NumPy's functions that are not recorded it names the nearest that is.
"""

from __future__ import annotations

import ast
import difflib
import linecache
from typing import Any, NoReturn

import numpy as np

from linalg_ext.errors import TraceError, UnrecordedAttributeError, caller_location, users_frame
from linalg_ext.utils import hooks

_NUMBERLESS = "compute with the value itself, or outside the function and pass it in"
_INSIDE = (
    "an array that is written to must be made inside the function by NumPy's functions, such as "
    "np.zeros"
)
_BRANCH = (
    "use np.where(condition, x, y) for a choice of elements, lx.cond(condition, then, otherwise) "
    "for a branch, lx.loop(condition, body, state) for a while"
)


class Unrecorded:
    """The base of traced values: the protocols of arrays in Python that no trace records."""

    def __bool__(self) -> NoReturn:
        replacement = _instead()
        refuse(
            "the truth of a traced value is not known while the function is traced",
            f"write {replacement}" if replacement else _BRANCH,
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse(
            "a traced value has no numbers: it cannot become a NumPy array",
            "use the value as it is: x.astype(float) for np.float64(x), np.array([x, y]) for a "
            f"list in np.maximum.reduce([x, y]); {_INSIDE}",
        )

    @classmethod
    def __torch_function__(cls, function: Any, *_: Any) -> NoReturn:
        name = getattr(function, "__name__", "a function")
        refuse(
            f"a traced value is given to PyTorch's {name}",
            "use NumPy's function; lx.from_torch(model, arguments) compiles a model of PyTorch's",
        )

    def __float__(self) -> NoReturn:
        replacement = _instead()
        refuse(
            "a traced value has no number yet: it cannot become a float",
            f"write {replacement}"
            if replacement
            else f"{_NUMBERLESS}; np.exp and its like for those of math, x.astype(float) for "
            f"float(x); {_INSIDE}",
        )

    def __int__(self) -> NoReturn:
        refuse(
            "a traced value has no number yet: it cannot become an int",
            f"{_NUMBERLESS}; x.astype(int) for int(x)",
        )

    def __round__(self, _: Any = None) -> NoReturn:
        refuse("a traced value has no number yet: it cannot be rounded to one", "write np.round(x)")

    def __index__(self) -> NoReturn:
        refuse(
            "a traced value has no number yet: it cannot be an index or a count of Python's",
            "index a traced array with it, use lx.loop(count, body, state) for range(count), or "
            "make it an argument of static_argnames",
        )

    def __complex__(self) -> NoReturn:
        refuse("a traced value has no number yet: it cannot become a complex", _NUMBERLESS)

    def __format__(self, spec: str) -> str:
        if spec:
            refuse(
                "a traced value has no number yet: it cannot be formatted",
                "format the result, outside the function",
            )
        return str(self)

    def __contains__(self, _: Any) -> NoReturn:
        refuse("a traced value cannot be searched", "use np.any(x == value)")

    def __reduce__(self) -> NoReturn:
        refuse("a traced value cannot be pickled or copied", "use the value itself, or x.copy()")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # Python's own questions, such as whether it can be copied
            raise AttributeError(name)
        raise UnrecordedAttributeError(
            f"a traced value has no {name!r}",
            where=caller_location(),
            hint="use NumPy's function of that meaning, or lx.ops",
        )

    __hash__ = None  # type: ignore[assignment]  # equality is an element-wise question


def refuse(fact: str, hint: str) -> NoReturn:
    """Raise a TraceError at the user's line."""
    raise TraceError(fact, where=caller_location(), hint=hint)


_INSTEAD = {
    "unique": "the shape depends on the values: say how many, lx.unique(x, size=n)",
    "nonzero": "the shape depends on the values: lx.nonzero(x, size=n), or np.where(mask, x, y)",
    "flatnonzero": "the shape depends on the values: say how many, lx.flatnonzero(x, size=n)",
    "argwhere": "the shape depends on the values: say how many, lx.argwhere(x, size=n)",
    "extract": "the shape depends on the values: x[lx.nonzero(mask, size=n)], or np.where",
    "vectorize": "write the function on whole arrays",
    "array2string": "print the result outside the function, or x.shape and x.dtype inside",
    "array_repr": "print the result outside the function, or x.shape and x.dtype inside",
    "array_str": "print the result outside the function, or x.shape and x.dtype inside",
    **dict.fromkeys(
        ("save", "savetxt", "savez", "savez_compressed"), "save the result outside the function"
    ),
    **dict.fromkeys(
        ("unique_all", "unique_counts", "unique_inverse", "unique_values"),
        "the shape depends on the values: say how many, lx.unique(x, size=n)",
    ),
    **dict.fromkeys(
        ("intersect1d", "setdiff1d", "setxor1d", "union1d"),
        "the shape of the result depends on the values: np.isin(x, y) tells which are in both",
    ),
    **dict.fromkeys(
        ("polydiv", "roots", "trim_zeros"),
        "the shape depends on the values, as zeros at the ends are dropped: call it outside",
    ),
    **dict.fromkeys(
        ("busday_count", "busday_offset", "datetime_as_string", "is_busday", "isnat"),
        "dates have no element type: convert them to integers outside the function",
    ),
    **dict.fromkeys(
        ("may_share_memory", "shares_memory"), "traced values are not memory: ask outside"
    ),
    "poly": "multiply the factors of a row of roots by np.polymul",
    "common_type": "np.result_type gives the dtype of arrays together",
    "real_if_close": "the dtype depends on the values: take np.real(x)",
    "einsum_path": "ask for the path of arrays outside, and give it as optimize=",
}
"""For functions that are not recorded the reason, and a replacement."""


def instead(name: str) -> str | None:
    """Return why a function of NumPy's is not recorded, and a replacement."""
    return _INSTEAD.get(name) or _INSTEAD.get(name.rpartition(".")[2])


def refuse_function(name: str, module: str = "numpy") -> NoReturn:
    """Raise the TraceError for one of NumPy's functions."""
    recorded = hooks.facade("tracing").recorded_names()
    short = name.rpartition(".")[2]
    hint = instead(name)
    if hint is None:
        near = difflib.get_close_matches(short, recorded, 1, 0.6)
        hint = (
            f"the nearest that is recorded is {near[0]}"
            if near
            else ("compute it outside the function, or write it in terms of operators and lx.ops")
        )
    refuse(f"{module}.{name} cannot be recorded while a function is traced", hint)


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


def _instead() -> str | None:
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
    # The innermost first: later nodes lie deeper.
    return next(
        (replacement for node in reversed(around) if (replacement := _instead_of(node))), None
    )


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
            return _folded(f"np.{_WIDE[name]}", [ast.unparse(argument) for argument in given])
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
