"""Assert that the sizes that an op takes from elsewhere fit, before anything is lowered.

The table in `memory_rules` names these sizes for each op. They are, for example, two of one loop of
a structured op, the tiles of a pack and the packed size, or a size and the product of those that it
is expanded to. The assertions stand before the op, outside of its loops: they hold where a loop has
no rounds, too. Sizes that follow from the types, or from the ops that made the tensors, are not
checked.

before:
    %r = linalg.matvec ins(%a, %x : tensor<?x4xf32>, tensor<4xf32>)
                       outs(%y : tensor<?xf32>) -> tensor<?xf32>
after:
    %0 = tensor.dim %a, %c0 : tensor<?x4xf32>
    %1 = tensor.dim %y, %c0 : tensor<?xf32>
    %2 = arith.cmpi eq, %1, %0 : index
    cf.assert %2, "linalg.matvec: dimension #0 of input/output operand #2 is incompatible with \
dimension #0 of operand #0: they are of one loop"
    %r = linalg.matvec ins(%a, %x : tensor<?x4xf32>, tensor<4xf32>)
                       outs(%y : tensor<?xf32>) -> tensor<?xf32>

Ops of the dialects of the table that are not in it are refused: their accesses are not known.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.ranges import Shapes
from linalg_ext.transforms.ir_utils.walking import place, select

from ._assertions import Bounds
from ._size_rules import check_equal_shapes
from .memory_rules import RULES, SIZES, Check, is_held

NAME = SIZES


@module_pass(NAME)
def check_sizes(module: ir.Operation) -> Report:
    """Assert that sizes fit.

    Raises:
        LoweringError: an op of the dialects that are checked is not known to the checks.
    """
    report = Report(NAME)
    shapes: Shapes = {}
    for op in select(module, lambda op: _is_checked(op.name)):
        report.matched[op.name] += 1
        check = _check_of(op)
        with op.location, ir.InsertionPoint(op):
            bounds = Bounds(op, shapes)
            check(op, bounds)
            report.changed[op.name] += bounds.emit()
    return report


def _is_checked(name: str) -> bool:
    """Return whether ops of a name are to be looked at: those that are not known, too."""
    rule = RULES.get(name)
    if rule is not None:
        return rule.sizes is not None
    return is_held(name) or name.startswith(_ELEMENTWISE)


_ELEMENTWISE = ("arith.", "complex.", "math.")
"""Dialects of ops that are of one shape, where they are on whole tensors."""


def _check_of(op: Any) -> Check:
    rule = RULES.get(op.name)
    if rule is not None and rule.sizes is not None:
        return rule.sizes
    if not is_held(op.name):
        return check_equal_shapes
    raise LoweringError(
        f"the memory that {op.name} reaches is not known",
        where=place(op),
        expected="an op of the table of checks",
        hint="write it as ops that are in the table, or vouch for it with checked=False",
    )
