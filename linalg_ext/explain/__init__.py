"""Compilations made visible: a page of all that became of a kernel, and views for notebooks.

    import linalg_ext as lx

    lx.explain.page(kernel).write("layer.html")     # one file, to be opened in any browser
    lx.explain.loop_nests(kernel)                   # a tree in a terminal, boxes in a notebook
    lx.explain.dataflow(module)                     # ops and operands, groups as boxes
    lx.explain.measure(kernel)                      # the time of a call

In a notebook modules, kernels, schedules, contractions and footprints show themselves, and `rich`
prints them so in a terminal. `%load_ext linalg_ext.explain` has upstream's own modules and
operations do so too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linalg_ext.utils.hooks import lazy_names

if TYPE_CHECKING:
    from linalg_ext.explain.dataflow_graph import Dataflow, dataflow
    from linalg_ext.explain.hot_loops import Loop, hot_loop
    from linalg_ext.explain.measuring import Measured, measure
    from linalg_ext.explain.nests import LoopNests, Nest, loop_nests
    from linalg_ext.explain.notebook import load_ipython_extension
    from linalg_ext.explain.pages import Page, page

_HOMES = {
    "dataflow_graph": "Dataflow dataflow",
    "hot_loops": "Loop hot_loop",
    "measuring": "Measured measure",
    "nests": "LoopNests Nest loop_nests",
    "notebook": "load_ipython_extension",
    "pages": "Page page",
}
"""The files of this room, and the public names in each: a drawing loads only the files it needs."""

__all__ = [
    "Dataflow",
    "Loop",
    "LoopNests",
    "Measured",
    "Nest",
    "Page",
    "dataflow",
    "hot_loop",
    "load_ipython_extension",
    "loop_nests",
    "measure",
    "page",
]

if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return list(__all__)
