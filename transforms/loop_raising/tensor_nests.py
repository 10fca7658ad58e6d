"""Nests of loops that carry tensors, or read them element by element, raised to structured ops."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import MatchFailure, Report
from linalg_ext.transforms.ir_utils.walking import operations, replace_op

from ._bands import FOR
from ._buffer_form import buffer_form
from ._tensor_form import TensorForm, why_not_on_tensors
from .accumulate_in_memory import accumulate, expanded
from .distribute_loops import distribute_loops
from .raising import is_on_tensors, is_tensor, outermost, raise_nests, told


def raise_tensor_nests(root: ir.Operation, report: Report) -> None:
    """Raise the nests on tensors below an op, wherever they stand.

    A nest becomes one on buffers, in a module of its own. Where no loop of that is left, its ops
    come back on tensors.
    """
    for loop in outermost(root):
        _raise(loop, report)


def _raise(loop: ir.Operation, report: Report) -> None:
    if not is_on_tensors(loop):
        for inner in outermost(loop):
            _raise(inner, report)
        return
    loops = len(operations(loop, [FOR])) + 1
    report.matched[FOR] += 1
    left = _raised(loop)
    if left is None:
        report.changed[FOR] += loops
        return
    report.leave(FOR, left.reason)
    for inner in outermost(loop):
        _raise(inner, report)


def _raised(loop: ir.Operation) -> MatchFailure | None:
    """Put structured ops in the place of a nest; why not, where that cannot be."""
    form = buffer_form(loop)
    if isinstance(form, MatchFailure):
        return MatchFailure(told(loop, form.reason))
    module = form.module.operation
    accumulated, raised = Report(""), Report("")
    with module.context:
        accumulate(module, accumulated, expanded)
    reports = [accumulated, distribute_loops.apply(module), raised]
    raise_nests(module, raised)
    if operations(module, [FOR]):
        reasons = sorted({each for report in reports for each in report.left.get(FOR, ())})
        return MatchFailure("; ".join(reasons))
    left = why_not_on_tensors(form.block)
    if left is not None:
        return MatchFailure(told(loop, left.reason))
    block = loop.block
    stood = {each.operation for each in block.operations}
    with loop.location, ir.InsertionPoint(loop):
        written = TensorForm(form.known)
        for argument, origin in zip(form.block.arguments, form.origins, strict=True):
            written.begin(argument, origin)
        written.write(form.block)
        results = [
            written.tensor(buffer) if is_tensor(result) else written.element(buffer)
            for result, buffer in zip(loop.results, form.results, strict=True)
        ]
    written_ops = [each.operation for each in block.operations if each.operation not in stood]
    for op in reversed(written_ops):
        if not any(result in results or any(True for _ in result.uses) for result in op.results):
            op.erase()
    replace_op(loop, *results)
    return None
