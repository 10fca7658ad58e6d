"""Ten steps on a module of a thousand structured ops, for how long a schedule takes."""

from __future__ import annotations

from functools import cache

import linalg_ext as lx
from benchmarks.rewrites import chain

SECONDS = 2.0
"""Seconds that ten steps may take on a thousand ops."""


@cache
def _module() -> lx.Module:
    return chain("f32")


def scheduling() -> lx.Schedule:
    """Ten steps on one op of a thousand, each with the clone and the verification of a user's."""
    return ten_steps(lx.Schedule(_module().clone()))


def ten_steps(schedule: lx.Schedule) -> lx.Schedule:
    """Choose an op, tile it in two levels, unroll, pad and vectorize it, and clean up."""
    schedule.match("matmul", position=7).tile([8, 8, 8]).tile([4, 4]).hoist().unroll(2)
    schedule.pad([4, 4, 4]).promote([0]).interchange([0, 1, 2]).vectorize()
    return schedule.simplify()
