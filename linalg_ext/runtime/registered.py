"""Registered libraries, as compiled code and the caches of it see them.

`linalg_ext.libraries` registers them. What is here needs neither that nor MLIR: whether a kernel
that is there already may be called hangs on which libraries are in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from linalg_ext.errors import LibraryError
from linalg_ext.utils.locks import Lock


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
    """Have new code call a library.

    Raises:
        LibraryError: one of that name is in force.
    """
    global _in_force
    with _changing:
        if any(one.name == library.name for one in _in_force):
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
        _in_force = tuple(one for one in _in_force if one is not library)
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
