"""Builders of destination-style ops of our own dialect, at the current insertion point."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linalg_ext.bindings import ir
from linalg_ext.errors import LinalgExtError
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.structured.destination_ops import MOST_SCANNED as MOST_INPUTS
from linalg_ext.structured.destination_ops import YIELD, check_destination_style_op
from linalg_ext.structured.extension import SEGMENTS
from linalg_ext.structured.operands import as_values

Body = Callable[..., ir.Value | ir.OpView]
"""Builds what a region yields from the arguments of its block, at the current insertion point."""


def build_op(
    name: str,
    operands: Sequence[ir.Value],
    destinations: Sequence[ir.Value],
    attributes: dict[str, ir.Attribute],
    body: tuple[Body, Sequence[ir.Type]] | None = None,
    *,
    regions: int = 0,
) -> list[ir.Value]:
    """Build an op at the current insertion point, and check it.

    Args:
        name: of the op.
        operands: all of them, the destinations last.
        destinations: its results are of their types.
        attributes: of the op.
        body: what builds its region, and the types of the arguments of its block.
        regions: how many it has.

    Raises:
        ArgumentError: it breaks a rule; nothing is left behind.
    """
    ensure_dialects(destinations[0].context)
    op = ir.Operation.create(
        name,
        results=[value.type for value in destinations],
        operands=list(operands),
        attributes=attributes,
        regions=regions,
    )
    try:
        if body is not None:
            make, types = body
            block = op.regions[0].blocks.append(*types)
            with ir.InsertionPoint(block):
                yielded = as_values(name, [make(*block.arguments)])
                ir.Operation.create(YIELD, operands=yielded)
        check_destination_style_op(op)
    except BaseException as error:
        # Half an op must not stay behind: a caller may catch the error, and go on.
        op.erase()
        if isinstance(error, LinalgExtError):
            error.what = f"{name.partition('.')[2]}: {error.what}"
        raise
    return list(op.results)


def build_scan(
    inputs: Sequence[ir.Value],
    init: ir.Value,
    initial: ir.Value | None,
    combine: Body,
    *,
    dimension: int,
    inclusive: bool = True,
    reverse: bool = False,
) -> list[ir.Value]:
    """Build `linalg_ext.scan`; see the op.

    Args:
        inputs: tensors of one shape.
        init: the destination.
        initial: what is carried first; None where the one input begins.
        combine: builds what is carried on, from what is carried and an element of each input.
        dimension: along which it runs.
        inclusive: whether an element counts for its own place.
        reverse: whether it runs from the last index to the first.
    """
    initials = [] if initial is None else [initial]
    carried = ir.ShapedType((initials or inputs)[0].type).element_type
    counts = [len(inputs), 1, len(initials)]
    slots = [MOST_INPUTS, 1, 1]
    attributes: dict[str, ir.Attribute] = {
        "dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dimension),
        "inclusive": ir.BoolAttr.get(inclusive),
        SEGMENTS: ir.DenseI32ArrayAttr.get(
            [int(n < count) for count, most in zip(counts, slots, strict=True) for n in range(most)]
        ),
        "resultSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(initials)]),
    }
    if reverse:
        attributes["reverse"] = ir.UnitAttr.get()
    types = [carried, *(ir.ShapedType(value.type).element_type for value in inputs)]
    inits = [init, *initials]
    return build_op(
        "linalg_ext.scan", [*inputs, *inits], inits, attributes, (combine, types), regions=1
    )


def build_scatter(
    indices: ir.Value, updates: ir.Value, init: ir.Value, combine: Body | None
) -> ir.Value:
    """Build `linalg_ext.scatter`; see the op.

    Args:
        indices: a row for each window.
        updates: the windows.
        init: the destination.
        combine: builds what is written from the new element and the old one; None writes the new.
    """
    element = ir.ShapedType(init.type).element_type
    body = None if combine is None else (combine, [element, element])
    return build_op("linalg_ext.scatter", [indices, updates, init], [init], {}, body, regions=1)[0]
