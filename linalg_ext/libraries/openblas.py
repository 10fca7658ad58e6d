"""OpenBLAS, where this process has it or can have it."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from linalg_ext.errors import LibraryError
from linalg_ext.libraries.gemm import Gemm, gemm
from linalg_ext.libraries.registry import Library, library

_PACKAGES = ("scipy_openblas64", "scipy_openblas32")


def openblas(name: str = "openblas") -> Library:
    """Register OpenBLAS for matrix products of f32 and of f64.

        with lx.libraries.openblas():
            c = lx.ops.matmul(a, b)

    It is that of the packages scipy-openblas64 or scipy-openblas32, where one is installed, else
    the one inside NumPy's wheel. It works with its own threads, whatever `lx.threads` says: see
    OPENBLAS_NUM_THREADS.

    Raises:
        LibraryError: there is none, or the name is taken.
    """
    for path in _files():
        functions = _products(path)
        if functions:
            return library(name, path, {"linalg.matmul": functions})
    raise LibraryError(
        "OpenBLAS is not found",
        expected="the package scipy-openblas64 or scipy-openblas32, or NumPy's own wheel",
        hint="pip install scipy-openblas64, or register your own: lx.library(name, file, "
        '{"linalg.matmul": lx.libraries.gemm("cblas_sgemm", "f32")})',
    )


def _files() -> Iterator[Path]:
    for name in _PACKAGES:
        try:
            package = importlib.import_module(name)
        except ImportError:
            continue
        yield from sorted(Path(package.get_lib_dir()).glob("libscipy_openblas*"))
    beside = Path(np.__file__).parent
    yield from sorted(beside.parent.glob("numpy.libs/libscipy_openblas*"))
    yield from sorted(beside.glob(".dylibs/libscipy_openblas*"))


def _products(path: Path) -> list[Gemm]:
    """The matrix products of a file of OpenBLAS; none where it is no such file."""
    try:
        handle = ctypes.CDLL(str(path))
    except OSError:
        return []
    sizes: tuple[tuple[str, Literal[32, 64]], ...] = (("64_", 64), ("", 32))
    for suffix, bits in sizes:
        if hasattr(handle, f"scipy_cblas_sgemm{suffix}"):
            return [
                gemm(f"scipy_cblas_{letter}gemm{suffix}", element, integer_bits=bits)
                for letter, element in (("s", "f32"), ("d", "f64"))
            ]
    return []
