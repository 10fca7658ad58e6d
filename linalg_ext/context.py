"""Contexts, made in one place.

Every module and every compilation has a context of its own, with multithreading off in it: a
Python verifier under a threaded pass manager deadlocks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from linalg_ext.bindings import ir

DialectLoader = Callable[[ir.Context], None]

_lock = threading.Lock()
_loaders: list[DialectLoader] = []


def new_context(*, allow_unregistered: bool = False) -> ir.Context:
    """A fresh context with upstream's dialects and ours, single-threaded.

    Args:
        allow_unregistered: let ops of unknown dialects parse, in the generic form.
    """
    context = ir.Context()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = allow_unregistered
    # Loading one Python-defined dialect from two threads at once crashes: it keeps its state on
    # the class.
    with _lock:
        for load in _loaders:
            load(context)
    return context


def register_dialect(load: DialectLoader) -> None:
    """Have `load(context)` called for every context made from now on."""
    with _lock:
        if load not in _loaders:
            _loaders.append(load)


def ensure_dialects(context: ir.Context) -> None:
    """Load what `new_context` loads into a context that somebody else made; again does nothing."""
    with _lock:
        for load in _loaders:
            load(context)


def dialect_modules() -> tuple[str, ...]:
    """The Python modules that registered loaders: another process imports them to do the same."""
    with _lock:
        return tuple(dict.fromkeys(load.__module__ for load in _loaders))
