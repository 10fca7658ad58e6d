"""An einsum bound to shapes: every dimension has a label, every label a size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linalg_ext.errors import ArityError, ShapeError

if TYPE_CHECKING:
    from linalg_ext.notations.einsum.subscripts import Subscripts, Term

Shape = tuple[int, ...]

_ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Contraction:
    """What an einsum computes, without an ellipsis.

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


def bind(subscripts: Subscripts, shapes: Sequence[Shape]) -> Contraction:
    """See `Subscripts.bind`."""
    terms = subscripts.inputs
    if len(shapes) != len(terms):
        raise ArityError(
            f"the subscripts have {_count(len(terms), 'term')}, but there "
            f"{'is' if len(shapes) == 1 else 'are'} {_count(len(shapes), 'operand')}",
            where=f"'{subscripts.text}'",
            expected="a term for each operand, with ',' between them",
        )
    inputs = tuple(
        _expand(term, _broadcast_rank(subscripts, number, term, shape))
        for number, (term, shape) in enumerate(zip(terms, shapes, strict=True))
    )
    sizes = _sizes(subscripts, inputs, shapes)
    broadcast = sum(label.startswith(".") for label in sizes)
    output = subscripts.output
    if broadcast and not output.has_ellipsis:
        subscripts.refuse(
            f"the result has no ellipsis for {_count(broadcast, 'broadcast dimension')} of the "
            "operands",
            output.column,
            cure="write '...' where they belong in the result: there is no sum over them",
        )
    return Contraction(inputs, _expand(output, broadcast), sizes)


def _broadcast_rank(subscripts: Subscripts, number: int, term: Term, shape: Shape) -> int:
    labelled = len(term.labels) - term.has_ellipsis
    rank = len(shape)
    if rank == labelled or (rank > labelled and term.has_ellipsis):
        return rank - labelled
    wanted = f"at least {labelled}" if term.has_ellipsis else f"{labelled}"
    cure = None
    if rank > labelled:
        cure = "add '...' to the term for dimensions to broadcast over, or a label for each"
    raise ShapeError(
        f"operand {number} has rank {rank}, shape {shape}, but its term '{term}' has "
        f"{_count(labelled, 'label')}",
        where=subscripts.pointer(term.column),
        expected=f"rank {wanted}",
        cure=cure,
    )


def _expand(term: Term, broadcast: int) -> tuple[str, ...]:
    labels: list[str] = []
    for label in term.labels:
        if label == _ELLIPSIS:
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
    wanted = _ELLIPSIS if label.startswith(".") else label
    columns = [c for x, c in zip(term.labels, term.columns, strict=True) if x == wanted]
    return subscripts.pointer(columns[-1 if last else 0])


def _described(label: str) -> str:
    if label.startswith("."):
        return f"broadcast dimension {-1 - int(label[1:])} of '...'"
    return f"label '{label}'"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
