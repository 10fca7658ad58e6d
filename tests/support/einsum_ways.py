"""The two ways in which einsum computes: NumPy's functions for what is small, and kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from linalg_ext.compiler.einsum import kernels

WAYS = ("as it comes", "kernels always")


@contextmanager
def computed(way: str) -> Iterator[None]:
    """Have every product summed by a kernel, or leave the choice to the library."""
    before = kernels.COMPILING_PAYS
    if way == "kernels always":
        kernels.COMPILING_PAYS = 0
    try:
        yield
    finally:
        kernels.COMPILING_PAYS = before
