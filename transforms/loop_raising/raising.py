"""Perfect nests of loops over buffers raised to structured ops, wherever they stand."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import MatchFailure, Report
from linalg_ext.transforms.ir_utils.walking import operations, select

from ._bands import FOR, band_of
from ._raised import raised
from ._sizes import SizeReader

PARALLEL = "scf.parallel"
WAS_PARALLEL = "linalg_ext.was_parallel"
"""On a loop that was a parallel one."""

ON_TENSORS = "the loop is on tensors: linalg-ext-raise-loops takes it as it is"


def raise_nests(root: ir.Operation, report: Report) -> None:
    """Raise every perfect nest below an op, at any depth, except those on tensors."""
    report.matched[FOR] += len(operations(root, [FOR]))
    for loop in outermost(root):
        _raise(loop, report)


def outermost(root: ir.Operation) -> list[ir.Operation]:
    """The loops below an op that are in no other one there."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != FOR or op == root:
            return ir.WalkResult.ADVANCE
        found.append(op)
        return ir.WalkResult.SKIP

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def is_tensor(value: ir.Value) -> bool:
    """Return whether a value is a tensor of any kind."""
    return isinstance(value.type, ir.RankedTensorType | ir.UnrankedTensorType)


def is_on_tensors(loop: ir.Operation) -> bool:
    """Return whether a nest carries tensors or reads elements of them."""
    inside = select(loop, lambda _: True)
    return any(map(is_tensor, (value for op in (loop, *inside) for value in op.operands)))


def told(loop: ir.Operation, reason: str) -> str:
    """A loop by its place, and why it is left."""
    where = str(loop.location).removeprefix("loc(").removesuffix(")")
    name = PARALLEL if WAS_PARALLEL in loop.attributes else loop.name
    return reason if where == "unknown" else f"{reason} ({name} at {where})"


def _raise(loop: ir.Operation, report: Report) -> None:
    """Raise the nest that begins with a loop; else those inside."""
    band = band_of(loop, SizeReader())
    answer = band if isinstance(band, MatchFailure) else raised(band)
    if answer is None:
        report.changed[FOR] += len(operations(loop, [FOR]))
        loop.erase()
        return
    if not is_on_tensors(loop):
        report.leave(FOR, told(loop, answer.reason))
    for inner in outermost(loop):
        _raise(inner, report)
