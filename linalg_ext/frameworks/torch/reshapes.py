"""Views with several open sizes, written as MLIR's own reshapes before torch-mlir sees them.

torch-mlir takes all but one of the open sizes that it cannot tell apart for 1. PyTorch has told
them apart while it traced: which of them belong together follows from their symbols.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.frameworks.torch import graphs
from linalg_ext.frameworks.torch_dialect.reshaping import VIEWS, Group, write_reshape
from linalg_ext.transforms.ir_utils.walking import operations

_NAME = "linalg_ext.reshape"

Size = Any
"""An int, or a SymInt of PyTorch's."""


def write_reshapes(module: ir.Module, graph: Any) -> None:
    """Make each view in torch's dialect that has open sizes a call of a function in tensor.

    Args:
        module: the graph's, as it was imported: what its ops are called is in their locations.
        graph: that PyTorch has traced.
    """
    nodes = {node.name: node for node in graphs.calls(graph)}
    for number, op in enumerate(operations(module.operation, VIEWS)):
        name = graphs.name_in(str(op.location), nodes)
        if name is None:
            continue
        before, after = (each.meta["val"].shape for each in (nodes[name].args[0], nodes[name]))
        groups = grouped(before, after) if _is_open(after) else None
        if groups is not None:
            with op.location:
                write_reshape(module, op, f"{_NAME}.{number}", groups)


def _is_open(shape: Sequence[Size]) -> bool:
    return not all(isinstance(size, int) for size in shape)


def grouped(before: Sequence[Size], after: Sequence[Size]) -> list[Group] | None:
    """The smallest groups of axes, outermost first; None where a symbol is not known of.

    Args:
        before: the sizes of what is viewed.
        after: those of the view.
    """
    groups: list[Group] = []
    left, right = list(range(len(before))), list(range(len(after)))
    while left and right:
        found = _first(left, right, before, after)
        if found is None:
            return None
        groups.append(found)
        left, right = left[len(found.before) :], right[len(found.after) :]
    if not groups or not all(_is_one(before[axis]) for axis in left):
        return None
    if not all(_is_one(after[axis]) for axis in right):
        return None
    last = groups.pop()
    return [*groups, Group((*last.before, *left), (*last.after, *right))]


def _first(
    left: list[int], right: list[int], before: Sequence[Size], after: Sequence[Size]
) -> Group | None:
    """The smallest group that the first of some axes are in."""
    counts = [(i, j) for i in range(1, len(left) + 1) for j in range(1, len(right) + 1)]
    for i, j in sorted(counts, key=sum):
        group = Group(tuple(left[:i]), tuple(right[:j]))
        if _is_same(
            _product(before[axis] for axis in group.before),
            _product(after[axis] for axis in group.after),
        ):
            return group
    return None


def _product(sizes: Any) -> Any:
    """The product of sizes, as a number or an expression of SymPy's."""
    return math.prod(size if isinstance(size, int) else size.node.expr for size in sizes)


def _is_same(one: Any, other: Any) -> bool:
    difference = one - other
    return bool((difference if isinstance(difference, int) else difference.expand()) == 0)


def _is_one(size: Size) -> bool:
    return isinstance(size, int) and size == 1
