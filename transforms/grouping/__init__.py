"""Groups over the ops of a module: moved about on a light graph, and realized in IR once.

from linalg_ext.transforms.grouping import Insert, Merge, Plan, State, read_graph, realize

graph = read_graph(module)              # print(graph): what there is, and its numbers
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
    from ._exploration import Exploration, Reached
    from ._found import Found, Measured
    from ._graph import ARGUMENTS, Graph, Node, Result, Value
    from ._group_data import GroupData
    from ._model import TargetModel
    from ._moves_of_groups import Annotate, Dissolve, Insert, Merge, Split
    from ._moves_of_ops import Deduplicate, Duplicate, MoveIn, MoveOut, Reorder
    from ._plan import MOVES, Plan, apply_move
    from ._reading import read_graph
    from ._realizing import realize
    from ._search import search
    from ._settings import Search
    from ._starts import STARTS
    from ._state import ROOT, Move, State
    from ._strategies import STRATEGIES, Strategy
    from ._trace import Step, Trace
    from .cost import Cost, CostModel
    from .state_picture import picture

_HOMES = {
    "_annotations": "AttributeText",
    "cost": "Cost CostModel",
    "_exploration": "Exploration Reached",
    "_found": "Found Measured",
    "_graph": "ARGUMENTS Graph Node Result Value",
    "_group_data": "GroupData",
    "_model": "TargetModel",
    "_moves_of_groups": "Annotate Dissolve Insert Merge Split",
    "_moves_of_ops": "Deduplicate Duplicate MoveIn MoveOut Reorder",
    "state_picture": "picture",
    "_plan": "MOVES Plan apply_move",
    "_reading": "read_graph",
    "_realizing": "realize",
    "_search": "search",
    "_settings": "Search",
    "_starts": "STARTS",
    "_state": "ROOT Move State",
    "_strategies": "STRATEGIES Strategy",
    "_trace": "Step Trace",
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
