"""The op of the dialect `linalg_ext` that carries a value along a dimension: scan."""

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
from linalg_ext.errors import ArityError
from linalg_ext.structured.destination_ops import check_destination_style_op
from linalg_ext.structured.destination_ops.building import Body, build_scan
from linalg_ext.structured.destination_ops.scan import MOST_INPUTS
from linalg_ext.structured.extension.definitions import LETTERS
from linalg_ext.structured.utils.outputs import empty_tensor, sizes_of

_INPUTS = LETTERS[:MOST_INPUTS]


class ScanOp(LinalgExt.Operation, name="scan", traits=[ext.Pure]):
    """Tensors gone through along a dimension with a value that is carried on.

    Each input is an optional operand: those of one variadic group would all be of one type.
    """

    __annotations__ = {
        **dict.fromkeys(_INPUTS, ext.Operand[Any] | None),
        **dict.fromkeys(("init", "initial"), ext.Operand[Any] | None),
        **dict.fromkeys(("result", "last"), ext.Result[Any] | None),
        "body": ext.Region,
    }
    vars().update(dict.fromkeys((*_INPUTS, "init", "initial")))
    result = ext.result(kw_only=True, default_factory=None)
    last = ext.result(kw_only=True, default_factory=None)

    def verify_invariants(self) -> bool:
        """Return whether the op keeps its rules."""
        return is_verified(self, check_destination_style_op)


def scan(
    *inputs: ir.Value | ir.OpView,
    combine: Body,
    dimension: int = -1,
    initial: ir.Value | ir.OpView | None = None,
    inclusive: bool = True,
    reverse: bool = False,
    outs: Outs | None = None,
) -> list[ir.Value]:
    """Build `linalg_ext.scan` at the current insertion point.

        >>> (sums,) = scan(x, combine=lambda so_far, new: arith.addf(so_far, new))
        >>> states, last = scan(a, x, initial=h, combine=lambda h, a, x: addf(mulf(a, h), x))

    Args:
        inputs: tensors of one shape, 8 at most.
        combine: builds what is carried on, from what is carried and an element of each input.
        dimension: along which it runs; from the last one back where negative.
        initial: a tensor without the dimension: what is carried first. Where it is left out, the
            one input gives its first element as it is.
        inclusive: whether an element counts for its own place.
        reverse: whether it runs from the last index to the first.
        outs: the destination, of elements that are carried or of a narrower float; where it is
            left out, a new tensor.

    Returns:
        The result, and with `initial` what is carried at last.

    Raises:
        ArgumentError: they do not fit together; names operands and types.
    """
    values = tensors("scan", inputs)
    if not 1 <= len(values) <= MOST_INPUTS:
        raise ArityError(f"scan of {len(values)} tensors", expected=f"1 to {MOST_INPUTS}")
    initials = [] if initial is None else tensors("scan", [initial])
    carried = ir.ShapedType((initials or values)[0].type).element_type
    init = empty_tensor(sizes_of(values[0]), carried) if outs is None else destination("scan", outs)
    rank = ir.ShapedType(values[0].type).rank
    along = dimension + rank if dimension < 0 else dimension
    start = initials[0] if initials else None
    return build_scan(
        values, init, start, combine, dimension=along, inclusive=inclusive, reverse=reverse
    )
