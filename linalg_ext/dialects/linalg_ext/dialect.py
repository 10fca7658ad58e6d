"""The dialect `linalg_ext` itself, and what all its ops share."""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from linalg_ext.bindings import ext, ir
from linalg_ext.errors import LinalgExtError

Outs: TypeAlias = ir.Value | ir.OpView | Sequence[ir.Value | ir.OpView]


class LinalgExt(ext.Dialect, name="linalg_ext"):
    """Structured and destination-style ops that upstream's dialects lack."""


class YieldOp(LinalgExt.Operation, name="yield", traits=[ext.Pure, ir.IsTerminatorTrait]):
    """Ends a region of an op of this dialect with what the region gives."""

    values: Sequence[ext.Operand[Any]]

    def verify_invariants(self) -> bool:
        """Return whether it ends a region of an op of this dialect."""
        parent = self.operation.parent
        if parent is not None and parent.name.startswith("linalg_ext."):
            return True
        named = "no op" if parent is None else parent.name
        self.operation.location.emit_error(
            f"'linalg_ext.yield' op ends a region of {named}; it belongs in one of linalg_ext"
        )
        return False


def is_verified(op: ir.OpView, check: Callable[[ir.Operation], None]) -> bool:
    """Check an op; what is wrong becomes a diagnostic at its location."""
    try:
        with op.operation.context:
            check(op.operation)
    except LinalgExtError as error:
        op.operation.location.emit_error(f"'{op.operation.name}' op {error}")
        return False
    return True


def listed(outs: Outs) -> Sequence[ir.Value | ir.OpView]:
    """Destinations as a sequence."""
    return outs if isinstance(outs, Sequence) else [outs]
