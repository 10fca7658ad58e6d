"""Hide an operand of each `math.atan2` from upstream's folder, which makes NaN of two zeros.

The angle of the point (0, 0) is 0, or pi where the zeros have other signs. No folder knows
`math.fma`, and LLVM removes this one: `y * 1 - 0` is y, for both zeros too.

before:
    %r = math.atan2 %y, %x : f32
after:
    %one = arith.constant 1.0 : f32
    %zero = arith.constant -0.0 : f32
    %hidden = math.fma %y, %one, %zero : f32
    %r = math.atan2 %hidden, %x : f32
"""

from __future__ import annotations

from linalg_ext.bindings import ir, math
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.arithmetic import literal
from linalg_ext.transforms.ir_utils.walking import operations, producer

NAME = "linalg-ext-guard-atan2"


@module_pass(NAME, on="math.atan2")
def guard_atan2(module: ir.Operation) -> Report:
    """Hide an operand of each math.atan2 from upstream's folder."""
    report = Report(NAME)
    for op in operations(module, {"math.atan2"}):
        y = op.operands[0]
        source = producer(y)
        if source is not None and source.name == "math.fma":
            continue
        with op.location, ir.InsertionPoint(op):
            factor, addend = (literal(y.type, number) for number in ("1.0", "-0.0"))
            op.operands[0] = math.FmaOp(y, factor, addend).result
        report.matched[op.name] += 1
        report.changed[op.name] += 1
    return report
