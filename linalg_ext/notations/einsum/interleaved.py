"""The other form of einsum: each operand followed by the numbers of its labels.

einsum(a, [0, 1], b, [1, 2], [0, 2])        # einsum("AB,BC->AC", a, b)
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from linalg_ext.errors import ArgumentTypeError, ArityError, NotationError
from linalg_ext.notations.einsum.subscripts import ELLIPSIS, LETTERS, Subscripts, parse


def parse_interleaved(*arguments: Any) -> tuple[Subscripts, list[Any]]:
    """The subscripts and the operands of a call in the interleaved form.

    Label 0 is `A`, 25 is `Z`, 26 is `a`, 51 is `z`; `Ellipsis` is `...`.

    Raises:
        ArityError: no operand.
        ArgumentTypeError: a sublist is no list of integers.
        NotationError: a number is no label.
    """
    if len(arguments) < 2:
        raise ArityError(
            "einsum got no subscripts" if not arguments else "einsum got an operand alone",
            expected="einsum('ij,jk->ik', a, b), or einsum(a, [0, 1], b, [1, 2], [0, 2])",
        )
    pairs = len(arguments) // 2
    operands = [arguments[2 * number] for number in range(pairs)]
    terms = [_term(arguments[2 * n + 1], f"the sublist of operand {n}") for n in range(pairs)]
    text = ",".join(terms)
    if len(arguments) % 2:
        text += "->" + _term(arguments[-1], "the sublist of the result")
    return parse(text), operands


def _term(sublist: Any, name: str) -> str:
    if isinstance(sublist, str | bytes) or not (
        isinstance(sublist, Sequence) or hasattr(sublist, "__array__")
    ):
        raise ArgumentTypeError(
            f"{name} is {sublist!r}",
            expected="a list of integers and Ellipsis",
            hint="or give the subscripts as one string first: einsum('ij->ji', a)",
        )
    try:
        return "".join(_label(entry, name) for entry in sublist)
    except TypeError as error:
        if isinstance(error, ArgumentTypeError):
            raise
        raise ArgumentTypeError(  # a 0-d array
            f"{name} is {sublist!r}", expected="a list of integers and Ellipsis"
        ) from None


def _label(entry: Any, name: str) -> str:
    if entry is Ellipsis:
        return ELLIPSIS
    try:
        number = operator.index(entry)
    except TypeError:
        raise ArgumentTypeError(f"{name} has {entry!r}", expected="integers and Ellipsis") from None
    if not 0 <= number < len(LETTERS):
        raise NotationError(
            f"{name} has the label {number}", expected=f"labels 0 to {len(LETTERS) - 1}"
        )
    return LETTERS[number]
