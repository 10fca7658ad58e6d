"""The products that read a parameter, directly or through ops that only move its elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import RecognitionError
from linalg_ext.structured.contraction_form import Contraction, contraction_of
from linalg_ext.structured.recognition import recognize
from linalg_ext.transforms.ir_utils.generics import maps_of


@dataclass(frozen=True)
class Reader:
    """A product that reads a parameter.

    Attributes:
        op: the product.
        number: of the operand that is the parameter, or a view of it.
        contraction: what it computes.
        dims: the dimension of each axis of the parameter.
        between: the ops that the parameter goes through, the last first.
    """

    op: Any
    number: int
    contraction: Contraction
    dims: tuple[str, ...]
    between: tuple[Any, ...]

    @property
    def own(self) -> tuple[str, ...]:
        """The dimensions of the operand that is the parameter, or a view of it."""
        return self.contraction.b if self.number else self.contraction.a

    @property
    def other(self) -> tuple[str, ...]:
        """The dimensions of the other operand."""
        return self.contraction.a if self.number else self.contraction.b


def readers_of(
    value: Any, axes: tuple[int | None, ...], between: tuple[Any, ...]
) -> Iterator[Reader | None]:
    """The products that read a value; None for what else does.

    Args:
        value: a parameter, or what moves its elements.
        axes: for each axis of it, that of the parameter.
        between: the ops that moved them.
    """
    for use in value.uses:
        op = use.owner.operation
        moved = _moved(op, axes) if use.operand_number == 0 else None
        if moved is not None:
            yield from readers_of(op.results[0], moved, (op, *between))
        else:
            yield _reader(op, use.operand_number, axes, between)


def _moved(op: Any, axes: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
    """The axes of what an op gives, if it but transposes and broadcasts."""
    if op.name == "linalg.transpose":
        order = ir.DenseI64ArrayAttr(op.attributes["permutation"])
        return tuple(axes[axis] for axis in order)
    if op.name == "linalg.broadcast":
        added = list(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
        given = iter(axes)
        count = len(axes) + len(added)
        return tuple(None if axis in added else next(given) for axis in range(count))
    if op.name != "linalg.generic" or len(op.operands) != 2 or len(op.results) != 1:
        return None
    body = op.regions[0].blocks[0]
    read, written = maps_of(op)
    plain = read.is_projected_permutation and written.is_permutation
    if not plain or len(body.operations) != 1:
        return None
    if body.operations[0].operation.operands[0] != body.arguments[0]:
        return None
    known = {
        ir.AffineDimExpr(result).position: axis
        for result, axis in zip(read.results, axes, strict=True)
    }
    return tuple(known.get(ir.AffineDimExpr(result).position) for result in written.results)


def _reader(
    op: Any, number: int, axes: tuple[int | None, ...], between: tuple[Any, ...]
) -> Reader | None:
    if not op.name.startswith("linalg.") or len(op.operands) != 3 or len(op.results) != 1:
        return None
    if not all(_is_static(value, op.operands[2].type.element_type) for value in op.operands):
        return None
    try:
        contraction = contraction_of(recognize(op))
    except RecognitionError:
        return None
    if contraction is None or number > 1:
        return None
    own = contraction.b if number else contraction.a
    dims = {axis: dim for dim, axis in zip(own, axes, strict=True) if axis is not None}
    if len(dims) < max(dims, default=0) + 1:
        return None
    ordered = tuple(dims[axis] for axis in range(len(dims)))
    reader = Reader(op, number, contraction, ordered, between)
    return reader if _goes_into_columns(reader) else None


def _is_static(value: Any, element: Any) -> bool:
    type_ = value.type
    return (
        isinstance(type_, ir.RankedTensorType)
        and type_.has_static_shape
        and type_.element_type == element
    )


def _goes_into_columns(reader: Reader) -> bool:
    """Return whether the first axis is the innermost of the result alone, and the others are
    summed.
    """
    c, (first, *others) = reader.contraction.c, reader.dims
    lone = [dim for dim in reader.own if dim not in reader.dims and dim not in c]
    return (
        not lone
        and c[-1:] == (first,)
        and first not in reader.other
        and all(dim in reader.other and dim not in c for dim in others)
        and set(c) - {first} <= set(reader.other)
    )
