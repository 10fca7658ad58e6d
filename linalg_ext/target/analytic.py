"""Figures of an unmeasured machine, from its description alone.

They order plans sensibly; they are not the times that a run will take. Cycles are those of current
server cores: the bytes that a core reads from each cache, the instructions of a function of
mathematics (the polynomials of `transforms/codegen/vector_math`), the time of the system for a
page.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from linalg_ext.target.model import Target
from linalg_ext.target.performance import ANALYTIC, FUNCTIONS, Figures, Level

_BYTES_PER_CYCLE = {2: 32.0, 3: 14.0}
_MEMORY_BYTES_PER_CYCLE = 4.0
_MEMORY_CORES = 4
"""Number of cores that memory feeds at full speed."""


class NestRates(NamedTuple):
    """Rates of one core in nests as this library generates them, which no `Figures` have.

    `calibrate` does not measure them, and they are the same on every machine: they order plans.

    Attributes:
        bytes_per_cycle: by the level of a cache, bytes a cycle that nests of contractions read,
            which prefetch their operands.
        memory_bytes_per_cycle: the same of memory.
        scalar_cycles: cycles of an element that is packed or stored by itself, beyond those of its
            bytes.
        transposed_cycles: the same of an element that is transposed in registers.
        panel_price: the time of a byte of a contraction's panel of columns that every thread packs,
            in times of a byte of its rows: panels share the last cache.
        pieces_price: the time of a slice in many pieces of memory, in times of a slice in one.
    """

    bytes_per_cycle: Mapping[int, float] = MappingProxyType({1: 96.0, 2: 32.0, 3: 14.0})
    memory_bytes_per_cycle: float = 8.0
    scalar_cycles: float = 1.5
    transposed_cycles: float = 0.25
    panel_price: float = 1.5
    pieces_price: float = 1.1


NEST = NestRates()

_INSTRUCTIONS: Mapping[str, float] = MappingProxyType(
    {
        "simple": 1.0,
        "divide": 8.0,
        "sqrt": 10.0,
        "exp": 16.0,
        "log": 22.0,
        "tanh": 24.0,
        "erf": 28.0,
        "sin": 24.0,
        "pow": 70.0,
    }
)
"""Instructions of a unit on one vector register."""

_CONTRACTION, _WINDOW = 0.75, 0.45
"""Parts of the peak that nests reach."""

_CROWDING = 1.5

_TURN = 0.3e-9
"""Seconds of an operation that is not vectorized, for an operation of three cycles on end."""


def analytic(target: Target, *, is_here: bool = False) -> Figures:
    """Return figures from a description; `is_here` of this machine, whose clock is known."""
    clock = cycles_per_second() if is_here else USUAL
    peak = {dtype: clock * target.flops_per_cycle(dtype) for dtype in ("f32", "f64")}
    registers = clock * target.fma_units * target.lanes("f32")
    pages = target.huge_page_bytes if target.huge_pages == "always" else 0
    page_bytes = pages or target.page_bytes
    return Figures(
        source=ANALYTIC,
        levels=tuple(_levels(target, clock)),
        multiply_adds=tuple(peak.items()),
        contractions=tuple((dtype, _CONTRACTION * rate) for dtype, rate in peak.items()),
        windows=tuple((dtype, _WINDOW * rate) for dtype, rate in peak.items()),
        functions=tuple((name, registers / count) for name, count in _INSTRUCTIONS.items()),
        crowding=_CROWDING,
        scalar=1 / _TURN,
        nest=60e-9,
        loop=4e-9,
        call=1.5e-6,
        fork=4e-6,
        page=100e-9 + page_bytes / 20e9,
        page_bytes=page_bytes,
        threads=target.logical_cores,
    )


def bytes_per_cycle(target: Target, footprint: int) -> float:
    """Return the bytes per cycle that nests read from the nearest cache of `footprint` bytes."""
    for cache in target.caches:
        if footprint <= cache.size:
            return NEST.bytes_per_cycle.get(cache.level, NEST.memory_bytes_per_cycle)
    return NEST.memory_bytes_per_cycle


def busy_core(target: Target) -> Figures:
    """Return figures of a core beside busy cores, to which the bounds of shared work are tuned."""
    registers = USUAL * target.lanes("f32")
    functions = dict.fromkeys(FUNCTIONS, registers / _BUSY_FUNCTION_CYCLES)
    functions |= dict.fromkeys(("simple", "divide"), registers * target.fma_units * 2)
    rates = {"L2": _BUSY_BYTES_PER_SECOND[2], "memory": _BUSY_BYTES_PER_SECOND[0]}
    sizes = {"L2": target.cache(2).size, "memory": 0}
    return replace(
        analytic(target),
        levels=tuple(Level(name, sizes[name], *[rate] * 3) for name, rate in rates.items()),
        functions=tuple(functions.items()),
        scalar=2e9,
        fork=3e-6,
    )


_BUSY_FUNCTION_CYCLES = 20.0
"""Cycles of exp, tanh and the like for a vector of values."""

_BUSY_BYTES_PER_SECOND = {2: 100e9, 0: 20e9}
"""Bytes that a core moves in a second, from its second cache and from memory."""


def _levels(target: Target, clock: float) -> list[Level]:
    cores = target.physical_cores
    levels: list[Level] = []
    for cache in target.caches:
        register = target.vector_bits // 8
        rate = clock * _BYTES_PER_CYCLE.get(cache.level, 2.0 * register)
        size = max([cache.size, *(level.size for level in levels)])
        levels.append(Level(f"L{cache.level}", size, rate, rate / 2, rate * cores))
    rate = clock * _MEMORY_BYTES_PER_CYCLE
    together = rate * min(cores, _MEMORY_CORES)
    return [*levels, Level("memory", 0, rate, rate / 2, together)]


USUAL = 3.0e9
"""Cycles a second where the system does not report them."""

_HIGHEST = Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
_PROCESSORS = Path("/proc/cpuinfo")
_MEGAHERTZ = re.compile(r"^cpu MHz\s*:\s*([\d.]+)", re.MULTILINE)


@functools.cache
def cycles_per_second() -> float:
    """Return the highest frequency that the system reports, in a virtual machine the nominal one.

    The value serves to compare plans, not to predict times: clocks change with the load.
    """
    try:
        return 1e3 * float(_HIGHEST.read_text())
    except (OSError, ValueError):
        pass
    try:
        return 1e6 * float(max(_MEGAHERTZ.findall(_PROCESSORS.read_text()), key=float))
    except (OSError, ValueError):
        return USUAL
