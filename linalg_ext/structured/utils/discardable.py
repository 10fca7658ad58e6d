"""The attributes that an op carries without being told anything by them.

A transformation that builds an op in the place of another hands them on: `linalg_ext.compute_type`
is one of them, and so is whatever another tool has left there to find again.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.structured.extension.attributes import OVERWRITE, sugar_attributes

_INHERENT = frozenset(
    (
        *("operandSegmentSizes", "indexing_maps", "iterator_types", "doc", "library_call"),
        *("cast", "fun", "kind", "strides", "dilations", "permutation", "dimensions"),
        OVERWRITE,
    )
)
"""Inherent attributes of the structured ops of linalg; an op may lack any of them."""

_MEMOIZED = "linalg.memoized_indexing_maps"
"""Left on an op by upstream when its maps are asked for: a copy of what the op itself says."""


def discardable_attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The attributes of a structured op that its meaning does not rest on, by name."""
    inherent = {*_INHERENT, _MEMOIZED, *sugar_attributes(op)}
    return {name: value for name, value in op.attributes.items() if name not in inherent}


def carry_over(source: ir.Operation, target: ir.Operation) -> None:
    """Give `target`, which takes the place of `source`, its discardable attributes."""
    for name, attribute in discardable_attributes(source).items():
        target.attributes[name] = attribute


def forget_memoized_maps(op: ir.Operation) -> None:
    """Take away what upstream leaves on an op whose maps were asked for."""
    if _MEMOIZED in op.attributes:
        del op.attributes[_MEMOIZED]
