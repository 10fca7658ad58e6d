"""The parts of a page that are read from top to bottom."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from linalg_ext.executable.kernel import Kernel
from linalg_ext.explain.measuring import Measured
from linalg_ext.explain.pieces import table, tables
from linalg_ext.explain.syntax import PYTHON, as_html
from linalg_ext.transforms.pipelines import CHECKS, PIPELINES, after_checks
from linalg_ext.transforms.schedules.schedule import Schedule
from linalg_ext.transforms.schedules.step import StepReport


def overview_html(kernel: Kernel, measured: Measured | None, threads: int) -> str:
    """The plans, what they cost, what calls take, and the way down with the time of each step."""
    parts = []
    if measured is not None:
        parts.append(table("time of a call", measured.rows()))
    if kernel.explanation is not None:
        parts.append(tables(kernel.explain(threads)))
    return "".join((*parts, _steps_html(kernel)))


def _steps_html(kernel: Kernel) -> str:
    """Each stage with its ops, and its time as a bar."""
    longest = max([stage.seconds for stage in kernel.steps] + [kernel.times["code"], 1e-9])
    steps = [(stage.name, f"{stage.operations} ops", stage.seconds) for stage in kernel.steps]
    steps.append(("code", f"LLVM opt level {kernel.opt_level}", kernel.times["code"]))
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(size)}</td><td>{1e3 * seconds:.1f} ms</td>"
        f'<td><span class="bar" style="width:{12 * seconds / longest:.2f}em"></span></td></tr>'
        for name, size, seconds in steps
    )
    total = f"{1e3 * kernel.times['total']:.1f} ms"
    kept = ", kept from an earlier compilation" if kernel.is_kept else ""
    caption = f"compiled in {total}{kept}, for {kernel.target.name}"
    return f'<table class="told"><caption>{escape(caption)}</caption>{rows}</table>'


def schedule_html(schedule: Schedule | None) -> str:
    """The script of a schedule, and the ops after each of its steps."""
    if schedule is None:
        return "<p>The module went through no schedule before it was compiled.</p>"
    rows = [(f"{n} {taken}", _focus(taken.report)) for n, taken in enumerate(schedule.taken)]
    script = f'<div class="ir">{as_html(str(schedule), PYTHON)}</div>'
    return script + table("steps, and the ops after each", rows)


def _focus(report: StepReport) -> str:
    names = [f"{name} {count}" for name, count in sorted(report.focus.items())]
    return ", ".join(names) or "none"


def pipeline_html(stages: Sequence[str]) -> str:
    """The passes that each stage ran."""
    passes = {"checks": CHECKS, **PIPELINES}
    if "checks" in stages:
        passes["linalg"] = after_checks("linalg")
    parts = [
        f"<details><summary>{escape(name)}: {len(passes[name])} passes</summary>"
        f"<ol>{''.join(f'<li><code>{escape(one)}</code></li>' for one in passes[name])}</ol>"
        "</details>"
        for name in stages
        if name in passes
    ]
    return "".join(parts)
