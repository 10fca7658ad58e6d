"""The explanation of a compilation, assembled from the reports of its passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linalg_ext.bindings import ir
from linalg_ext.executable.explanation import Decision, ExplainedDecision, Explanation
from linalg_ext.rewriting import Report
from linalg_ext.target import Target
from linalg_ext.transforms.ir_utils.module_functions import PLAN
from linalg_ext.transforms.ir_utils.walking import name_of, ops_of


def written_plans(module: ir.Module) -> list[ExplainedDecision]:
    """Return the plans that functions of a module carry; the lines of each are its rows."""
    plans = []
    for op in ops_of(module.body):
        if PLAN in op.attributes and "sym_name" in op.attributes:
            lines = ir.StringAttr(op.attributes[PLAN]).value.splitlines()
            parts = (line.strip().partition("  ") for line in lines)
            rows = tuple((name, text.strip()) for name, _, text in parts)
            plans.append(ExplainedDecision(f"nest @{name_of(op)}", rows))
    return plans


def beginning(signature: str, target: Target, *, is_shared: bool) -> Explanation:
    """Return the explanation of a kernel before any pass; several threads may share its work."""
    threads = (
        "cut into slices for several threads"
        if is_shared
        else "one: the work is small, or no loop of it can be cut"
    )
    return Explanation(signature, target, (), (), threads)


def explained(
    before: Explanation, reports: Sequence[Report], written: Sequence[Decision] = ()
) -> Explanation:
    """Return the explanation of a lowering, from the reports of its passes.

    Args:
        before: of the passes before.
        reports: of the passes.
        written: the plans that functions carry. One is left out where reports describe it.
    """
    decisions = [
        *before.decisions,
        *(decision for report in reports for decision in report.decisions),
    ]
    reported = {decision.title.rpartition("@")[2] for decision in decisions}
    decisions += [plan for plan in written if plan.title.rpartition("@")[2] not in reported]
    left = dict.fromkeys(
        (report.pass_name.removeprefix("linalg-ext-"), f"{op}: {reason}")
        for report in reports
        for op, reasons in report.left.items()
        for reason in sorted(reasons)
    )
    all_left = dict.fromkeys((*before.left, *left))
    return replace(before, decisions=tuple(decisions), left=tuple(all_left))
