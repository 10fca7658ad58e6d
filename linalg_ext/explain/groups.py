"""The parts of a page about what is computed together: the graph, and how its groups were found."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from linalg_ext.calling.kernel import Kernel
from linalg_ext.calling.stage import Stage
from linalg_ext.compiler.entry import PREFIX
from linalg_ext.errors import LinalgExtError
from linalg_ext.explain.dataflow_graph import Dataflow, dataflow, of_state
from linalg_ext.explain.located_text import LocatedText, module_of
from linalg_ext.structured.group import GROUPS
from linalg_ext.transforms.grouping import Found, Step, Trace
from linalg_ext.transforms.grouping._cost import seconds_text

_MOST_ROWS = 500
"""Of the moves of a search."""


def graph_html(kernel: Kernel, text: LocatedText | None) -> str:
    """The dataflow of the module as it was given, with the groups that were searched for.

    Args:
        kernel: whose module it is.
        text: of the module; ops lead to their lines in it.
    """
    stages = {stage.name: stage for stage in kernel.steps if stage.bytecode}
    first = stages.get("module")
    if first is None or text is None:
        return "<p>The module as it was given was not kept: it is too large, or there is none.</p>"
    found = _found(kernel)
    try:
        drawn = _drawn(kernel, found, first, stages.get("entry"), text)
    except LinalgExtError as error:
        return f"<p>No graph: {escape(error.what)}.</p>"
    graph = f'<div class="flow">{drawn.to_svg()}</div>'
    return graph if found is None else _found_html(found) + graph + trace_html(found.trace)


def _found(kernel: Kernel) -> Found | None:
    decisions = () if kernel.explanation is None else kernel.explanation().decisions
    return next((each for each in decisions if isinstance(each, Found)), None)


def _drawn(
    kernel: Kernel, found: Found | None, first: Stage, entry: Stage | None, text: LocatedText
) -> Dataflow:
    name = kernel.signature.name
    lines = op_lines(text, name)
    if found is not None:
        return of_state(found.state, lines, found.model)
    if kernel.is_kept and entry is not None and (grouped := _grouped(entry, name)) is not None:
        return grouped
    return dataflow(module_of(first), name, lines=lines)


def _grouped(entry: Stage, name: str) -> Dataflow | None:
    """The graph with the groups that were found when a kernel that was kept was compiled."""
    module = module_of(entry)
    if PREFIX + name not in module.functions:
        return None
    graph = dataflow(module, PREFIX + name)
    return graph if graph.state.groups else None


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


def _found_html(found: Found) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in found.rows()
    )
    return f'<table class="told">{rows}</table>'


def trace_html(trace: Trace) -> str:
    """How a search went: its cost over the moves that it tried, and the moves themselves."""
    left = len(trace.steps) - _MOST_ROWS
    more = f"<p>... {left} more</p>" if left > 0 else ""
    return (
        f'<h2>The search</h2><div class="flow">{trace._repr_svg_()}</div>'
        f"<p>Moves to a state that costs less than all before:</p>{_steps_html(trace.gains())}"
        f"<details><summary>All {len(trace.steps)} moves</summary>"
        f"{_steps_html(trace.steps[:_MOST_ROWS])}{more}</details>"
    )


def _steps_html(steps: Sequence[Step]) -> str:
    rows = "".join(
        f"<tr><td>{seconds_text(step.seconds)}</td><td>{step.tried}</td>"
        f"<td>{seconds_text(step.cost)}</td><td>{escape(step.text)}</td></tr>"
        for step in steps
    )
    head = "<tr><th>time</th><th>tried</th><th>cost</th><th>move</th></tr>"
    return f'<table class="told trace">{head}{rows}</table>'
