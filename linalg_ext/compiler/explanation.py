"""What became of the ops of a kernel: which plan each got, and why, as a table.

>>> print(lx.jit(lambda a, b: a @ b).explain(a, b))
kernel <lambda>(tensor<512x512xf32>, tensor<512x512xf32>) -> (tensor<512x512xf32>)
target   host: 32 vectors of 512 bits, ...
contraction @linalg_ext_contraction_0
  plan      packed contraction f32
  ...
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Decision, Report
from linalg_ext.target import Target
from linalg_ext.target.model import bytes_text
from linalg_ext.transforms.codegen.contractions.pack_contractions import PLAN

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = tuple[str, str]


@dataclass(frozen=True)
class WrittenPlan:
    """The plan of a function that says of itself what it is."""

    title: str
    text: str

    def rows(self) -> Sequence[Row]:
        """Its lines."""
        rows = []
        for line in self.text.splitlines():
            name, _, text = line.strip().partition("  ")
            rows.append((name, text.strip()))
        return rows


def written_plans(module: ir.Module) -> list[WrittenPlan]:
    """The plans that functions of a module carry."""
    found = []
    for op in module.body.operations:
        attributes = op.operation.attributes
        if PLAN in attributes and "sym_name" in attributes:
            name = ir.StringAttr(attributes["sym_name"]).value
            found.append(WrittenPlan(f"nest @{name}", ir.StringAttr(attributes[PLAN]).value))
    return found


@dataclass(frozen=True, repr=False)
class Explanation:
    """The decisions behind a kernel: a table in a terminal or a notebook, text in a file.

    Attributes:
        signature: of the kernel.
        target: the machine that its code is for.
        decisions: each with a `title` and `rows()`.
        left: for each pass, the ops that it left as they were, and why.
        threads: how its work is shared.
        tuning: what measuring found, where that was asked for.
    """

    signature: str
    target: Target
    decisions: tuple[Decision, ...]
    left: tuple[Row, ...]
    threads: str
    tuning: tuple[Row, ...] = ()

    def sections(self) -> list[tuple[str, Sequence[Row]]]:
        """The parts of the table: a title, and names with what is to be said of each."""
        target = self.target
        caches = ", ".join(f"L{c.level} {bytes_text(c.size)}" for c in target.caches)
        head = [
            (
                "target",
                f"{target.name}: {target.vector_registers} vectors of {target.vector_bits} bits, "
                f"{target.fma_units} multiply-adds a cycle, {caches}",
            ),
            ("threads", self.threads),
        ]
        found: list[tuple[str, Sequence[Row]]] = [(f"kernel {self.signature}", head)]
        found += [(decision.title, decision.rows()) for decision in self.decisions]
        if self.left:
            found.append(("left to loops over scalars, or to other passes", self.left))
        if self.tuning:
            found.append(("tuning", self.tuning))
        return found

    def __repr__(self) -> str:
        lines = []
        for title, rows in self.sections():
            lines.append(title)
            width = max((len(name) for name, _ in rows), default=0)
            lines += [f"  {name:{width}}  {text}".rstrip() for name, text in rows]
        return "\n".join(lines)

    __str__ = __repr__

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        parts: list[RenderableType] = []
        for title, rows in self.sections():
            table = Table.grid(padding=(0, 2))
            table.add_column(no_wrap=True, style="cyan")
            table.add_column(overflow="fold")
            for name, text in rows:
                table.add_row(f"  {name}", Text(text))
            parts += [Text(title, style="bold"), table]
        return Group(*parts)

    def _repr_html_(self) -> str:
        from rich.console import Console

        console = Console(record=True, file=io.StringIO(), width=120)
        console.print(self)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def explained(
    signature: str,
    target: Target,
    reports: Sequence[Report],
    written: Sequence[Decision],
    *,
    is_shared: bool,
) -> Explanation:
    """What the passes of a lowering say of their work.

    Args:
        signature, target: of the kernel.
        reports: of the passes.
        written: the plans that functions carry; of those in `reports` more is known.
        is_shared: whether several threads may share the work.
    """
    decisions = [decision for report in reports for decision in report.decisions]
    told = {decision.title.rpartition("@")[2] for decision in decisions}
    decisions += [one for one in written if one.title.rpartition("@")[2] not in told]
    left = dict.fromkeys(
        (report.pass_name.removeprefix("linalg-ext-"), f"{op}: {reason}")
        for report in reports
        for op, reasons in report.left.items()
        for reason in sorted(reasons)
    )
    threads = (
        "cut into slices for several threads"
        if is_shared
        else "one: the work is small, or its parts need each other"
    )
    return Explanation(signature, target, tuple(decisions), tuple(left), threads)
