"""Side effects of ops: an op without them may be moved, repeated or left out."""

from __future__ import annotations

from linalg_ext.bindings import ir

_PURE_DIALECTS = frozenset(
    (
        *("affine", "arith", "complex", "gml_st", "index", "linalg", "linalg_ext"),
        *("math", "scf", "shape", "tensor", "ub", "vector"),
    )
)
"""Their ops write nothing, where all they touch are tensors and scalars."""

_IMPURE = frozenset({"vector.print"})


def side_effect(op: ir.Operation) -> str:
    """Return the side effect of an op, or of one inside it; empty if absent.

    An op of an unknown dialect counts as one that may do anything.
    """
    found = ""

    def visit(inner: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = _own_side_effect(inner)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _own_side_effect(op: ir.Operation) -> str:
    name = op.name
    if name.partition(".")[0] not in _PURE_DIALECTS or name in _IMPURE:
        return f"{name} may have side effects"
    memory = (ir.MemRefType, ir.UnrankedMemRefType)
    if any(isinstance(value.type, memory) for value in (*op.operands, *op.results)):
        return f"{name} works on memory"
    return ""
