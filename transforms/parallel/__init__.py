"""Partition of an entry's work into slices that threads share, and outlining of loops."""

from __future__ import annotations

PASSES = (
    # A deallocation would keep the loops before it and behind it apart.
    "linalg-ext-shorten-lifetimes",
    # The parts of a loop are outlined with its polls.
    "linalg-ext-poll-interrupts",
    "linalg-ext-outline-shared-loops",
    "linalg-ext-outline-loops",
)
"""Loops over slices become calls that threads share; equal loops become calls of one function.

Loops that may run for long poll interrupts.
"""
