"""Kernels in the arguments of this room's functions."""

from __future__ import annotations

from typing import Any

from linalg_ext.errors import ArgumentTypeError
from linalg_ext.executable.kernel import Kernel


def kernel_of(given: Any) -> Kernel:
    """A kernel, or the one that something holds: what `lx.jit(f).lower(...).compile()` gives.

    Raises:
        ArgumentTypeError: there is none, or it is in a worker process.
    """
    own = given if isinstance(given, Kernel) else getattr(given, "kernel", None)
    if isinstance(own, Kernel):
        return own
    raise ArgumentTypeError(
        f"{type(given).__name__} is no kernel of this process",
        expected="what lx.compile(module) or lx.jit(f).lower(...).compile() gives; of a model of "
        "PyTorch one of its .kernels",
    )
