"""The rules of the ops of `gml_st`, which their verifiers hold: `check_op`, `check_terminator`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from linalg_ext.bindings import ir
from linalg_ext.gml_st.ir import loop_checks, set_checks, yield_checks

Check = Callable[[ir.Operation], None]

_CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "gml_st.space": set_checks.check_space,
        "gml_st.full": set_checks.check_full,
        "gml_st.tile": set_checks.check_tile,
        "gml_st.filter": set_checks.check_filter,
        "gml_st.point": set_checks.check_point,
        "gml_st.drop_dims": set_checks.check_drop_dims,
        "gml_st.transpose_dims": set_checks.check_transpose_dims,
        "gml_st.offset": set_checks.check_query,
        "gml_st.size": set_checks.check_query,
        "gml_st.stride": set_checks.check_query,
        "gml_st.intersection": set_checks.check_box,
        "gml_st.convex_union": set_checks.check_box,
        "gml_st.difference": set_checks.check_difference,
        "gml_st.contains": set_checks.check_contains,
        "gml_st.is_empty": set_checks.check_is_empty,
        "gml_st.materialize": set_checks.check_materialize,
        "gml_st.loop": loop_checks.check_loop,
        "gml_st.for": loop_checks.check_for,
        "gml_st.parallel": loop_checks.check_parallel,
        "gml_st.yield": yield_checks.check_place,
        "gml_st.set_yield": yield_checks.check_place,
    }
)


def check_op(op: ir.Operation) -> None:
    """Check what an op says of itself: operands, attributes, types, block arguments.

    Raises:
        ArgumentError: of the kind that tells what is wrong; names operands, sizes and types.
    """
    _CHECKS[op.name](op)


def check_terminator(op: ir.Operation) -> None:
    """Check what ends a body against the loop that it ends, once that is known to be sound.

    Raises:
        ArgumentError: as `check_op`.
    """
    yield_checks.check_terminator(op)
