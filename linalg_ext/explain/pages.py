"""One file of HTML with all that became of a kernel, for any browser, from any disk.

What is read from top to bottom (plans, loops, the graph) is HTML. Stages and assembly are data, of
which a script of the page draws the lines that are in sight: 100,000 lines scroll as ten do.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any

from linalg_ext.errors import ExportError
from linalg_ext.explain.groups import graph_html
from linalg_ext.explain.kernels import kernel_of
from linalg_ext.explain.located_text import LocatedText, of_stage, places_of, within
from linalg_ext.explain.measuring import Measured
from linalg_ext.explain.nests import nests_of_stages
from linalg_ext.explain.page_data import as_script, assembly_data, text_data
from linalg_ext.explain.page_parts import overview_html, pipeline_html, schedule_html
from linalg_ext.explain.pieces import asset, colours
from linalg_ext.explain.sources import sources_of
from linalg_ext.explain.syntax import ASSEMBLY, MLIR, PYTHON
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
        place = Path(path)
        try:
            place.write_text(self.html, encoding="utf-8")
        except OSError as error:
            raise ExportError(
                f"{place} cannot be written: {error.strerror}",
                hint="name a file in a folder that exists and is yours",
            ) from error
        return place

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
    """Everything about a kernel in one page.

        lx.explain.page(lx.jit(f).lower(x, y).compile()).write("f.html")

    The page has the plans with their cost by a model of the machine, and the loops. It has every
    stage beside the one before, with the line of the source that an op came of and the ops that it
    became. Then come the dataflow graph with its groups and their search, the schedule, and the
    machine code with its hot loop.

    Args:
        kernel: a `Kernel`, or what holds one: what `lx.jit(f).lower(...).compile()` gives.
        source: the text that it was compiled from, where that was no Python.
        filename: what to call that text.
        schedule: the one that the module went through before it was compiled.
        measured: what calls take, as `measure` found.
        threads: of the calls that the plans are for, as `Kernel.explain` takes it.

    Raises:
        ArgumentTypeError: it is no kernel of this process.
        ArgumentError: no number of threads.
    """
    own = kernel_of(kernel)
    stages = {stage.name: of_stage(stage) for stage in own.steps}
    places = places_of(next(iter(stages.values()), LocatedText(())))
    stages = {name: within(text, set(places)) for name, text in stages.items()}
    sources = sources_of(places, source, filename)
    data: dict[str, Any] = {
        "languages": {"mlir": MLIR, "assembly": ASSEMBLY, "python": PYTHON},
        "places": places,
        "assembly": assembly_data(own),
        "texts": [],
    }
    before: LocatedText | None = None
    if sources is not None:
        language = "python" if sources.language is PYTHON else "mlir"
        data["texts"].append(
            text_data("source", sources.text, None, places, language, sources.numbers)
        )
        before = sources.text
    for name, text in stages.items():
        data["texts"].append(text_data(name, text, before, places))
        before = text
    return Page(
        own.signature.name,
        Template(asset("page.html")).substitute(
            title=escape(own.signature.name),
            style=_style(),
            signature=escape(str(own.signature)),
            overview=overview_html(own, measured, threads),
            nests=nests_of_stages(own.steps).to_html(),
            graph=graph_html(own, next(iter(stages.values()), None)),
            schedule=schedule_html(schedule),
            pipeline=pipeline_html(list(stages)),
            missing="" if stages else "<p>The kernel came without its stages.</p>",
            data=as_script(data),
            script="\n".join(map(asset, _SCRIPTS)),
        ),
    )


def _style() -> str:
    dark = "@media (prefers-color-scheme: dark) { .lx:not([data-theme=light]) {{}} }"
    return colours(dark.replace("{{}}", "{ {} }"), ".lx[data-theme=dark]") + asset("page.css")
