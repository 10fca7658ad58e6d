"""Comparisons of two tensors, element by element, at any rank, and choices by them."""

from collections.abc import Callable
from typing import Any

from linalg_ext.opdsl import I1, T1, T2, BinaryFn, StructuredOp, TensorDef, TernaryFn

from ._elementwise import FLOATS_AND_INTEGERS, NUMBERS, binary, documentation
from ._values import declared

__all__ = [
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "not_equal",
    "where_equal",
    "where_greater",
    "where_greater_equal",
    "where_less",
    "where_less_equal",
    "where_not_equal",
]


def _comparison(
    name: str, function: Callable[..., Any], sign: str, condition: str, dtypes: str, of_nan: str
) -> tuple[StructuredOp, StructuredOp]:
    """Declare a comparison of two tensors, and the choice between two others by it."""
    summary = f"Comparison at each place: {condition}."
    comparison = binary(
        *(__name__, name, summary, function),
        formula=f"lhs {sign} rhs",
        dtypes=dtypes,
        remark=f"{of_nan[0].upper()}{of_nan[1:]}.",
        result=I1,
    )

    def choice(
        lhs=TensorDef(T1),
        rhs=TensorDef(T1),
        x=TensorDef(T2),
        y=TensorDef(T2),
        O=TensorDef(T2, output=True),
    ):
        O[None] = TernaryFn.select(function(lhs[None], rhs[None]), x[None], y[None])

    words = documentation(
        f"One of two elements, by whether {condition}, at each place.",
        f"x where lhs {sign} rhs, else y",
        "any; all alike (nothing is broadcast).",
        f"lhs and rhs {dtypes}, alike: {of_nan}; x, y and O any, alike.",
        "this library; NumPy's `numpy.where`",
    )
    return comparison, declared(choice, __name__, f"where_{name}", words)


equal, where_equal = _comparison(
    "equal", BinaryFn.eq, "=", "two elements are equal", NUMBERS, "NaN equals nothing"
)
not_equal, where_not_equal = _comparison(
    "not_equal", BinaryFn.ne, "!=", "two elements differ", NUMBERS, "NaN differs from everything"
)


def _order(
    name: str, function: Callable[..., Any], sign: str, words: str
) -> tuple[StructuredOp, StructuredOp]:
    condition = f"one element is {words} another"
    return _comparison(
        name, function, sign, condition, FLOATS_AND_INTEGERS, "false where either is NaN"
    )


less, where_less = _order("less", BinaryFn.lt, "<", "less than")
less_equal, where_less_equal = _order("less_equal", BinaryFn.le, "<=", "at most")
greater, where_greater = _order("greater", BinaryFn.gt, ">", "greater than")
greater_equal, where_greater_equal = _order("greater_equal", BinaryFn.ge, ">=", "at least")
