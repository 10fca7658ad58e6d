"""The dialect `linalg_ext` itself, and the parts that all its ops share."""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from linalg_ext.bindings import ext, ir
from linalg_ext.errors import ArgumentError, LinalgExtError
from linalg_ext.structured.operands import as_values

Outs: TypeAlias = ir.Value | ir.OpView | Sequence[ir.Value | ir.OpView]


class LinalgExt(ext.Dialect, name="linalg_ext"):
    """Structured and destination-style ops that upstream's dialects lack."""


class YieldOp(LinalgExt.Operation, name="yield", traits=[ext.Pure, ir.IsTerminatorTrait]):
    """Ends a region of an op of this dialect with the region's result."""

    values: Sequence[ext.Operand[Any]]

    def verify_invariants(self) -> bool:
        """Return whether it ends a region of an op of this dialect."""
        return ends_region_of(self, ("linalg_ext.",), "one of linalg_ext")


def ends_region_of(op: ir.OpView, prefixes: tuple[str, ...], place: str) -> bool:
    """Check that a terminator ends a region of an op whose name begins so, or emit the error."""
    parent = op.operation.parent
    name = "no op" if parent is None else parent.name
    if name.startswith(prefixes):
        return True
    op.operation.location.emit_error(
        f"'{op.operation.name}' op ends a region of {name}; it belongs in {place}"
    )
    return False


def is_verified(op: ir.OpView, check: Callable[[ir.Operation], None]) -> bool:
    """Check an op; a broken rule becomes a diagnostic at its location."""
    try:
        with op.operation.context, op.operation.location:
            check(op.operation)
    except LinalgExtError as error:
        op.operation.location.emit_error(f"'{op.operation.name}' op {error}")
        return False
    return True


def listed(outs: Outs) -> Sequence[ir.Value | ir.OpView]:
    """Destinations as a sequence."""
    return outs if isinstance(outs, Sequence) else [outs]


def tensors(name: str, values: Sequence[ir.Value | ir.OpView]) -> list[ir.Value]:
    """Operands as values, each of them a ranked tensor.

    Raises:
        ArgumentError: one is not; names it.
    """
    operands = as_values(name, values)
    for number, value in enumerate(operands):
        if not isinstance(value.type, ir.RankedTensorType):
            raise ArgumentError(
                f"{name}: operand {number} is of type {value.type}", expected="a ranked tensor"
            )
    return operands


def destination(name: str, outs: Outs) -> ir.Value:
    """The one destination that a caller gave.

    Raises:
        ArgumentError: there is none, or there are several, or it is not a tensor.
    """
    destinations = tensors(name, listed(outs))
    if len(destinations) != 1:
        raise ArgumentError(f"{name}: outs= has {len(destinations)} destinations", expected="one")
    return destinations[0]
