"""The grammar of einsum strings, as `numpy.einsum` reads them, and their binding to shapes.

    subscripts = terms ["->" term]        terms = term {"," term}
    term       = {label | "..."}          at most one ellipsis a term
    label      = a letter a to z or A to Z

Spaces mean nothing, but for those inside `...` and `->`. Without `->` the result has the broadcast
dimensions, where a term has an ellipsis, and then every label that occurs exactly once, in the
order of the alphabet, capitals first. In the interleaved form each operand is followed by the
numbers of its labels:

    einsum(a, [0, 1], b, [1, 2], [0, 2])        # einsum("AB,BC->AC", a, b)
"""

from __future__ import annotations

import operator
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from linalg_ext.errors import (
    ArgumentTypeError,
    ArityError,
    NotationError,
    ShapeError,
    counted,
    kind_of,
)

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Contraction:
    """The labels and sizes of an einsum; an ellipsis has been replaced by labels.

    Attributes:
        inputs: the labels of the dimensions of each operand; `".0"`, `".1"`, ... for those of the
            ellipsis, counted from the right.
        output: the labels of the result.
        sizes: the size of each label. A dimension of size 1 stands for any size.
    """

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    sizes: dict[str, int]

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return tuple(self.sizes[label] for label in self.output)


LETTERS = string.ascii_uppercase + string.ascii_lowercase
"""The labels there are, in the order in which NumPy numbers and sorts them."""

ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Term:
    """The subscripts of one operand, or of the result: letters, and `"..."` for the ellipsis.

    `columns` are where each stands in the text, `column` is where the term begins.
    """

    labels: tuple[str, ...]
    columns: tuple[int, ...] = ()
    column: int = 0

    @property
    def has_ellipsis(self) -> bool:
        """Return whether it stands for dimensions without a label."""
        return ELLIPSIS in self.labels

    def __str__(self) -> str:
        return "".join(self.labels)


@dataclass(frozen=True, slots=True)
class Subscripts:
    """An einsum string, read, with the checks that need no operands."""

    text: str
    inputs: tuple[Term, ...]
    output: Term

    def bind(self, shapes: Sequence[Shape]) -> Contraction:
        """Return the contraction of operands of these shapes.

        Raises:
            ArityError: more or fewer operands than terms.
            ShapeError: a rank does not fit its term, or two sizes of one label differ.
            NotationError: the result lacks the ellipsis that its dimensions need.
        """
        terms, output = self.inputs, self.output
        if len(shapes) != len(terms):
            raise ArityError(
                f"the subscripts have {counted(len(terms), 'term')}, but there "
                f"{'is' if len(shapes) == 1 else 'are'} {counted(len(shapes), 'operand')}",
                where=f"'{self.text}'",
                expected="a term for each operand, with ',' between them",
            )
        inputs = tuple(
            _expand(term, _broadcast_rank(self, number, term, shape))
            for number, (term, shape) in enumerate(zip(terms, shapes, strict=True))
        )
        sizes = _sizes(self, inputs, shapes)
        broadcast = sum(label.startswith(".") for label in sizes)
        if broadcast and not output.has_ellipsis:
            self.refuse(
                f"the result has no ellipsis for {counted(broadcast, 'broadcast dimension')} of "
                "the "
                "operands",
                output.column,
                hint="write '...' where they belong in the result: there is no sum over them",
            )
        return Contraction(inputs, _expand(output, broadcast), sizes)

    def refuse(self, message: str, column: int, *, hint: str | None = None) -> NoReturn:
        """Raise a NotationError that points at a column of the text."""
        _refuse(self.text, message, column, hint=hint)

    def __str__(self) -> str:
        """The explicit form, without spaces."""
        return f"{','.join(map(str, self.inputs))}->{self.output}"


def _refuse(
    text: str, message: str, column: int, *, expected: str | None = None, hint: str | None = None
) -> NoReturn:
    """Raise a NotationError that points at a column of a text."""
    raise NotationError(message, where=pointer(text, column), expected=expected, hint=hint)


def pointer(text: str, column: int) -> str:
    """A text in quotes on one line, and below it a caret under a column."""
    shown = "".join(" " if char.isspace() else char for char in text)
    return f"'{shown}'\n {' ' * column}^"


@lru_cache(maxsize=1024)
def parse(text: str) -> Subscripts:
    """Read an einsum string.

        >>> str(parse("b i j, b j k"))
        'bij,bjk->bik'

    Raises:
        NotationError: it is not an einsum string; names the column.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(
            f"the subscripts are {kind_of(text)}", expected="a string such as 'mk,kn->mn'"
        )
    left, arrow, right = text.partition("->")
    inputs = []
    column = 0
    for part in left.split(","):
        inputs.append(_term(text, part, column))
        column += len(part) + 1
    if not arrow:
        return Subscripts(text, tuple(inputs), _implicit_output(inputs))
    output = _term(text, right, len(left) + 2, is_output=True)
    _check_output(text, inputs, output)
    return Subscripts(text, tuple(inputs), output)


def _term(text: str, part: str, start: int, *, is_output: bool = False) -> Term:
    labels: list[str] = []
    columns: list[int] = []
    offset = 0
    while offset < len(part):
        char, column = part[offset], start + offset
        width = 1
        if char == ".":
            _check_ellipsis(text, part[offset:], column, ELLIPSIS in labels)
            char, width = ELLIPSIS, len(ELLIPSIS)
        elif not char.isspace() and char not in LETTERS:
            _refuse_character(text, part[offset:], column, is_output)
        if not char.isspace():
            labels.append(char)
            columns.append(column)
        offset += width
    return Term(tuple(labels), tuple(columns), start)


def _check_ellipsis(text: str, rest: str, column: int, has_one: bool) -> None:
    dots = len(rest) - len(rest.lstrip("."))
    if dots != len(ELLIPSIS):
        _refuse(
            text,
            f"{dots} dot{'s' * (dots > 1)} where an ellipsis has three",
            column,
            expected="'...' for the dimensions that have no label",
        )
    if has_one:
        _refuse(text, "a second ellipsis in one term", column, hint="keep one of them")


def _refuse_character(text: str, rest: str, column: int, is_output: bool) -> NoReturn:
    char = rest[0]
    if char == "," and is_output:
        _refuse(text, "a comma after '->'", column, expected="one term: there is one result")
    if rest.startswith("->"):
        _refuse(text, "a second '->'", column, expected="one arrow, before the result")
    if char in "->":
        _refuse(text, f"{char!r} alone", column, hint="write '->' before the result")
    _refuse(
        text,
        f"{char!r} is not a label",
        column,
        expected="letters a to z and A to Z, '...', ',' between operands, '->' before the result",
    )


def _check_output(text: str, inputs: Sequence[Term], output: Term) -> None:
    known = {label for term in inputs for label in term.labels} | {ELLIPSIS}
    earlier: set[str] = set()
    for label, column in zip(output.labels, output.columns, strict=True):
        if label in earlier:
            _refuse(
                text,
                f"label '{label}' is twice in the result",
                column,
                hint="give each dimension of the result a label of its own; to write on a "
                "diagonal, assign to the view that einsum('ii->i', matrix) gives",
            )
        if label not in known:
            labels = ", ".join(sorted(known - {ELLIPSIS})) or "none"
            _refuse(
                text,
                f"label '{label}' of the result is in no operand",
                column,
                expected=f"labels of the operands: {labels}",
            )
        earlier.add(label)


def _implicit_output(inputs: Sequence[Term]) -> Term:
    counts = Counter(label for term in inputs for label in term.labels if label != ELLIPSIS)
    once = sorted(label for label, count in counts.items() if count == 1)
    ellipsis = [ELLIPSIS] if any(term.has_ellipsis for term in inputs) else []
    return Term((*ellipsis, *once))


def _broadcast_rank(subscripts: Subscripts, number: int, term: Term, shape: Shape) -> int:
    labelled = len(term.labels) - term.has_ellipsis
    rank = len(shape)
    if rank == labelled or (rank > labelled and term.has_ellipsis):
        return rank - labelled
    needed = f"at least {labelled}" if term.has_ellipsis else f"{labelled}"
    hint = None
    if rank > labelled:
        hint = "add '...' to the term for dimensions to broadcast over, or a label for each"
    raise ShapeError(
        f"operand {number} has rank {rank}, shape {shape}, but its term '{term}' has "
        f"{counted(labelled, 'label')}",
        where=pointer(subscripts.text, term.column),
        expected=f"rank {needed}",
        hint=hint,
    )


def _expand(term: Term, broadcast: int) -> tuple[str, ...]:
    labels: list[str] = []
    for label in term.labels:
        if label == ELLIPSIS:
            labels += [f".{position}" for position in reversed(range(broadcast))]
        else:
            labels.append(label)
    return tuple(labels)


def _sizes(
    subscripts: Subscripts, inputs: Sequence[tuple[str, ...]], shapes: Sequence[Shape]
) -> dict[str, int]:
    sizes: dict[str, int] = {}
    owner: dict[str, int] = {}
    for number, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        own: dict[str, int] = {}
        for label, size in zip(labels, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise ShapeError(
                    f"label '{label}' is size {own[label]} and size {size} in operand {number}, "
                    f"shape {shape}",
                    where=_place(subscripts, number, label, last=True),
                    expected="one size for a label that an operand has twice: its diagonal is read",
                )
        for label, size in own.items():
            known = sizes.get(label, 1)
            if 1 not in (known, size) and known != size:
                raise ShapeError(
                    f"{_described(label)} is size {known} in operand {owner[label]}, shape "
                    f"{shapes[owner[label]]}, and size {size} in operand {number}, shape {shape}",
                    where=_place(subscripts, number, label),
                    expected="one size, or 1, which broadcasts",
                )
            if known == 1:
                sizes[label], owner[label] = size, number
    return sizes


def _place(subscripts: Subscripts, number: int, label: str, *, last: bool = False) -> str:
    term = subscripts.inputs[number]
    written = ELLIPSIS if label.startswith(".") else label
    columns = [c for x, c in zip(term.labels, term.columns, strict=True) if x == written]
    return pointer(subscripts.text, columns[-1 if last else 0])


def _described(label: str) -> str:
    if label.startswith("."):
        return f"broadcast dimension {-1 - int(label[1:])} of '...'"
    return f"label '{label}'"


def parse_interleaved(*arguments: Any) -> tuple[Subscripts, list[Any]]:
    """The subscripts and the operands of a call in the interleaved form.

    Label 0 is `A`, 25 is `Z`, 26 is `a`, 51 is `z`; `Ellipsis` is `...`.

    Raises:
        ArityError: no operand.
        ArgumentTypeError: a sublist is not a list of integers.
        NotationError: a number is not a label.
    """
    if len(arguments) < 2:
        raise ArityError(
            "einsum got no subscripts" if not arguments else "einsum got an operand alone",
            expected="einsum('ij,jk->ik', a, b), or einsum(a, [0, 1], b, [1, 2], [0, 2])",
        )
    pairs = len(arguments) // 2
    operands = [arguments[2 * number] for number in range(pairs)]
    terms = [
        _sublist_term(arguments[2 * n + 1], f"the sublist of operand {n}") for n in range(pairs)
    ]
    text = ",".join(terms)
    if len(arguments) % 2:
        text += "->" + _sublist_term(arguments[-1], "the sublist of the result")
    return parse(text), operands


def _sublist_term(sublist: Any, name: str) -> str:
    if isinstance(sublist, str | bytes) or not (
        isinstance(sublist, Sequence) or hasattr(sublist, "__array__")
    ):
        raise ArgumentTypeError(
            f"{name} is {sublist!r}",
            expected="a list of integers and Ellipsis",
            hint="or give the subscripts as one string first: einsum('ij->ji', a)",
        )
    try:
        return "".join(_label_of_number(entry, name) for entry in sublist)
    except TypeError as error:
        if isinstance(error, ArgumentTypeError):
            raise
        raise ArgumentTypeError(  # a 0-d array
            f"{name} is {sublist!r}", expected="a list of integers and Ellipsis"
        ) from None


def _label_of_number(entry: Any, name: str) -> str:
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
