"""Clock frequency of this machine's cores, for turning cycles into seconds."""

from __future__ import annotations

import functools
import re
from pathlib import Path

USUAL = 3.0e9
"""Cycles a second where the system does not tell."""

_HIGHEST = Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
_PROCESSORS = Path("/proc/cpuinfo")
_MEGAHERTZ = re.compile(r"^cpu MHz\s*:\s*([\d.]+)", re.MULTILINE)


@functools.cache
def cycles_per_second() -> float:
    """The highest frequency that the system tells of; in a virtual machine often the nominal one.

    Good for comparing plans, not for predicting times: clocks change with the load.
    """
    try:
        return 1e3 * float(_HIGHEST.read_text())
    except (OSError, ValueError):
        pass
    try:
        return 1e6 * float(max(_MEGAHERTZ.findall(_PROCESSORS.read_text()), key=float))
    except (OSError, ValueError):
        return USUAL
