"""Ops of our own dialect that say where elements go: concatenate, gather, scan, sort, ...

Each file tells one op: its meaning, its rules, and a frozen view of its operands and attributes.
`view(op)` reads any of them. What an op breaks of its rules is an ArgumentError.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from linalg_ext.bindings import ir
from linalg_ext.structured.destination_ops.concatenate import Concatenate
from linalg_ext.structured.destination_ops.dynamic_broadcast import DynamicBroadcast
from linalg_ext.structured.destination_ops.gather import Gather
from linalg_ext.structured.destination_ops.reverse import Reverse
from linalg_ext.structured.destination_ops.scan import Scan
from linalg_ext.structured.destination_ops.scatter import Scatter
from linalg_ext.structured.destination_ops.sort import Sort

__all__ = [
    "VIEWS",
    "Concatenate",
    "DynamicBroadcast",
    "Gather",
    "Reverse",
    "Scan",
    "Scatter",
    "Sort",
    "check_destination_style_op",
]


class _View(Protocol):
    @classmethod
    def of(cls, op: ir.Operation) -> object: ...


VIEWS: Mapping[str, type[_View]] = MappingProxyType(
    {
        "linalg_ext.concatenate": Concatenate,
        "linalg_ext.dynamic_broadcast_in_dim": DynamicBroadcast,
        "linalg_ext.gather": Gather,
        "linalg_ext.reverse": Reverse,
        "linalg_ext.scan": Scan,
        "linalg_ext.scatter": Scatter,
        "linalg_ext.sort": Sort,
    }
)
"""The view class of each op, by the name of the op."""


def check_destination_style_op(op: ir.Operation) -> None:
    """Check an op against its rules.

    Raises:
        ArgumentError: of the kind that tells what is wrong; names operands, dimensions and types.
    """
    VIEWS[op.name].of(op)
