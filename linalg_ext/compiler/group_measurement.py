"""Groupings of the ops of a function, measured: the seconds of a call of each module."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from linalg_ext import cache
from linalg_ext.compiler.compilation import compile
from linalg_ext.compiler.synthetic_arguments import arguments_of, obstacle
from linalg_ext.compiler.tuning.timing import race
from linalg_ext.errors import ArgumentError
from linalg_ext.executable.kernel import Kernel
from linalg_ext.module import Module
from linalg_ext.runtime import threads

_SECONDS = 1.0
"""The longest time that all groupings together are measured, in seconds."""


def seconds_of(modules: Sequence[Module], function: str) -> Sequence[float]:
    """Return the seconds of a call of a function of each module, on arguments that are made up.

    Raises:
        ArgumentError: they cannot be made up.
    """
    with cache.off():
        kernels = [compile(module, function, trusted=True, checked=False) for module in modules]
    if kernels and (why := obstacle(kernels[0])) is not None:
        raise ArgumentError(f"groupings cannot be measured: {why}", hint="leave out measure=")
    # The clock of a thread leaves out other processes; several threads have no such clock.
    clock = time.thread_time if threads.current() == 1 else time.perf_counter
    return race([_call(kernel) for kernel in kernels], _SECONDS, clock=clock)


def _call(kernel: Kernel) -> Callable[[], object]:
    """Return a call of a kernel with arguments and memory for results of its own, made once."""
    arguments = arguments_of(kernel.signature.parameters)
    out = kernel(*arguments)
    if not kernel.signature.results:
        return partial(kernel, *arguments)
    return partial(kernel, *arguments, out=out)
