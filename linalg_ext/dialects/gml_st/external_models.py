"""The ops of `gml_st` in the tables of `linalg_ext.structured`: destinations, sizes, loop ranges.

Importing this file adds them. The package imports it, and every context loads the dialect.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.ir.op_views import LOOPS, LoopView, TileView
from linalg_ext.structured import destinations as initial_values
from linalg_ext.structured.destinations import DestinationRule, add_destination_rule
from linalg_ext.structured.indices import add_loop_ranges, parallel_ranges
from linalg_ext.structured.operands import producer
from linalg_ext.structured.sizes import add_result_sizes, as_number, size_of
from linalg_ext.symbolic.integers import Number


def _size_of_materialized(op: ir.Operation, result: ir.Value, axis: int) -> Number | None:
    tile = producer(op.operands[1])
    if tile is None or tile.name != "gml_st.tile":
        return None
    return as_number(TileView.of(tile).sizes[axis])


_LOOP = DestinationRule(
    lambda op: range(len(op.operands) - len(LoopView.of(op).outs), len(op.operands)),
    initial_values.always,
    carried=lambda op, position: ir.BlockArgument(
        LoopView.of(op).region_outs[position - len(op.operands)]
    ),
)

add_destination_rule("gml_st.loop", _LOOP)
add_destination_rule("gml_st.for", _LOOP)
add_result_sizes("gml_st.materialize", _size_of_materialized)
for _name in LOOPS:
    add_result_sizes(
        _name,
        lambda op, result, axis: size_of(
            LoopView.of(op).destinations[ir.OpResult(result).result_number], axis
        ),
    )
    add_loop_ranges(_name, parallel_ranges)
