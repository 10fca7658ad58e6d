"""The choice of ops: by their names, by their labels, or by the name of a loop's argument."""

from __future__ import annotations

import re
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.gml_st.ir.op_views import LoopView

LABEL = "linalg_ext.label"
"""A text on an op by which the options of passes name it."""


@dataclass(frozen=True)
class Choice:
    """The choice of the producers to fuse.

    Attributes:
        producers: names or labels of ops.
        arguments: inputs of `gml_st.loop`, by the name of the argument in its body where its
            location has one, or by position: `in0`, `in1`, ...

    Without either, the choice is all producers that are worth it, and their producers in turn.
    """

    producers: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    @property
    def is_greedy(self) -> bool:
        """Return whether it is left to the pass what is worth it."""
        return not self.producers and not self.arguments

    def wants(self, producer: ir.Operation) -> bool:
        """Return whether a producer is meant by itself."""
        return self.is_greedy or is_meant(producer, self.producers)

    def named_inputs(self, loop: LoopView) -> list[ir.Value]:
        """The values of a loop's inputs whose arguments are named."""
        return [
            value
            for at, (value, argument) in enumerate(zip(loop.ins, loop.region_ins, strict=True))
            if {f"in{at}", _name(argument)} & set(self.arguments)
        ]


def is_meant(op: ir.Operation, names: tuple[str, ...]) -> bool:
    """Return whether an op is one of those that are named, by its name or by its label."""
    return op.name in names or label_of(op) in names


def label_of(op: ir.Operation) -> str:
    """The label of an op; empty where it has none."""
    if LABEL not in op.attributes:
        return ""
    attribute = op.attributes[LABEL]
    return attribute.value if isinstance(attribute, ir.StringAttr) else ""


def name_of(op: ir.Operation) -> str:
    """Return the label of an op, or else its name."""
    return label_of(op) or op.name


def _name(argument: ir.Value) -> str:
    """The name in the location of a block's argument: `loc("in_")`."""
    found = re.match(r'loc\("([^"]+)"(?:\(|\)|$)', str(argument.location))
    return found[1].removeprefix("%") if found else ""
