"""One file of HTML with the compilation of a kernel, for any browser, from any disk.

Plans, loops and the graph are HTML. Stages and assembly are data, of which a script of the page
draws the lines that are in sight: 100,000 lines scroll as ten do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any

from linalg_ext.compiler.entry import PREFIX
from linalg_ext.errors import ExportError, LinalgExtError
from linalg_ext.executable.explanation import Stage
from linalg_ext.executable.kernel import Kernel
from linalg_ext.explain.comparison import compared
from linalg_ext.explain.dataflow_graph import Dataflow, dataflow, of_state
from linalg_ext.explain.hot_loops import hot_loop
from linalg_ext.explain.located_text import (
    LocatedText,
    Place,
    module_of,
    of_stage,
    places_of,
    within,
)
from linalg_ext.explain.measuring import Measured
from linalg_ext.explain.nests import kernel_of, nests_of_stages
from linalg_ext.explain.pieces import (
    ASSEMBLY,
    MLIR,
    PYTHON,
    Language,
    asset,
    colours,
    steps_html,
    table,
    tables,
)
from linalg_ext.structured.group import GROUPS
from linalg_ext.target.text import seconds_text
from linalg_ext.transforms.grouping import Found, Step
from linalg_ext.transforms.pipelines import CHECKS, PIPELINES, after_checks
from linalg_ext.transforms.schedules.schedule import Schedule

_SCRIPTS = ("texts.js", "rows.js", "view.js", "trail.js", "search.js", "main.js")
"""The files of the page's script, in the order in which they need each other."""


@dataclass(frozen=True, repr=False)
class Page:
    """A page, ready to be written.

    Attributes:
        title: the name of the kernel.
        html: the whole page; it loads nothing from elsewhere.
    """

    title: str
    html: str

    def write(self, path: str | PathLike[str]) -> Path:
        """Write it to a file, and return its path.

        Raises:
            ExportError: it cannot be written.
        """
        file = Path(path)
        try:
            file.write_text(self.html, encoding="utf-8")
        except OSError as error:
            raise ExportError(
                f"{file} cannot be written: {error.strerror}",
                hint="name a file in a folder that exists and is yours",
            ) from error
        return file

    def __repr__(self) -> str:
        return f"<Page {self.title}: {len(self.html) >> 10} KiB; .write(path) puts it in a file>"


def page(
    kernel: Any,
    *,
    source: str = "",
    filename: str = "",
    schedule: Schedule | None = None,
    measured: Measured | None = None,
    threads: int = 1,
) -> Page:
    """Return everything about a kernel in one page.

        lx.explain.page(lx.jit(f).lower(x, y).compile()).write("f.html")

    The page has the plans with their cost by a model of the machine, and the loops. It has every
    stage beside the one before, with the line of the source that an op came of and the ops that it
    became. Then come the dataflow graph with its groups and their search, the schedule, and the
    machine code with its hot loop.

    Args:
        kernel: a `Kernel`, or an object with one, such as `lx.jit(f).lower(...).compile()`.
        source: the text that it was compiled from, unless that was Python.
        filename: the name to show for that text.
        schedule: the one that the module went through before it was compiled.
        measured: the times of calls, as `measure` returns them.
        threads: of the calls that the plans are for, as `Kernel.explain` takes it.

    Raises:
        ArgumentTypeError: it is not a kernel of this process.
        ArgumentError: `threads` is not a number of threads.
    """
    own = kernel_of(kernel)
    stages = {stage.name: of_stage(stage) for stage in own.steps}
    places = places_of(next(iter(stages.values()), LocatedText(())))
    stages = {name: within(text, set(places)) for name, text in stages.items()}
    sources = _sources_of(places, source, filename)
    data: dict[str, Any] = {
        "languages": {"mlir": MLIR, "assembly": ASSEMBLY, "python": PYTHON},
        "places": places,
        "assembly": _assembly_data(own),
        "texts": [],
    }
    before: LocatedText | None = None
    if sources is not None:
        language = "python" if sources.language is PYTHON else "mlir"
        data["texts"].append(
            _text_data("source", sources.text, None, places, language, sources.numbers)
        )
        before = sources.text
    for name, text in stages.items():
        data["texts"].append(_text_data(name, text, before, places))
        before = text
    return Page(
        own.signature.name,
        Template(asset("page.html")).substitute(
            title=escape(own.signature.name),
            style=_style(),
            signature=escape(str(own.signature)),
            overview=_overview_html(own, measured, threads),
            nests=nests_of_stages(own.steps).to_html(),
            graph=_graph_html(own, next(iter(stages.values()), None)),
            schedule=steps_html(schedule),
            pipeline=_pipeline_html(list(stages)),
            missing="" if stages else "<p>The kernel came without its stages.</p>",
            data=_as_script(data),
            script="\n".join(map(asset, _SCRIPTS)),
        ),
    )


def _style() -> str:
    dark = "@media (prefers-color-scheme: dark) { .lx:not([data-theme=light]) {{}} }"
    return colours(dark.replace("{{}}", "{ {} }"), ".lx[data-theme=dark]") + asset("page.css")


def _text_data(
    name: str,
    text: LocatedText,
    before: LocatedText | None,
    places: Sequence[Place],
    language: str = "mlir",
    numbers: Sequence[int] = (),
) -> dict[str, Any]:
    """Return a text of the page as data.

    Args:
        name: the name of the text.
        text: its lines.
        before: the text that it stands beside, if any.
        places: those of all texts.
        language: of its lines.
        numbers: the numbers of the lines; by default from 1.

    Returns:
        `ends` has pairs of lines, `sets` the sets of places by number that some line comes of, `of`
        for each line the number of its set, and `runs` the result of `compared`, `same` as 1.
    """
    numbers_of_places = {place: number for number, place in enumerate(places)}
    sets: dict[tuple[Place, ...], int] = {(): 0}
    of = [sets.setdefault(own, len(sets)) for own in text.places]
    runs = [] if before is None else compared(before, text)
    return {
        "name": name,
        "language": language,
        "text": "\n".join(text.lines),
        "numbers": list(numbers),
        "ends": sorted(text.ends.items()),
        "sets": [[numbers_of_places[place] for place in own_set] for own_set in sets],
        "of": of,
        "runs": [[int(run.kind == "same"), *run[1:]] for run in runs],
    }


def _assembly_data(kernel: Kernel) -> dict[str, Any]:
    """Return the machine code as data, with the lines and the counts of its hot loop."""
    try:
        text = kernel.asm(whole=True)
    except LinalgExtError as error:
        return {"text": f"; {error.what}", "hot": [0, 0], "told": str(error.what)}
    hot = hot_loop(text)
    if hot is None:
        return {"text": text, "hot": [0, 0], "told": "the code has no loop"}
    lines, loop = hot
    return {"text": text, "hot": [lines.start, lines.stop], "told": f"the hot loop: {loop}"}


def _as_script(data: Any) -> str:
    """Return JSON that cannot end the element around it."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _overview_html(kernel: Kernel, measured: Measured | None, threads: int) -> str:
    """Return the times of calls, the plans with their cost, and the stages with their times."""
    parts = []
    if measured is not None:
        parts.append(table("time of a call", measured.rows()))
    if kernel.explanation is not None:
        parts.append(tables(kernel.explain(threads)))
    return "".join((*parts, _stages_html(kernel)))


def _stages_html(kernel: Kernel) -> str:
    steps = [(stage.name, f"{stage.operations} ops", stage.seconds) for stage in kernel.steps]
    steps.append(("code", f"LLVM opt level {kernel.opt_level}", kernel.times["code"]))
    picture = kernel.compile_times
    if picture.passes:
        steps.append(("", "passes of this library", picture.own))
        steps.append(("", "passes of MLIR", picture.upstream))
    longest = max([seconds for *_, seconds in steps] + [1e-9])
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(size)}</td><td>{1e3 * seconds:.1f} ms</td>"
        f'<td><span class="bar" style="width:{12 * seconds / longest:.2f}em"></span></td></tr>'
        for name, size, seconds in steps
    )
    total = f"{1e3 * kernel.times['total']:.1f} ms"
    origin = ", kept from an earlier compilation" if kernel.is_kept else ""
    caption = f"compiled in {total}{origin}, for {kernel.target.name}"
    return f'<table class="rows"><caption>{escape(caption)}</caption>{rows}</table>'


def _pipeline_html(stages: Sequence[str]) -> str:
    """Return the passes that each stage ran."""
    passes = {"checks": CHECKS, **PIPELINES}
    if "checks" in stages:
        passes["linalg"] = after_checks("linalg")
    parts = [
        f"<details><summary>{escape(name)}: {len(passes[name])} passes</summary>"
        f"<ol>{''.join(f'<li><code>{escape(text)}</code></li>' for text in passes[name])}</ol>"
        "</details>"
        for name in stages
        if name in passes
    ]
    return "".join(parts)


_MOST_ROWS = 500
"""Largest number of moves of a search that are shown."""


def _graph_html(kernel: Kernel, text: LocatedText | None) -> str:
    """Return the dataflow of the kernel's input module, with the groups that a search chose.

    Ops lead to their lines in the text of the module.
    """
    stages = {stage.name: stage for stage in kernel.steps if stage.bytecode}
    first = stages.get("module")
    if first is None or text is None:
        return "<p>The module as it was given was not kept: it is too large, or there is none.</p>"
    name = kernel.signature.name
    lines = op_lines(text, name)
    try:
        graph = dataflow(module_of(first), name, lines=lines)
        grouped = _grouped_graph(stages.get("entry"), name)
    except LinalgExtError as error:
        return f"<p>No graph: {escape(error.what)}.</p>"
    search = _search(kernel)
    if search is None:
        # For a cached kernel it is not known which op of the module is which in its groups.
        drawn = graph if graph.state.groups or grouped is None else grouped
        return _flow(drawn)
    drawn = of_state(graph.state if grouped is None else search.state, lines, search.model)
    left = search.state.groups and grouped is None
    note = "<p>These groups were not taken: ops fuse about as well without.</p>" if left else ""
    return table("the search", search.rows()) + note + _flow(drawn) + _trace_html(search)


def _flow(drawn: Dataflow) -> str:
    return f'<div class="flow">{drawn.to_svg()}</div>'


def _search(kernel: Kernel) -> Found | None:
    decisions = () if kernel.explanation is None else kernel.explanation().decisions
    return next((decision for decision in decisions if isinstance(decision, Found)), None)


def _grouped_graph(entry: Stage | None, name: str) -> Dataflow | None:
    """Return the graph after the search for groups; None if it has no groups."""
    if entry is None:
        return None
    module = module_of(entry)
    if PREFIX + name not in module.functions:
        return None
    graph = dataflow(module, PREFIX + name)
    return graph if graph.state.groups else None


def op_lines(text: LocatedText, function: str) -> list[int]:
    """Return the line of each op of a function but its terminator; ops in groups replace groups."""
    heads = (f"func.func @{function}(", f"func.func private @{function}(")
    for number, line in enumerate(text.lines):
        if line.strip().startswith(heads):
            return list(_flat(text, number))
    return []


def _flat(text: LocatedText, opener: int) -> list[int]:
    lines = []
    for line in text.statements(opener)[:-1]:
        is_group = any(f'"{name}"' in text.lines[line] for name in GROUPS)
        lines += _flat(text, line) if is_group else [line]
    return lines


def _trace_html(search: Found) -> str:
    """Return a search as HTML: its cost over the moves that it tried, and the moves themselves."""
    trace = search.trace
    left = len(trace.steps) - _MOST_ROWS
    more = f"<p>... {left} more</p>" if left > 0 else ""
    return (
        f'<h2>The search</h2><div class="flow">{trace._repr_svg_()}</div>'
        f"<p>Moves to a state that costs less than all before:</p>{_moves_html(trace.gains())}"
        f"<details><summary>All {len(trace.steps)} moves</summary>"
        f"{_moves_html(trace.steps[:_MOST_ROWS])}{more}</details>"
    )


def _moves_html(steps: Sequence[Step]) -> str:
    rows = "".join(
        f"<tr><td>{seconds_text(step.seconds)}</td><td>{step.tried}</td>"
        f"<td>{seconds_text(step.cost)}</td><td>{escape(step.text)}</td></tr>"
        for step in steps
    )
    head = "<tr><th>time</th><th>tried</th><th>cost</th><th>move</th></tr>"
    return f'<table class="rows trace">{head}{rows}</table>'


UNNAMED = "-"
"""MLIR's name of a text that it did not read from a file."""

_AROUND = 2
_MOST_SOURCE_LINES = 2000


@dataclass(frozen=True)
class Sources:
    """Parts of files, one after another.

    Attributes:
        text: the lines; the place of each is its own.
        numbers: of each line in its file; 0 for lines that name a file.
        language: that of most lines.
    """

    text: LocatedText
    numbers: tuple[int, ...]
    language: Language


def _sources_of(places: Sequence[Place], text: str = "", filename: str = "") -> Sources | None:
    """Return the sources of some places, or None if there are none to show.

    A file is shown from 2 lines before its first place to 2 lines after its last, and about 2000
    lines at most.

    Args:
        places: sorted.
        text: the text that the module was parsed from: the source of places in a text without a
            name.
        filename: the name to show for that text.
    """
    lines: list[str] = []
    numbers: list[int] = []
    own: list[tuple[Place, ...]] = []
    known_places = set(places)
    files = list(dict.fromkeys(place.file for place in places))
    for file in files:
        content = text if file == UNNAMED else _source_text(file)
        shown_lines = [place.line for place in places if place.file == file]
        content_lines = content.splitlines()
        first = max(1, min(shown_lines) - _AROUND)
        last = min(len(content_lines), max(shown_lines) + _AROUND, first + _MOST_SOURCE_LINES - 1)
        if max(shown_lines) > len(content_lines):
            continue  # the file was changed since
        name = (filename or "module") if file == UNNAMED else file
        lines += [f"{'//' if file == UNNAMED else '#'} {name}", *content_lines[first - 1 : last]]
        numbers += [0, *range(first, last + 1)]
        all_own = ((Place(file, line),) for line in range(first, last + 1))
        own += [
            (),
            *(own_places if own_places[0] in known_places else () for own_places in all_own),
        ]
    if not lines:
        return None
    language = MLIR if files == [UNNAMED] else PYTHON
    return Sources(LocatedText(tuple(lines), {}, tuple(own)), tuple(numbers), language)


def _source_text(file: str) -> str:
    """Return the text of a file of Python; empty if it is not one, or was removed."""
    path = Path(file)
    try:
        return path.read_text(encoding="utf-8") if path.suffix == ".py" else ""
    except (OSError, ValueError):
        return ""
