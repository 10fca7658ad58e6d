"""Destinations, regions and errors of the builders of destination-style ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linalg_ext.bindings import ir
from linalg_ext.dialects.linalg_ext.dialect import Outs, listed
from linalg_ext.errors import ArgumentError, LinalgExtError
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.structured.destination_ops import YIELD, check_destination_style_op
from linalg_ext.structured.op_builders import as_values

Body = Callable[..., ir.Value | ir.OpView]
"""Builds what a region yields from the arguments of its block, at the current insertion point."""


def tensors(name: str, values: Sequence[ir.Value | ir.OpView]) -> list[ir.Value]:
    """Operands as values, each of them a ranked tensor.

    Raises:
        ArgumentError: one is not; names it.
    """
    found = as_values(name, values)
    for number, value in enumerate(found):
        if not isinstance(value.type, ir.RankedTensorType):
            raise ArgumentError(
                f"{name}: operand {number} is of type {value.type}", expected="a ranked tensor"
            )
    return found


def destination(name: str, outs: Outs) -> ir.Value:
    """The one destination that a caller gave.

    Raises:
        ArgumentError: there is none, or there are several, or it is no tensor.
    """
    given = tensors(name, listed(outs))
    if len(given) != 1:
        raise ArgumentError(f"{name}: outs= has {len(given)} destinations", expected="one")
    return given[0]


def build(
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
