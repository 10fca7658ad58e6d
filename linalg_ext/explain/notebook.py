"""Views of modules, kernels and schedules in notebooks and terminals.

This is the facade `views`: the classes themselves live in lower rooms, and the drawing code is
loaded when an object is displayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from linalg_ext.bindings import ir
from linalg_ext.executable.explanation import Row
from linalg_ext.executable.kernel import Kernel
from linalg_ext.explain.located_text import of_module, of_operation
from linalg_ext.explain.nests import nests_of_stages
from linalg_ext.explain.pieces import folded, steps_html, styled, table, tables
from linalg_ext.module import Module
from linalg_ext.structured.contraction import ContractionExplanation
from linalg_ext.transforms.schedules.schedule import Schedule

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.tree import Tree

    from linalg_ext.structured.footprints import Footprint
    from linalg_ext.tracing.jit_function import JitFunction
    from linalg_ext.transforms.grouping import State


def module_html(module: Module) -> str:
    """Highlighted IR in which regions fold."""
    return styled(folded(of_module(module)))


def module_rich(module: Module) -> RenderableType:
    """Highlighted IR."""
    from rich.syntax import Syntax

    from linalg_ext.explain.terminal_lexer import MlirLexer

    text = "\n".join(of_module(module).lines)
    return Syntax(text, MlirLexer(), background_color="default", word_wrap=True)


def operation_html(op: Any) -> str:
    """The same for one of upstream's operations."""
    return styled(folded(of_operation(op.operation)))


def kernel_html(kernel: Kernel) -> str:
    """A kernel as its explain table, with a picture of its loop nests."""
    nests = nests_of_stages(kernel.steps).to_html()
    explained = f"<pre>{escape(repr(kernel))}</pre>"
    if kernel.explanation is not None:
        explained = tables(kernel.explain())
    stages = [
        (stage.name, f"{stage.operations} ops, {1e3 * stage.seconds:.1f} ms")
        for stage in kernel.steps
    ]
    return styled(
        f"{explained}<details open><summary>loop nests</summary>{nests}</details>"
        f"{table('stages', stages)}"
    )


def kernel_rich(kernel: Kernel) -> RenderableType:
    """The same for a terminal."""
    from rich.console import Group
    from rich.text import Text

    explained = Text(repr(kernel)) if kernel.explanation is None else kernel.explain()
    return Group(explained, nests_of_stages(kernel.steps))


def schedule_html(schedule: Schedule) -> str:
    """A schedule as its script, and the ops after each step."""
    return styled(steps_html(schedule))


def schedule_rich(schedule: Schedule) -> RenderableType:
    """The script."""
    from rich.syntax import Syntax

    return Syntax(str(schedule), "python", background_color="default", word_wrap=True)


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


def contraction_html(explained: ContractionExplanation) -> str:
    """The tree of a contraction, the result at its root, with the cost of each step."""
    first, *_, last = (escape(line.strip()) for line in repr(explained).splitlines())
    boxes = _box(explained, _root(explained))
    return styled(f'<p><code>{first}<br>{last}</code></p><div class="nests">{boxes}</div>')


def contraction_rich(explained: ContractionExplanation) -> RenderableType:
    """The same for a terminal."""
    from rich.console import Group
    from rich.text import Text
    from rich.tree import Tree

    first, *_, last = repr(explained).splitlines()
    tree = Tree(Text(_label(explained, _root(explained))))
    _grow(explained, _root(explained), tree)
    return Group(Text(first), tree, Text(last.strip()))


def _root(explained: ContractionExplanation) -> int:
    """Return the number of the result: operands are 0, 1, ..., and after them the steps."""
    return len(explained.plan.contraction.inputs) + len(explained.plan.steps) - 1


def _label(explained: ContractionExplanation, value: int) -> str:
    inputs = explained.plan.contraction.inputs
    if value < len(inputs):
        return f"operand {value} [{' '.join(inputs[value])}]  {explained.types[value]}"
    number = value - len(inputs)
    step = explained.plan.steps[number]
    summed = f" over {' '.join(step.summed)}" if step.summed else ""
    flops = f"{explained.plan.flops(step):,} flops"
    return f"t{number} [{' '.join(step.output)}]  {explained.ops[number]}{summed}  {flops}"


def _read_by(explained: ContractionExplanation, value: int) -> tuple[int, ...]:
    number = value - len(explained.plan.contraction.inputs)
    return explained.plan.steps[number].operands if number >= 0 else ()


def _box(explained: ContractionExplanation, value: int) -> str:
    inner = "".join(_box(explained, operand) for operand in _read_by(explained, value))
    return f'<div class="nest">{escape(_label(explained, value))}{inner}</div>'


def _grow(explained: ContractionExplanation, value: int, tree: Tree) -> None:
    from rich.text import Text

    for operand in _read_by(explained, value):
        _grow(explained, operand, tree.add(Text(_label(explained, operand))))


def _kernel_rows(function: JitFunction[..., Any]) -> tuple[str, list[Row]]:
    """Return the title and the rows of a jitted function."""
    rows = [
        (repr(kernel).partition("\n")[0], f"{1e3 * kernel.times['total']:.1f} ms to compile")
        for kernel in function.kernels
    ]
    return f"jit {function.__name__}", rows or [("no kernel yet", "the first call compiles one")]


def _as_tables(
    rows_of: Callable[[Any], tuple[str, Sequence[Row]]],
) -> tuple[Callable[[Any], str], Callable[[Any], RenderableType]]:
    """Return the views of objects that are tables: as HTML, and for a terminal.

    `rows_of` returns the title and the rows of one.
    """

    def html(shown: Any) -> str:
        return styled(table(*rows_of(shown)))

    def rich(shown: Any) -> RenderableType:
        from rich.table import Table

        title, rows = rows_of(shown)
        drawn = Table(title=title, show_header=False)
        for name, text in rows:
            drawn.add_row(name, text)
        return drawn

    return html, rich


jitted_html, jitted_rich = _as_tables(_kernel_rows)
report_html, report_rich = _as_tables(lambda report: (report.pass_name, list(report.rows())))
target_html, target_rich = _as_tables(
    lambda target: (f"target {target.name}", list(target.description().items()))
)
