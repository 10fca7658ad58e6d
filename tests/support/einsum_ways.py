"""The ways in which einsum computes without NumPy: nests for all shapes, kernels for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import linalg_ext as lx
from linalg_ext.compiler.einsum import api, kernels

WAYS = ("nests", "kernel")


@contextmanager
def computed(way: str) -> Iterator[None]:
    """Have sums computed by nests for all shapes, by kernels for one, or leave it to the library.

    Args:
        way: `"nests"`, `"kernel"` or `"as it comes"`. The nests leave to NumPy products of which
            nothing is summed, and inner products of real numbers; kernels leave it nothing.
    """
    before = kernels.COMPILING_PAYS, api._MOST_PRODUCTS
    if way == "nests":
        kernels.COMPILING_PAYS, api._MOST_PRODUCTS = 0, -1
    try:
        with lx.options(backend="kernel" if way == "kernel" else None):
            yield
    finally:
        kernels.COMPILING_PAYS, api._MOST_PRODUCTS = before
