"""Ops on the lines of a matrix `A[m, n]`: its rows, and its columns, declared once for both."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linalg_ext.opdsl import T1, D, S, StructuredOp, TensorDef, U, domain

from ._values import cast, declared


@dataclass(frozen=True)
class Line:
    """A row or a column.

    Attributes:
        name: its name, `row` or `column`.
        number: the letter of the dimension that numbers such lines.
        along: the letter of the dimension along one.
        axis: the axis of NumPy's that is along one.
    """

    name: str
    number: str
    along: str
    axis: int

    @property
    def dims(self) -> tuple[Any, Any]:
        """The dimension that numbers such lines, and that along one."""
        return getattr(D, self.number), getattr(D, self.along)

    @property
    def count(self) -> Any:
        """The number of such lines."""
        return getattr(S, self.number.upper())

    @property
    def length(self) -> Any:
        """The number of elements of one."""
        return getattr(S, self.along.upper())

    def declared(
        self, op: Callable[..., object], module: str, name: str, words: str
    ) -> StructuredOp:
        """Declare `row_NAME` or `column_NAME`; the documentation has braces where they differ."""
        letters = {"i": self.number, "k": self.along, "I": self.number.upper()}
        text = words.format(line=self.name, axis=self.axis, **letters)
        return declared(op, module, f"{self.name}_{name}", text)


ROW, COLUMN = Line("row", "m", "n", 1), Line("column", "n", "m", 0)


def reduction(
    module: str,
    name: str,
    summary: str,
    formula: str,
    function: Any,
    of_element: Callable[[Any, Line], Any] = lambda x, line: cast(x),
    *,
    dtypes: str,
    numpy: str,
    result=U,
    empty: str = "",
) -> tuple[StructuredOp, StructuredOp]:
    """Declare a reduction of rows, and of columns, to an element each.

    Args:
        module: the `__name__` of the family.
        name: of the ops, without `row_` or `column_`.
        summary: the first sentence of the documentation, with `{line}` for a row or a column.
        formula: the text behind `O[{i}]`, with `{k}` for the index along a line.
        function: of `ReduceFn`.
        of_element: the summand, by the element and the line; by default the element, cast.
        dtypes: the sentence about element types.
        numpy: the function of NumPy's that is the source.
        result: the type of the result.
        empty: a remark about a line without elements.
    """

    def of(line: Line) -> StructuredOp:
        number, along = line.dims

        def op(A=TensorDef(T1, S.M, S.N), O=TensorDef(result, line.count, output=True)):
            domain(number, along)
            O[number] = function[along](of_element(A[D.m, D.n], line))

        words = f"""\
{summary}

    O[{{i}}] {formula}

Shapes: A (M, N), O ({{I}}){empty}.
Dtypes: {dtypes}
Source: this library; NumPy's `numpy.{numpy}`, axis {{axis}}."""
        return line.declared(op, module, name, words)

    return of(ROW), of(COLUMN)
