"""The path of a contraction as a tree: the result at its root, the operands at its leaves."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from linalg_ext.explain.pieces import styled
from linalg_ext.structured.contraction import ContractionExplanation

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.tree import Tree


def contraction_html(explained: ContractionExplanation) -> str:
    """For notebooks."""
    first, *_, last = (escape(line.strip()) for line in repr(explained).splitlines())
    boxes = _box(explained, _root(explained))
    return styled(f'<p><code>{first}<br>{last}</code></p><div class="nests">{boxes}</div>')


def contraction_rich(explained: ContractionExplanation) -> RenderableType:
    """For a terminal."""
    from rich.console import Group
    from rich.text import Text
    from rich.tree import Tree

    first, *_, last = repr(explained).splitlines()
    tree = Tree(Text(_told(explained, _root(explained))))
    _grow(explained, _root(explained), tree)
    return Group(Text(first), tree, Text(last.strip()))


def _root(explained: ContractionExplanation) -> int:
    """The value that is the result: operands are 0, 1, ..., and after them the steps."""
    return len(explained.plan.contraction.inputs) + len(explained.plan.steps) - 1


def _told(explained: ContractionExplanation, value: int) -> str:
    """An operand, or a step with its op and what it costs, in a line."""
    inputs = explained.plan.contraction.inputs
    if value < len(inputs):
        return f"operand {value} [{' '.join(inputs[value])}]  {explained.types[value]}"
    number = value - len(inputs)
    step = explained.plan.steps[number]
    summed = f" over {' '.join(step.summed)}" if step.summed else ""
    flops = f"{explained.plan.flops(step):,} flops"
    return f"t{number} [{' '.join(step.output)}]  {explained.ops[number]}{summed}  {flops}"


def _read_by(explained: ContractionExplanation, value: int) -> tuple[int, ...]:
    """The values that a step reads; an operand reads none."""
    number = value - len(explained.plan.contraction.inputs)
    return explained.plan.steps[number].operands if number >= 0 else ()


def _box(explained: ContractionExplanation, value: int) -> str:
    inner = "".join(_box(explained, each) for each in _read_by(explained, value))
    return f'<div class="nest">{escape(_told(explained, value))}{inner}</div>'


def _grow(explained: ContractionExplanation, value: int, tree: Tree) -> None:
    from rich.text import Text

    for each in _read_by(explained, value):
        _grow(explained, each, tree.add(Text(_told(explained, each))))
