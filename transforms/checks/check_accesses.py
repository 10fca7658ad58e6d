"""Assert that reads and writes are in bounds, for any computation of their indices.

Single elements, slices, views, and the accesses of vectors and affine loads: the rules of
`memory_rules`. An index that is known from the IR to be in bounds gets no assertion. It is a
constant, a loop of known length, a position that was clamped, or the position of a loop in the very
tensor that it runs over.

before:
    %v = vector.load %x[%k] : memref<8xf32>, vector<4xf32>
after:
    %0 = arith.cmpi sle, %c0, %k : index
    %1 = arith.cmpi sle, %k, %c4 : index
    %2 = arith.andi %0, %1 : i1
    cf.assert %2, "out-of-bounds access: vector.load"
    %v = vector.load %x[%k] : memref<8xf32>, vector<4xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.ranges import Shapes
from linalg_ext.transforms.ir_utils.walking import operations

from ._assertions import Bounds
from .memory_rules import ACCESSES, RULES, checked_by

NAME = ACCESSES
_CHECKED = frozenset(checked_by("accesses"))


@module_pass(NAME, on=_CHECKED)
def check_accesses(module: ir.Operation) -> Report:
    """Assert that accesses are in bounds."""
    report = Report(NAME)
    shapes: Shapes = {}
    for op in operations(module, _CHECKED):
        report.matched[op.name] += 1
        check = RULES[op.name].accesses
        # The end of a parallel loop holds insertions alone.
        before = op.parent if op.name == "tensor.parallel_insert_slice" else op
        with op.location, ir.InsertionPoint(before):
            bounds = Bounds(op, shapes)
            if check is not None:
                check(op, bounds)
            report.changed[op.name] += bounds.emit()
    return report
