"""All or nothing: nothing that was built before a mistake was found stays behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from linalg_ext.bindings import ir


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Erase the ops that a failed `with` block built at the current insertion point."""
    point = ir.InsertionPoint.current
    # The bindings cannot step back from an op: an op of no meaning marks where we began.
    marker = ir.Operation.create("builtin.unrealized_conversion_cast")
    try:
        yield
    except BaseException:
        for op in reversed(_after(marker, point)):
            op.erase()
        raise
    finally:
        marker.erase()


def _after(marker: ir.Operation, point: ir.InsertionPoint) -> list[ir.Operation]:
    """The ops from a marker to the op that the insertion point stands before, or to the end."""
    ops = [op.operation for op in point.block.operations]
    end = len(ops) if point.ref_operation is None else ops.index(point.ref_operation.operation)
    return ops[ops.index(marker) + 1 : end]
