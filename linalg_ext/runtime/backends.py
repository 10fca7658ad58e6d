"""The choice whether NumPy computes in place of a kernel that is not yet worth compiling.

with lx.options(backend="kernel"):     # in this thread, and this asynchronous task
    c = lx.einsum("mk,kn->mn", a, b)   # compiled, however small it is
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.utils.scopes import holding

if TYPE_CHECKING:
    from linalg_ext.runtime.vectorcall_record import Setting

AUTO, KERNEL = "auto", "kernel"

_in_force: ContextVar[str] = ContextVar("linalg_ext.backend", default=AUTO)


def current() -> str:
    """Return `"auto"`, or `"kernel"` where NumPy shall compute nothing."""
    return _in_force.get()


def setting() -> Setting:
    """Return the variable of the backend and its value, for native code."""
    return _in_force, _in_force.get()


def using(backend: str) -> AbstractContextManager[str]:
    """Have a backend hold inside the `with` block; an ArgumentError where it is none."""
    return holding(_in_force, checked(backend))


def checked(backend: object) -> str:
    """Return `backend`, where it is one; raise an ArgumentError where it is not."""
    if backend not in (AUTO, KERNEL):
        raise ArgumentError(
            f"backend is {backend!r}",
            where=caller_location(),
            expected="'auto', by which NumPy computes calls that are not worth compiling; or "
            "'kernel'",
        )
    return str(backend)
