"""Which functions compiled code calls, and whether anything provides them."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Iterable, Iterator, Sequence

from linalg_ext.bindings import ir
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


def declared_functions(module: ir.Module) -> Iterator[str]:
    """The functions that a module in the LLVM dialect declares, and does not define.

    LLVM's own intrinsics are left out.
    """
    for op in module.body.operations:
        if op.operation.name != "llvm.func" or len(op.operation.regions[0].blocks):
            continue
        name = ir.StringAttr(op.operation.attributes["sym_name"]).value
        if not name.startswith("llvm."):
            yield name


def check_declarations(module: ir.Module, libraries: Sequence[ctypes.CDLL]) -> None:
    """Find every function that `module` declares, in the process or in `libraries`.

    Raises:
        UnresolvedSymbolError: naming all that are nowhere.
    """
    missing = missing_of(declared_functions(module), libraries)
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise UnresolvedSymbolError(
            f"the module calls {names}, which {'is' if len(missing) == 1 else 'are'} "
            "neither defined in it nor found in this process",
            cure="define it in the module, or pass the library that has it as libraries=[...]",
        )


def missing_of(names: Iterable[str], libraries: Sequence[ctypes.CDLL]) -> list[str]:
    """Those of `names` that are neither in this process nor in `libraries`."""
    places = [ctypes.CDLL(None), *libraries]
    return [name for name in names if not any(_provides(place, name) for place in places)]


def _provides(library: ctypes.CDLL, name: str) -> bool:
    # ctypes looks an attribute up with dlsym; a name may hold any character, a null byte aside.
    try:
        library[name]
    except (AttributeError, ValueError):
        return False
    return True
