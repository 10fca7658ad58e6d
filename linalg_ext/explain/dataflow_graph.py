"""Dataflow graph of the ops of a function, with groups as boxes.

>>> lx.explain.dataflow(module)
Graph of @layer: 2 ops, 0 groups
     0  tensor.empty
     1  linalg.matmul  arg0, arg1, 0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.explain.pieces import styled
from linalg_ext.module import ModuleLike
from linalg_ext.transforms.grouping import CostModel, Graph, State, read_graph
from linalg_ext.transforms.grouping.state_picture import picture_of
from linalg_ext.utils.svg import drawing


@dataclass(frozen=True, repr=False)
class Dataflow:
    """The ops of a function and their operands.

    Attributes:
        state: the ops and their groups, as `lx.transforms.grouping` has them.
        lines: for each op the line of the module that it begins on, from 0, if known.
        model: the cost model of ops and groups; None to show no costs.
    """

    state: State
    lines: tuple[int, ...] = ()
    model: CostModel | None = None

    @property
    def graph(self) -> Graph:
        """Return the ops, as `lx.transforms.grouping` reads them."""
        return self.state.graph

    def __repr__(self) -> str:
        return repr(self.graph)

    def to_svg(self) -> str:
        """Return the graph as a drawing: data flows downwards.

        Constants, sizes and empty tensors are left out. The ops of a group are in its box.
        """
        return drawing(picture_of(self.state, self.model, lines=self.lines))

    def _repr_html_(self) -> str:
        return styled(f'<div class="flow">{self.to_svg()}</div>')


def dataflow(
    module: ModuleLike, function: str | None = None, *, lines: Sequence[int] = ()
) -> Dataflow:
    """Return the graph of a function.

    Args:
        module: the module, which is not changed.
        function: its name; optional if the module has one function with a body.
        lines: for each op the line that it begins on.

    Raises:
        ArgumentError: there is no such function, or it has several blocks.
    """
    return of_state(State(read_graph(module, function)), lines)


def of_state(state: State, lines: Sequence[int], model: CostModel | None = None) -> Dataflow:
    """Return the graph of a state; `lines` of another number than its ops are left out."""
    return Dataflow(state, tuple(lines) if len(lines) == len(state.graph.nodes) else (), model)
