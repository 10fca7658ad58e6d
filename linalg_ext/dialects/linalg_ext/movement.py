"""Ops of the dialect `linalg_ext` that put elements elsewhere: concatenate, reverse, broadcast."""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ext, ir
from linalg_ext.dialects.linalg_ext.dialect import (
    LinalgExt,
    Outs,
    destination,
    is_verified,
    tensors,
)
from linalg_ext.errors import ArgumentError, ArityError, ShapeError
from linalg_ext.structured.destination_ops import check_destination_style_op
from linalg_ext.structured.destination_ops.building import build_op
from linalg_ext.structured.destination_ops.concatenate import MOST_INPUTS
from linalg_ext.structured.extension.attributes import SEGMENTS, segments
from linalg_ext.structured.extension.definitions import LETTERS
from linalg_ext.structured.utils.outputs import RuntimeSize, empty_tensor, sizes_of


class ConcatenateOp(LinalgExt.Operation, name="concatenate", traits=[ext.Pure]):
    """Tensors one after another along a dimension; each input is an optional operand."""

    __annotations__ = dict.fromkeys(LETTERS, ext.Operand[Any] | None)
    vars().update(dict.fromkeys(LETTERS))
    __annotations__.update({"init": ext.Operand[Any], "result": ext.Result[Any]})
    init = ext.operand(kw_only=True)
    result = ext.result(kw_only=True)

    def verify_invariants(self) -> bool:
        """Return whether the op keeps its rules."""
        return is_verified(self, check_destination_style_op)


class ReverseOp(LinalgExt.Operation, name="reverse", traits=[ext.Pure]):
    """A tensor with some dimensions backwards."""

    operand: ext.Operand[Any]
    init: ext.Operand[Any]
    result: ext.Result[Any] = ext.result(kw_only=True)

    def verify_invariants(self) -> bool:
        """Return whether the op keeps its rules."""
        return is_verified(self, check_destination_style_op)


class DynamicBroadcastInDimOp(
    LinalgExt.Operation, name="dynamic_broadcast_in_dim", traits=[ext.Pure]
):
    """A tensor repeated along dimensions, which of them the run tells."""

    operand: ext.Operand[Any]
    init: ext.Operand[Any]
    result: ext.Result[Any] = ext.result(kw_only=True)

    def verify_invariants(self) -> bool:
        """Return whether the op keeps its rules."""
        return is_verified(self, check_destination_style_op)


def concatenate(
    *inputs: ir.Value | ir.OpView, dimension: int = 0, outs: Outs | None = None
) -> ir.Value:
    """Build `linalg_ext.concatenate` at the current insertion point.

        >>> concatenate(a, b, dimension=1)

    Args:
        inputs: tensors of one element type and, but for `dimension`, of one shape; 25 at most.
        dimension: along which they follow each other; from the last one back where negative.
        outs: the destination; where it is left out, a new tensor.

    Raises:
        ArgumentError: they do not fit together; names operands and sizes.
    """
    values = tensors("concatenate", inputs)
    if not 1 <= len(values) <= MOST_INPUTS:
        raise ArityError(
            f"concatenate of {len(values)} tensors",
            expected=f"1 to {MOST_INPUTS}",
            hint="concatenate some of them first" if values else None,
        )
    rank = ir.ShapedType(values[0].type).rank
    along = dimension + rank if dimension < 0 else dimension
    if outs is None:
        if not 0 <= along < rank or any(ir.ShapedType(v.type).rank != rank for v in values):
            shown = ", ".join(str(value.type) for value in values)
            raise ShapeError(
                f"concatenate: dimension {dimension} of {shown}",
                expected="a dimension of tensors of one rank",
            )
        init = _joined(values, along)
    else:
        init = destination("concatenate", outs)
    attributes = {"dimension": _integer(along), SEGMENTS: segments(len(values))}
    return build_op("linalg_ext.concatenate", [*values, init], [init], attributes)[0]


def _joined(values: Sequence[ir.Value], along: int) -> ir.Value:
    """A tensor for the values one after another; a size that one of them tells is known."""
    shape: list[RuntimeSize | int] = []
    for place, sizes in enumerate(zip(*map(sizes_of, values), strict=True)):
        known = next((size for size in sizes if isinstance(size, int)), sizes[0])
        shape.append(sum(sizes[1:], sizes[0]) if place == along else known)
    return empty_tensor(shape, ir.ShapedType(values[0].type).element_type)


def reverse(
    operand: ir.Value | ir.OpView, *, dimensions: Sequence[int] | int, outs: Outs | None = None
) -> ir.Value:
    """Build `linalg_ext.reverse` at the current insertion point.

        >>> reverse(a, dimensions=[0, 1])

    Args:
        operand: a tensor.
        dimensions: those that run backwards.
        outs: the destination; where it is left out, a new tensor.

    Raises:
        ArgumentError: a dimension is not there, or is named twice.
    """
    (value,) = tensors("reverse", [operand])
    type_ = ir.ShapedType(value.type)
    init = (
        empty_tensor(sizes_of(value), type_.element_type)
        if outs is None
        else destination("reverse", outs)
    )
    listed = [dimensions] if isinstance(dimensions, int) else list(dimensions)
    places = [dim + type_.rank if dim < 0 else dim for dim in listed]
    return build_op("linalg_ext.reverse", [value, init], [init], {"dimensions": _integers(places)})[
        0
    ]


def dynamic_broadcast_in_dim(
    operand: ir.Value | ir.OpView,
    outs: Outs,
    *,
    broadcast_dimensions: Sequence[int],
    known_expanding: Sequence[int] = (),
    known_nonexpanding: Sequence[int] = (),
) -> ir.Value:
    """Build `linalg_ext.dynamic_broadcast_in_dim` at the current insertion point.

        >>> dynamic_broadcast_in_dim(a, init, broadcast_dimensions=[0, 2])

    Args:
        operand: a tensor.
        outs: the destination, which tells the shape.
        broadcast_dimensions: for each dimension of the operand the one of the result.
        known_expanding: dimensions of the operand of size 1, whatever that of the result is.
        known_nonexpanding: dimensions of the operand of the size that the result has.

    Raises:
        ArgumentError: they do not fit together; names dimensions and sizes.
    """
    (value,) = tensors("dynamic_broadcast_in_dim", [operand])
    init = destination("dynamic_broadcast_in_dim", outs)
    attributes = {"broadcast_dimensions": _integers(broadcast_dimensions)}
    if known_expanding:
        attributes["known_expanding"] = _integers(known_expanding)
    if known_nonexpanding:
        attributes["known_nonexpanding"] = _integers(known_nonexpanding)
    return build_op("linalg_ext.dynamic_broadcast_in_dim", [value, init], [init], attributes)[0]


def _integer(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _integers(values: Sequence[int]) -> ir.Attribute:
    given = list(values)
    if not all(isinstance(value, int) for value in given):
        raise ArgumentError(f"dimensions {given}", expected="integers")
    return ir.DenseI64ArrayAttr.get(given)
