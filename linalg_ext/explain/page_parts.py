"""The parts of a page that are read from top to bottom."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from linalg_ext.calling.kernel import Kernel
from linalg_ext.errors import LinalgExtError
from linalg_ext.explain.dataflow_graph import dataflow
from linalg_ext.explain.located_text import LocatedText, module_of
from linalg_ext.explain.measuring import Measured
from linalg_ext.explain.pieces import table, tables
from linalg_ext.explain.syntax import PYTHON, as_html
from linalg_ext.structured.group import GROUPS
from linalg_ext.transforms.pipelines import CHECKS, PIPELINES
from linalg_ext.transforms.schedules._step import StepReport
from linalg_ext.transforms.schedules.schedule import Schedule


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


def graph_html(kernel: Kernel, text: LocatedText | None) -> str:
    """The dataflow of the module as it was given; why there is none where it cannot be drawn."""
    stage = next((stage for stage in kernel.steps if stage.bytecode), None)
    if stage is None or text is None or stage is not kernel.steps[0]:
        return "<p>The module as it was given was not kept: it is too large, or there is none.</p>"
    name = kernel.signature.name
    try:
        drawn = dataflow(module_of(stage), name, lines=op_lines(text, name))
    except LinalgExtError as error:
        return f"<p>No graph: {escape(error.what)}.</p>"
    return f'<div class="flow">{drawn.to_svg()}</div>'


def op_lines(text: LocatedText, function: str) -> list[int]:
    """The line of each op of a function but its terminator, those in groups instead of groups."""
    heads = (f"func.func @{function}(", f"func.func private @{function}(")
    for number, line in enumerate(text.lines):
        if line.strip().startswith(heads):
            return list(_flat(text, number))
    return []


def _flat(text: LocatedText, opener: int) -> list[int]:
    found = []
    for line in text.statements(opener)[:-1]:
        is_group = any(f'"{name}"' in text.lines[line] for name in GROUPS)
        found += _flat(text, line) if is_group else [line]
    return found


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
    parts = [
        f"<details><summary>{escape(name)}: {len(passes[name])} passes</summary>"
        f"<ol>{''.join(f'<li><code>{escape(one)}</code></li>' for one in passes[name])}</ol>"
        "</details>"
        for name in stages
        if name in passes
    ]
    return "".join(parts)
