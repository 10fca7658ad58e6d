"""Reports of the ops of a model that were compiled, and of those left to PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.errors import SourceLocation


@dataclass(frozen=True)
class LeftToPyTorch:
    """An op that was left to PyTorch.

    Attributes:
        op: as PyTorch names it: `aten.median.dim`.
        where: the line of the model, where it is known.
        reason: why it was not compiled.
        count: how many nodes of the graph are it, at that line.
    """

    op: str
    where: SourceLocation | None
    reason: str
    count: int = 1

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        place = f"\n    {self.where}" if self.where is not None else ""
        return f"{self.op}{times}: {self.reason}{place}"


@dataclass(frozen=True)
class Report:
    """The report on one graph, or on several together.

    Attributes:
        nodes: the number of calls of functions in them.
        compiled: the number of those that run in kernels.
        kernels: the number of kernels.
        left: the ops left to PyTorch.
        graphs: the number of graphs.
        breaks: the reasons why torch.compile began a new graph, each with its count.
    """

    nodes: int
    compiled: int
    kernels: int
    left: tuple[LeftToPyTorch, ...] = ()
    graphs: int = 1
    breaks: tuple[tuple[str, int], ...] = ()

    @property
    def share(self) -> float:
        """The part of the calls that runs in kernels, 0 to 1."""
        return self.compiled / self.nodes if self.nodes else 1.0

    def __str__(self) -> str:
        head = (
            f"{self.compiled} of {self.nodes} ops compiled, "
            f"in {self.kernels} kernel{'s' * (self.kernels != 1)}"
        )
        if self.graphs != 1:
            head += f" of {self.graphs} graphs"
        lines = [head]
        if self.left:
            lines += ["left to PyTorch:", *(f"  {each}" for each in self.left)]
        if self.breaks:
            lines += [
                "graph breaks:",
                *(f"  {' '.join(why.split())[:160]} ({n})" for why, n in self.breaks),
            ]
        return "\n".join(lines)

    __repr__ = __str__


def together(reports: Sequence[Report], breaks: Sequence[tuple[str, int]] = ()) -> Report:
    """Several reports as one."""
    return Report(
        nodes=sum(report.nodes for report in reports),
        compiled=sum(report.compiled for report in reports),
        kernels=sum(report.kernels for report in reports),
        left=tuple(left for report in reports for left in report.left),
        graphs=len(reports),
        breaks=tuple(breaks),
    )
