"""Groups over the ops of a module: moved about on a light graph, and realized in IR once.

from linalg_ext.transforms.grouping import Insert, Merge, Plan, State, read_graph, realize

graph = read_graph(module)              # print(graph): the ops, and their numbers
state = State(graph)
undo = state.apply(Insert((3, 4, 5), {"label": "layer", "tiling": (8, 64)}))
state.why_not(Merge("layer", 10))       # None where it is legal, else the reason
realize(module, state)                  # linalg_ext.group ops; all pipelines keep them apart

found = search(module)                  # print(found): the cheapest grouping that was found
found.realize(module)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linalg_ext.utils.hooks import lazy_names

if TYPE_CHECKING:
    from ._annotations import AttributeText
    from ._exploration import Exploration, Reached, Step, Trace
    from ._graph import ARGUMENTS, Graph, Node, Result, Value
    from ._moves import (
        MOVES,
        Annotate,
        Deduplicate,
        Dissolve,
        Duplicate,
        Insert,
        Merge,
        MoveIn,
        MoveOut,
        Reorder,
        Split,
    )
    from ._plan import Plan, apply_move, realize
    from ._reading import read_graph
    from ._search import STARTS, STRATEGIES, Found, Measured, Search, Strategy, search
    from ._state import ROOT, GroupData, Move, State
    from .cost import Cost, CostModel, TargetModel
    from .state_picture import picture

_HOMES = {
    "_annotations": "AttributeText",
    "_exploration": "Exploration Reached Step Trace",
    "_graph": "ARGUMENTS Graph Node Result Value",
    "_moves": "MOVES Annotate Deduplicate Dissolve Duplicate Insert Merge MoveIn MoveOut Reorder "
    "Split",
    "_plan": "Plan apply_move realize",
    "_reading": "read_graph",
    "_search": "STARTS STRATEGIES Found Measured Search Strategy search",
    "_state": "ROOT GroupData Move State",
    "cost": "Cost CostModel TargetModel",
    "state_picture": "picture",
}
"""The files of this room, and the public names in each."""

__all__ = [
    "ARGUMENTS",
    "MOVES",
    "ROOT",
    "STARTS",
    "STRATEGIES",
    "Annotate",
    "AttributeText",
    "Cost",
    "CostModel",
    "Deduplicate",
    "Dissolve",
    "Duplicate",
    "Exploration",
    "Found",
    "Graph",
    "GroupData",
    "Insert",
    "Measured",
    "Merge",
    "Move",
    "MoveIn",
    "MoveOut",
    "Node",
    "Plan",
    "Reached",
    "Reorder",
    "Result",
    "Search",
    "Split",
    "State",
    "Step",
    "Strategy",
    "TargetModel",
    "Trace",
    "Value",
    "apply_move",
    "picture",
    "read_graph",
    "realize",
    "search",
]

# The catalogue of transformations imports this package whenever it looks for one.
if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return list(__all__)
