"""Shared libraries: those that compiled code needs, and where their functions are."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Iterable, Sequence

from linalg_ext.errors import UnresolvedSymbolError


def load_libraries(paths: Sequence[str]) -> list[ctypes.CDLL]:
    """Open each shared library.

    Raises:
        UnresolvedSymbolError: one cannot be loaded; the message carries the loader's reason.
    """
    handles = []
    for path in paths:
        try:
            handles.append(ctypes.CDLL(path))
        except OSError as error:
            raise UnresolvedSymbolError(
                f"shared library `{path}` cannot be loaded",
                where=str(error),
                cure="give the full path of a library built for this machine",
            ) from error
    return handles


@functools.cache
def load_compiler_runtime() -> None:
    """Make the compiler's own helper functions visible, 128-bit arithmetic for example.

    LLVM calls them without a declaration in the module. Their library is mapped in every process
    that runs C++, but its symbols are not always in the global scope.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL)


def missing_of(names: Iterable[str], libraries: Sequence[ctypes.CDLL]) -> list[str]:
    """Those of `names` that are neither in this process nor in `libraries`."""
    return [name for name in names if address_of_symbol(name, libraries) is None]


def address_of_symbol(name: str, libraries: Sequence[ctypes.CDLL]) -> int | None:
    """Where `name` is, in this process or in `libraries`; None where it is in neither."""
    for library in (ctypes.CDLL(None), *libraries):
        try:
            # ctypes looks an attribute up with dlsym; a name may hold any character but a null.
            found = library[name]
        except (AttributeError, ValueError):
            continue
        return ctypes.cast(found, ctypes.c_void_p).value
    return None
