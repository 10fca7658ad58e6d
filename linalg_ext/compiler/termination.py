"""Whether a module's running time may hang on its data, told from its ops."""

from __future__ import annotations

from linalg_ext.bindings import ir

_LOOPS = frozenset({"scf.for", "scf.forall", "scf.parallel", "scf.while", "affine.for"})
_BRANCHES = "cf."
_CALLS = frozenset({"func.call_indirect", "llvm.call"})


def is_open_ended(module: ir.Module) -> bool:
    """Whether a call may take long although another was short: a loop of its own, or foreign code.

    Ops on whole arrays take about the same time at every call, for all shapes are known.
    """
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        name = op.name
        found = name in _LOOPS or name in _CALLS or name.startswith(_BRANCHES) or _is_foreign(op)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _is_foreign(op: ir.Operation) -> bool:
    """Whether this declares a function that others define."""
    return op.name in ("func.func", "llvm.func") and not len(op.regions[0].blocks)
