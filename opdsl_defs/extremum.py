"""The largest and smallest elements of rows and columns, and where they stand."""

from collections.abc import Callable
from typing import Any

from linalg_ext.opdsl import (
    I64,
    BinaryFn,
    D,
    ReduceFn,
    S,
    StructuredOp,
    T,
    TensorDef,
    TernaryFn,
    domain,
    fold,
    structured_op,
)

from ._lines import COLUMN, ROW, Line
from ._values import is_nan, position

__all__ = [
    "column_argmax",
    "column_argmin",
    "column_min_max",
    "row_argmax",
    "row_argmin",
    "row_min_max",
    "row_top_two",
]


def _argument(
    name: str, word: str, is_less: Callable[[Any, Any], Any], function: Any
) -> tuple[StructuredOp, StructuredOp]:
    """Declare the extrema of rows, and of columns, with their places."""

    def of(line: Line) -> StructuredOp:
        number, along = line.dims

        def op(
            A=TensorDef(T, S.M, S.N),
            O=TensorDef(T, line.count, output=True),
            place=TensorDef(I64, line.count, output=True),
        ):
            domain(number, along)
            x, best = A[D.m, D.n], O[number]
            is_better = is_less(best, x) | (is_nan(x) & ~is_nan(best))
            O[number] = fold[along](TernaryFn.select(is_better, x, best), init=function)
            place[number] = fold[along](
                TernaryFn.select(is_better, position(along), place[number]), init=0
            )

        words = f"""\
The {word} element of each {{line}}, and the first place where it stands.

    O[{{i}}] = the {name[3:]}imum over {{k}} of A[m, n]
    place[{{i}}] = the least {{k}} where it is A[m, n]

The first NaN of a {{line}}, if it has one, counts as its {word} element, as in NumPy.

Shapes: A (M, N), O and place ({{I}}); place is 0 for a {{line}} without elements.
Dtypes: A and O floats or integers, alike; place int64.
Source: this library; NumPy's `numpy.{name}`, axis {{axis}}."""
        return line.declared(op, __name__, name, words)

    return of(ROW), of(COLUMN)


def _min_max(line: Line) -> StructuredOp:
    number, along = line.dims

    def op(
        A=TensorDef(T, S.M, S.N),
        O=TensorDef(T, line.count, output=True),
        largest=TensorDef(T, line.count, output=True),
    ):
        domain(number, along)
        O[number] = ReduceFn.min[along](A[D.m, D.n])
        largest[number] = ReduceFn.max[along](A[D.m, D.n])

    words = """\
The smallest and the largest element of each {line}, in one pass.

    O[{i}] = the minimum of O[{i}] and, over {k}, A[m, n]
    largest[{i}] = the maximum of largest[{i}] and, over {k}, A[m, n]

Shapes: A (M, N), O and largest ({I}).
Dtypes: floats and integers; all alike. A NaN makes both NaN.
Source: this library; NumPy's `numpy.min` and `numpy.max`, axis {axis}."""
    return line.declared(op, __name__, "min_max", words)


row_argmax, column_argmax = _argument("argmax", "largest", lambda x, y: y > x, ReduceFn.max)
row_argmin, column_argmin = _argument("argmin", "smallest", lambda x, y: y < x, ReduceFn.min)
row_min_max, column_min_max = _min_max(ROW), _min_max(COLUMN)


@structured_op
def row_top_two(
    A=TensorDef(T, S.M, S.N),
    O=TensorDef(T, S.M, output=True),
    second=TensorDef(T, S.M, output=True),
):
    """The two largest elements of each row, the largest first.

        O[m] = the maximum over n of A[m, n]
        second[m] = the maximum of the others

    Shapes: A (M, N), O and second (M).
    Dtypes: floats and integers; all alike. A NaN makes both NaN, or O alone where it stands last.
    Source: this library; PyTorch's `torch.topk`, k = 2.
    """
    domain(D.m, D.n)
    O[D.m] = fold[D.n](BinaryFn.max(O[D.m], A[D.m, D.n]), init=ReduceFn.max)
    second[D.m] = fold[D.n](
        BinaryFn.max(second[D.m], BinaryFn.min(O[D.m], A[D.m, D.n])), init=ReduceFn.max
    )
