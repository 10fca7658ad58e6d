"""Views of modules, kernels and schedules in notebooks and terminals.

The facade `views`: the classes themselves live in lower rooms, and nothing of this is loaded
before an object is displayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from linalg_ext.bindings import ir
from linalg_ext.executable.explanation import Row
from linalg_ext.executable.kernel import Kernel
from linalg_ext.explain import page_parts
from linalg_ext.explain.located_text import LocatedText, of_module, of_operation
from linalg_ext.explain.nests import nests_of_stages
from linalg_ext.explain.pieces import folded, styled, table, tables
from linalg_ext.module import Module
from linalg_ext.transforms.schedules.schedule import Schedule

if TYPE_CHECKING:
    from rich.console import RenderableType

    from linalg_ext.rewriting import Report
    from linalg_ext.structured.contraction import ContractionExplanation
    from linalg_ext.structured.footprints import Footprint
    from linalg_ext.target import Target
    from linalg_ext.tracing.jit_function import JitFunction
    from linalg_ext.transforms.grouping import State


def module_html(module: Module) -> str:
    """Highlighted IR in which regions fold."""
    return styled(folded(of_module(module)))


def module_rich(module: Module) -> RenderableType:
    """Highlighted IR."""
    return _highlighted(of_module(module))


def operation_html(op: Any) -> str:
    """The same for one of upstream's operations."""
    return styled(folded(of_operation(op.operation)))


def kernel_html(kernel: Kernel) -> str:
    """A kernel as its explain table, with a picture of its loop nests."""
    nests = nests_of_stages(kernel.steps).to_html()
    return styled(
        f"{_explained_html(kernel)}<details open><summary>loop nests</summary>{nests}</details>"
        f"{table('stages', _stage_rows(kernel))}"
    )


def kernel_rich(kernel: Kernel) -> RenderableType:
    """The same for a terminal."""
    from rich.console import Group
    from rich.text import Text

    told: RenderableType = Text(repr(kernel)) if kernel.explanation is None else kernel.explain()
    return Group(told, nests_of_stages(kernel.steps))


def jitted_html(function: JitFunction[..., Any]) -> str:
    """A jitted function as the table of its kernels."""
    return _table_html(*_of_function(function))


def jitted_rich(function: JitFunction[..., Any]) -> RenderableType:
    """The same for a terminal."""
    return _table_rich(*_of_function(function))


def report_html(report: Report) -> str:
    """A report as a table of op names."""
    return _table_html(report.pass_name, list(report.rows()))


def report_rich(report: Report) -> RenderableType:
    """The same for a terminal."""
    return _table_rich(report.pass_name, list(report.rows()))


def target_html(target: Target) -> str:
    """A machine as a table."""
    return _table_html(f"target {target.name}", list(target.description().items()))


def target_rich(target: Target) -> RenderableType:
    """The same for a terminal."""
    return _table_rich(f"target {target.name}", list(target.description().items()))


def schedule_html(schedule: Schedule) -> str:
    """A schedule as its script, and after it what each step left to be scheduled."""
    return styled(page_parts.schedule_html(schedule))


def schedule_rich(schedule: Schedule) -> RenderableType:
    """The script."""
    from rich.syntax import Syntax

    return Syntax(str(schedule), "python", background_color="default", word_wrap=True)


def contraction_html(explained: ContractionExplanation) -> str:
    """The tree of a contraction, with what each step costs."""
    from linalg_ext.explain import contraction_tree

    return contraction_tree.contraction_html(explained)


def contraction_rich(explained: ContractionExplanation) -> RenderableType:
    """The same for a terminal."""
    from linalg_ext.explain import contraction_tree

    return contraction_tree.contraction_rich(explained)


def footprint_svg(footprint: Footprint) -> str:
    """A picture of the parts of operands that a tile touches."""
    from linalg_ext.explain.footprint_drawing import svg_of_footprint

    return svg_of_footprint(footprint)


def state_svg(state: State) -> str:
    """A picture of a state of groups."""
    from linalg_ext.transforms.grouping.state_picture import picture

    return picture(state)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext linalg_ext.explain`: upstream's modules and operations show highlighted IR."""
    formatter = ipython.display_formatter.formatters["text/html"]
    for kind in (ir.Operation, ir.OpView):
        formatter.for_type(kind, operation_html)
    formatter.for_type(ir.Module, lambda module: operation_html(module.operation))


def _of_function(function: JitFunction[..., Any]) -> tuple[str, list[Row]]:
    """The title and the rows of a jitted function."""
    rows = [
        (repr(kernel).partition("\n")[0], f"{1e3 * sum(kernel.times.values()):.1f} ms to compile")
        for kernel in function.kernels
    ]
    return f"jit {function.__name__}", rows or [("no kernel yet", "the first call compiles one")]


def _table_html(title: str, rows: Sequence[Row]) -> str:
    return styled(table(title, rows))


def _table_rich(title: str, rows: Sequence[Row]) -> RenderableType:
    from rich.table import Table

    shown = Table(title=title, show_header=False)
    for name, text in rows:
        shown.add_row(name, text)
    return shown


def _highlighted(text: LocatedText) -> RenderableType:
    from rich.syntax import Syntax

    from linalg_ext.explain.terminal_lexer import MlirLexer

    return Syntax("\n".join(text.lines), MlirLexer(), background_color="default", word_wrap=True)


def _explained_html(kernel: Kernel) -> str:
    if kernel.explanation is None:
        return f"<pre>{escape(repr(kernel))}</pre>"
    return tables(kernel.explain())


def _stage_rows(kernel: Kernel) -> list[tuple[str, str]]:
    return [
        (stage.name, f"{stage.operations} ops, {1e3 * stage.seconds:.1f} ms")
        for stage in kernel.steps
    ]
