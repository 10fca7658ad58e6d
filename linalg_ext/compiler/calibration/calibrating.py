"""All figures of this machine, measured one after another."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial

import numpy as np

from linalg_ext.compiler import compile
from linalg_ext.compiler.calibration import loop_rates, memory, products
from linalg_ext.compiler.calibration.peaks import (
    accumulators,
    aligned,
    arithmetic,
    multiply_add_kernel,
)
from linalg_ext.compiler.calibration.timing import seconds_of
from linalg_ext.runtime import threads
from linalg_ext.target import Target, using
from linalg_ext.target.analytic import analytic
from linalg_ext.target.performance import MEASURED, TYPES, Figures

SECONDS, LOAD = "calibration.seconds", "calibration.load"
"""Notes that are left: how long it took, and how many processes wanted a core meanwhile."""

_STEPS = 200_000
"""Multiply-adds of each accumulator in a call."""

_FORKED = 96
"""Size of the matrices whose product threads share: small, and worth waking them."""


def calibrate(machine: Target) -> Target:
    """A description of this machine with figures, measured on one thread, where not said otherwise.

    What several threads do is not measured where there is one core: it is as on one.
    """
    start = time.perf_counter()
    with using(machine), threads.using(1):
        functions = loop_rates.function_rates()
        call = loop_rates.call_seconds()
        found = Figures(
            source=MEASURED,
            levels=tuple(memory.levels(machine)),
            multiply_adds=tuple((dtype, _peak(dtype)) for dtype in TYPES),
            contractions=tuple((dtype, products.contraction_rate(dtype)) for dtype in TYPES),
            windows=tuple((dtype, products.window_rate(dtype)) for dtype in TYPES),
            functions=tuple(functions),
            crowding=loop_rates.crowding(dict(functions)),
            scalar=loop_rates.scalar_rate(),
            nest=loop_rates.nest_seconds(),
            loop=loop_rates.loop_seconds(),
            call=call,
            fork=_fork_seconds(machine),
            page=memory.page_seconds(machine),
            page_bytes=machine.page_bytes,
            threads=machine.logical_cores,
        )
    described = replace(machine, figures=found)
    described = described.with_note(SECONDS, round(time.perf_counter() - start, 2))
    return described.with_note(LOAD, round(os.getloadavg()[0], 2))


def _peak(dtype: str) -> float:
    kind = arithmetic()[dtype]
    count = accumulators()
    factors = aligned(2 * kind.lanes, dtype)
    work = partial(multiply_add_kernel(kind), factors, aligned(count * kind.lanes, dtype), _STEPS)
    return kind.flops * count * _STEPS / seconds_of(work)


def _fork_seconds(machine: Target) -> float:
    """Return the seconds of a product on all threads, less its share of the one-thread time."""
    count = machine.logical_cores
    if count == 1:
        return analytic(machine, is_here=True).fork
    array = np.ones((_FORKED, _FORKED), np.float32)
    kernel = compile(products.product(_FORKED, "f32"), trusted=True, checked=False)
    out = kernel(array, array)
    work = partial(kernel, array, array, out=out)
    one = seconds_of(work, clock=time.perf_counter)
    with threads.using(count):
        several = seconds_of(work, clock=time.perf_counter)
    return max(1e-6, several - one / count)
