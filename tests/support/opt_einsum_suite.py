"""opt_einsum's own tests, as they come with the installed package, with `lx.einsum` beneath.

    PYTHONPATH=tests/support python -m opt_einsum_suite                    # 7,800 tests
    PYTHONPATH=tests/support python -m opt_einsum_suite --backend kernel   # NumPy computes nothing

Contractions that opt_einsum would give to `tensordot` come to `lx.einsum` too. All that are after
`--` are arguments of pytest's.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import opt_einsum
import pytest
from opt_einsum.backends import dispatch

import linalg_ext as lx

# Of JAX's arrays under `pytest.approx`, which no einsum of ours comes near.
_DESELECTED = ("tests/test_backends.py::test_jax_jit_gradient",)

# Bits of two calls: NumPy may compute the first, and a kernel, worth compiling by then, the second.
_DESELECTED_WITH_NUMPY = ("tests/test_sharing.py::test_sharing_value",)


def tensordot(x: Any, y: Any, axes: tuple[Sequence[int], Sequence[int]]) -> Any:
    """`numpy.tensordot` by an einsum."""
    rank = np.ndim(x)
    left, right = list(range(rank)), list(range(rank, rank + np.ndim(y)))
    for one, other in zip(*axes, strict=True):
        right[other] = left[one]
    output = [label for label in (*left, *right) if not (label in left and label in right)]
    return lx.einsum(x, left, y, right, output)


class Beneath:
    """A plugin of pytest's that has opt_einsum call us."""

    def pytest_configure(self) -> None:
        """Before any test is read."""
        dispatch._cached_funcs["einsum", "numpy"] = lx.einsum
        dispatch._cached_funcs["tensordot", "numpy"] = tensordot


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; the exit status of pytest."""
    parser = argparse.ArgumentParser(prog="opt_einsum_suite")
    parser.add_argument("--backend", default="auto", choices=["auto", "kernel"])
    parser.add_argument("rest", nargs="*", help="arguments of pytest's")
    given = parser.parse_args(arguments)
    # Names of tests begin at the root, wherever the package is installed.
    root = Path(opt_einsum.__file__).parent
    words = ["-c", os.devnull, "--rootdir", str(root), "-q", "-p", "no:cacheprovider", str(root)]
    deselected = _DESELECTED + (_DESELECTED_WITH_NUMPY if given.backend == "auto" else ())
    words += [f"--deselect={test}" for test in deselected]
    with lx.options(backend=given.backend):
        return int(pytest.main([*words, *given.rest], plugins=[Beneath()]))


if __name__ == "__main__":
    sys.exit(main())
