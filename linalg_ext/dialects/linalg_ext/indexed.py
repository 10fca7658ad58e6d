"""Ops of the dialect `linalg_ext` that reach where indices say: gather and scatter."""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from typing import Any

from linalg_ext.bindings import ext, ir
from linalg_ext.dialects.linalg_ext.dialect import (
    LinalgExt,
    Outs,
    destination,
    is_verified,
    tensors,
)
from linalg_ext.errors import ShapeError
from linalg_ext.structured.destination_ops import check_destination_style_op
from linalg_ext.structured.destination_ops.building import Body, build_op, build_scatter
from linalg_ext.structured.utils.operands import static_sizes
from linalg_ext.structured.utils.outputs import empty_tensor, sizes_of


class GatherOp(LinalgExt.Operation, name="gather", traits=[ext.Pure]):
    """Windows of a tensor, at places that indices name."""

    operand: ext.Operand[Any]
    indices: ext.Operand[Any]
    init: ext.Operand[Any]
    result: ext.Result[Any] = ext.result(kw_only=True)

    def verify_invariants(self) -> bool:
        """Return whether the op keeps its rules."""
        return is_verified(self, check_destination_style_op)


class ScatterOp(LinalgExt.Operation, name="scatter", traits=[ext.Pure]):
    """Windows combined into a tensor, at places that indices name."""

    indices: ext.Operand[Any]
    updates: ext.Operand[Any]
    init: ext.Operand[Any]
    result: ext.Result[Any] = ext.result(kw_only=True)
    combiner: ext.Region

    def verify_invariants(self) -> bool:
        """Return whether the op keeps its rules."""
        return is_verified(self, check_destination_style_op)


def gather(
    operand: ir.Value | ir.OpView, indices: ir.Value | ir.OpView, *, outs: Outs | None = None
) -> ir.Value:
    """Build `linalg_ext.gather` at the current insertion point.

        >>> gather(table, indices)      # table[indices[r, 0], ..., indices[r, k - 1], ...]

    Args:
        operand: what is read.
        indices: n x k integers: a row for each window, a column for each of the first k dimensions
            of the operand. One out of range is moved to the nearest in range.
        outs: the destination, which tells the sizes of the windows; where it is left out, a new
            tensor of n x the sizes of the dimensions that are not indexed.

    Raises:
        ArgumentError: they do not fit together; names operands and sizes.
    """
    value, places = tensors("gather", [operand, indices])
    if outs is not None:
        init = destination("gather", outs)
    else:
        sizes = static_sizes(places)
        if len(sizes) != 2 or sizes[1] is None:
            raise ShapeError(
                f"gather: indices is of type {places.type}",
                expected="a row for each window, and a static number of columns",
            )
        shape = [sizes_of(places)[0], *sizes_of(value)[sizes[1] :]]
        init = empty_tensor(shape, ir.ShapedType(value.type).element_type)
    return build_op("linalg_ext.gather", [value, places, init], [init], {})[0]


def scatter(
    indices: ir.Value | ir.OpView,
    updates: ir.Value | ir.OpView,
    outs: Outs,
    *,
    combine: Body | None = None,
) -> ir.Value:
    """Build `linalg_ext.scatter` at the current insertion point.

        >>> scatter(indices, updates, table, combine=arith.addf)

    Args:
        indices: n x k integers: a row for each window, a column for each of the first k dimensions
            of the destination. A window that does not lie inside is left out whole.
        updates: n windows.
        outs: the destination.
        combine: builds, from the new element and the old one, what is written; where it is left
            out, the new one is.

    Raises:
        ArgumentError: they do not fit together; names operands and sizes.
    """
    places, windows = tensors("scatter", [indices, updates])
    init = destination("scatter", outs)
    return build_scatter(places, windows, init, combine)
