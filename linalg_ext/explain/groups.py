"""The parts of a page about what is computed together: the graph, and how its groups were found."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from linalg_ext.compiler.entry import PREFIX
from linalg_ext.errors import LinalgExtError
from linalg_ext.executable.explanation import Stage
from linalg_ext.executable.kernel import Kernel
from linalg_ext.explain.dataflow_graph import Dataflow, dataflow, of_state
from linalg_ext.explain.located_text import LocatedText, module_of
from linalg_ext.explain.pieces import table
from linalg_ext.structured.group import GROUPS
from linalg_ext.target.text import seconds_text
from linalg_ext.transforms.grouping import Found, Step

_MOST_ROWS = 500
"""Largest number of moves of a search that are shown."""


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
    name = kernel.signature.name
    lines = op_lines(text, name)
    try:
        given = dataflow(module_of(first), name, lines=lines)
        taken = _taken(stages.get("entry"), name)
    except LinalgExtError as error:
        return f"<p>No graph: {escape(error.what)}.</p>"
    found = _found(kernel)
    if found is None:
        # For a cached kernel it is not known which op of the module is which in its groups.
        drawn = given if given.state.groups or taken is None else taken
        return _flow(drawn)
    drawn = of_state(given.state if taken is None else found.state, lines, found.model)
    left = found.state.groups and taken is None
    note = "<p>These groups were not taken: ops fuse about as well without.</p>" if left else ""
    return table("what was searched for", found.rows()) + note + _flow(drawn) + trace_html(found)


def _flow(drawn: Dataflow) -> str:
    return f'<div class="flow">{drawn.to_svg()}</div>'


def _found(kernel: Kernel) -> Found | None:
    decisions = () if kernel.explanation is None else kernel.explanation().decisions
    return next((each for each in decisions if isinstance(each, Found)), None)


def _taken(entry: Stage | None, name: str) -> Dataflow | None:
    """The graph as it is once groups are searched for; None where it has no groups."""
    if entry is None:
        return None
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


def trace_html(found: Found) -> str:
    """Return a search as HTML: its cost over the moves that it tried, and the moves themselves."""
    trace = found.trace
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
