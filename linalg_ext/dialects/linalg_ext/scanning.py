"""The op of the dialect `linalg_ext` that carries a value along a dimension: scan."""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from typing import Any

from linalg_ext.bindings import ext, ir
from linalg_ext.dialects.linalg_ext.builders import Body, build, destination, tensors
from linalg_ext.dialects.linalg_ext.dialect import LinalgExt, Outs, is_verified
from linalg_ext.errors import ArityError
from linalg_ext.structured.destination_ops import MOST_SCANNED as MOST_INPUTS
from linalg_ext.structured.destination_ops import check_destination_style_op
from linalg_ext.structured.extension import LETTERS, SEGMENTS
from linalg_ext.structured.outputs import empty_tensor, sizes_of

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
    counts = [len(values), 1, len(initials)]
    slots = [MOST_INPUTS, 1, 1]
    attributes: dict[str, ir.Attribute] = {
        "dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), along),
        "inclusive": ir.BoolAttr.get(inclusive),
        SEGMENTS: ir.DenseI32ArrayAttr.get(
            [int(n < count) for count, most in zip(counts, slots, strict=True) for n in range(most)]
        ),
        "resultSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(initials)]),
    }
    if reverse:
        attributes["reverse"] = ir.UnitAttr.get()
    types = [carried, *(ir.ShapedType(value.type).element_type for value in values)]
    inits = [init, *initials]
    return build(
        "linalg_ext.scan", [*values, *inits], inits, attributes, (combine, types), regions=1
    )
