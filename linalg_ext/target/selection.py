"""The machine that code is made for: this one, or the one that a `with` block names."""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from linalg_ext.errors import TargetError
from linalg_ext.target import linux
from linalg_ext.target.known import KNOWN
from linalg_ext.target.model import NoteValue, Target
from linalg_ext.utils.scopes import holding

HOST = "host"

_in_force: ContextVar[Target | None] = ContextVar("linalg_ext.target", default=None)
_scopes: ContextVar[int] = ContextVar("linalg_ext.target.scopes", default=0)


@functools.cache
def host() -> Target:
    """Return this machine, which is read once."""
    if platform.system() == "Darwin":
        # The modules that run a command take long to load.
        from linalg_ext.target import macos

        return macos.read()
    machine = linux.read()
    if "amx-tile" in machine.features and not linux.allow_tiles():
        return replace(machine.without("amx-tile"), name=HOST)
    return machine


def names() -> tuple[str, ...]:
    """Return the names that `named` and `using` accept."""
    return (HOST, *KNOWN)


def named(name: str) -> Target:
    """Return a machine by name; all but `host` are the same on every machine.

    Raises:
        TargetError: there is no target of that name.
    """
    if name == HOST:
        return host()
    if name not in KNOWN:
        from difflib import get_close_matches

        near = get_close_matches(name, names(), n=1)
        raise TargetError(
            f"{name!r} is not a known target",
            expected="one of " + ", ".join(names()),
            hint=f"did you mean {near[0]}?" if near else None,
        )
    return KNOWN[name]


def current() -> Target:
    """Return the machine that code is made for now."""
    return _in_force.get() or host()


def override() -> Target | None:
    """Return the machine in force in place of this one, or None; a fast call.

    Caches of compiled code have it in their keys.
    """
    return _in_force.get()


def setting() -> tuple[ContextVar[Target | None], Target | None]:
    """Return the context variable of the override and its value, for native code."""
    return _in_force, _in_force.get()


@contextmanager
def using(target: Target | str) -> Iterator[Target]:
    """Make code for another machine inside the `with` block.

        with lx.target.using("avx2"):
            kernel = lx.compile(module)   # no instruction beyond AVX2 in it

    It holds for this thread and this asynchronous task; threads that are started inside begin with
    this machine.

    Args:
        target: a name, or a description: `host().without("avx512f")`, for example.

    Raises:
        TargetError: there is no target of that name.
    """
    chosen = target if isinstance(target, Target) else named(target)
    in_place_of_host = None if chosen == host() else chosen
    with holding(_in_force, in_place_of_host), holding(_scopes, _scopes.get() + 1):
        yield chosen


def leave_note(name: str, value: NoteValue | None) -> None:
    """Leave a note in the description in force, for later passes; None takes it away.

        lx.target.leave_note("packing.panel_bytes", 1 << 18)
        lx.target.current().note("packing.panel_bytes", int)

    The note lasts until the end of the `using` block around the call.

    Raises:
        TargetError: the name or the value is not one of a note; or there is no `using` block.
    """
    target = _in_force.get()
    if target is None and not _scopes.get():
        raise TargetError(
            f"the note {name} is left outside all `using` blocks",
            hint='with lx.target.using("host"): around the passes that leave and read notes',
        )
    noted = (target or host()).with_note(name, value)
    _in_force.set(None if noted == host() else noted)
