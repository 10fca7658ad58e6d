"""Measurement of the time of a kernel's call, on given arrays or on arrays made for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from linalg_ext.compiler.synthetic_arguments import arguments_of
from linalg_ext.errors import ShapeError
from linalg_ext.executable.explanation import Row
from linalg_ext.executable.kernel import Kernel, times_of_calls
from linalg_ext.executable.signature import ArrayType
from linalg_ext.executable.worker_process import IsolatedKernel
from linalg_ext.explain.nests import kernel_of
from linalg_ext.target.text import seconds_text

_SECONDS = 0.5


@dataclass(frozen=True)
class Measured:
    """Times of the calls of a kernel.

    Attributes:
        best, median: seconds of one call.
        calls: the number of calls.
        threads: the number of threads that worked on each.
    """

    best: float
    median: float
    calls: int
    threads: int

    def rows(self) -> list[Row]:
        """Return rows of a table."""
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        return [
            ("measured", f"{seconds_text(self.best)} at best, on {threads}"),
            ("median", f"{seconds_text(self.median)} of {self.calls} calls"),
        ]


def measure(
    kernel: Any,
    arguments: Sequence[Any] | None = None,
    *,
    threads: int = 1,
    seconds: float = _SECONDS,
) -> Measured:
    """Measure the time of a kernel's call, in repeated calls.

    Args:
        kernel: a `Kernel`, or an object with one; it may write to its arguments. A kernel in a
            worker process is measured there.
        arguments: of the calls; by default numbers between 0 and 1, and integers that are 0, or
            0 and 1 for types of 16 bits or less.
        threads: the number of threads of each call.
        seconds: the duration of all calls; there are three at least.

    Raises:
        ArgumentTypeError: the object has no kernel.
        ShapeError: there are no arguments, and the kernel leaves sizes open.
        ArgumentError, ExecutionError: as of the call.
    """
    own = kernel if isinstance(kernel, IsolatedKernel) else kernel_of(kernel)
    values = arguments_for(own) if arguments is None else list(arguments)
    if isinstance(own, IsolatedKernel):
        times = own.times_of_calls(*values, threads=threads, seconds=seconds)
    else:
        times = times_of_calls(lambda: own(*values, threads=threads), seconds)
    return Measured(min(times), median(times), len(times), threads)


def arguments_for(kernel: Kernel | IsolatedKernel) -> list[Any]:
    """Return arrays for a call of a kernel.

    Raises:
        ShapeError: the kernel leaves sizes open.
    """
    for parameter in kernel.signature.parameters:
        if isinstance(parameter.type, ArrayType) and not parameter.type.is_static:
            hint = "give the arrays to measure with"
            raise ShapeError(f"{parameter} leaves sizes open", hint=hint)
    return arguments_of(kernel.signature.parameters)
