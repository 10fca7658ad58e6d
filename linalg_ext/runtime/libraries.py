"""Shared libraries: those that compiled code needs, their functions, and those in force.

`linalg_ext.executable.libraries` registers libraries. This file needs neither that nor MLIR:
whether a kernel that is there already may be called hangs on which libraries are in force.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from linalg_ext.errors import LibraryError, UnresolvedSymbolError
from linalg_ext.utils.locks import Lock


def load_libraries(paths: Sequence[str]) -> list[ctypes.CDLL]:
    """Open each shared library; an UnresolvedSymbolError carries the loader's reason."""
    handles = []
    for path in paths:
        try:
            handles.append(ctypes.CDLL(path))
        except OSError as error:
            raise UnresolvedSymbolError(
                f"shared library `{path}` cannot be loaded",
                where=str(error),
                hint="give the full path of a library built for this machine",
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
    """Return the address of `name` in this process or in `libraries`; None where neither has it.

    The functions of registered libraries are in this process. Only code made for them knows their
    names.
    """
    if (published := published_address(name)) is not None:
        return published
    for library in (ctypes.CDLL(None), *libraries):
        address = address_in(library, name)
        if address is not None:
            return address
    return None


def is_provided(name: str, libraries: Sequence[ctypes.CDLL]) -> bool:
    """Return whether one of `libraries` itself has `name`.

    The process does not count. On Linux the dependencies of the library do not count either.
    """
    for library in libraries:
        address = address_in(library, name)
        if address is not None and _is_in(library, address):
            return True
    return False


def file_of_address(address: int) -> str:
    """The file that was loaded where an address is; empty where that cannot be told."""
    place = _place_of(address)
    return "" if place is None else os.path.realpath(os.fsdecode(place.file or b""))


def address_in(library: ctypes.CDLL, name: str) -> int | None:
    """Return the address of `name` in a library or its dependencies; None where none has it."""
    try:
        # ctypes looks an attribute up with dlsym; a name may hold any character but a null.
        function = library[name]
    except (AttributeError, ValueError):
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


class _Place(ctypes.Structure):
    """The result of dladdr(3): the file and the symbol that an address belongs to."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


class _LinkMap(ctypes.Structure):
    """The head of the structure that a handle of glibc's points to, of <link.h>."""

    _fields_ = (("base", ctypes.c_void_p), ("file", ctypes.c_char_p))


def _place_of(address: int) -> _Place | None:
    place = _Place()
    is_known = ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(place))
    return place if is_known else None


def _is_in(library: ctypes.CDLL, address: int) -> bool:
    if sys.platform != "linux":  # a handle is of another kind there
        return True
    place = _place_of(address)
    return place is not None and place.file == _LinkMap.from_address(library._handle).file


class Registered(Protocol):
    """A registered library.

    Attributes:
        name: no two have the same at a time.
        fingerprint: tells it from others in the keys of caches that outlive the process.
        addresses: those of its functions, by their names in object code.
    """

    name: str
    fingerprint: str
    addresses: Mapping[str, int]


Libraries = tuple[Registered, ...]

_in_force: Libraries = ()
_changing = Lock()
_watching: list[Callable[[], None]] = []

_published: dict[str, int] = {}
"""For ever: code of a library may be linked after it was closed. One name is one function."""


def in_force() -> Libraries:
    """The libraries that new code calls, the latest first. Quick to ask.

    A cache of compiled code has it in its keys; one on disk has their fingerprints.
    """
    return _in_force


def put_in_force(library: Registered) -> None:
    """Have new code call a library; a LibraryError where one of that name is in force."""
    global _in_force
    with _changing:
        if any(other.name == library.name for other in _in_force):
            raise LibraryError(
                f"a library `{library.name}` is registered already",
                hint="close that one, or give this one another name",
            )
        _published.update(library.addresses)
        _in_force = (library, *_in_force)
    _tell()


def withdraw(library: Registered) -> None:
    """Have new code do without a library; nothing where it does so already."""
    global _in_force
    with _changing:
        _in_force = tuple(other for other in _in_force if other is not library)
    _tell()


def watch(changed: Callable[[], None]) -> None:
    """Have a function called after every change, for users that cannot ask each time."""
    _watching.append(changed)


def _tell() -> None:
    for changed in _watching:
        changed()


def published_address(name: str) -> int | None:
    """Return the address of a library's function by its name in object code; None if unknown."""
    return _published.get(name)


def publish(name: str, address: int) -> None:
    """Let code that is linked from now on call a function by a name in object code."""
    with _changing:
        _published[name] = address


def unpublish(name: str) -> None:
    """Forget the name of a function: code that was linked keeps calling it."""
    with _changing:
        _published.pop(name, None)
