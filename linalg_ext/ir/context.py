"""Contexts, made in one place.

Every module and every compilation has a context of its own, with multithreading off in it: a
Python verifier under a threaded pass manager deadlocks. Making one takes 6 ms, as much as a small
kernel's passes: compilations, whose IR no other code sees, borrow theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.utils.locks import Lock, compiling

DialectLoader = Callable[[ir.Context], None]

_lock = Lock()
_loaders: list[DialectLoader] = []


def new_context(
    *, allow_unregistered: bool = False, dialects: Sequence[str] | None = None
) -> ir.Context:
    """A fresh context with upstream's dialects and ours, single-threaded.

    Args:
        allow_unregistered: let ops of unknown dialects parse, in the generic form.
        dialects: those of upstream's that are loaded at once, all of them by default; the parser
            and passes load others as they need them.
    """
    with compiling():
        context = ir.Context(load_on_create_dialects=dialects)
        context.enable_multithreading(False)
    context.allow_unregistered_dialects = allow_unregistered
    # Loading one Python-defined dialect from two threads at once crashes: it keeps its state on
    # the class.
    with _lock:
        for load in _loaders:
            load(context)
    return context


@dataclass
class Borrowed:
    """A context on loan.

    Attributes:
        context: for the borrower alone.
        keep: whether it may be lent again. Types and attributes live as long as their context:
            after large constants it should not.
    """

    context: ir.Context
    keep: bool = True


@contextmanager
def borrowed_context(*, allow_unregistered: bool = False) -> Iterator[Borrowed]:
    """A context as `new_context` makes it, that others had before and others get after.

    For IR that is gone when this is over. After an exception it is not lent again. A fork of the
    process waits until it is over.
    """
    with _lock:
        loaders = len(_loaders)
        fitting = [at for at, (_, _, known) in enumerate(_idle) if known == loaders]
        context, loans, known = _idle.pop(fitting[-1]) if fitting else (None, 0, loaders)
    if context is None:
        context = new_context(dialects=_LOWERED)
    context.allow_unregistered_dialects = allow_unregistered
    loan = Borrowed(context)
    _kept.setdefault(context, {})
    try:
        with compiling():
            yield loan
    except BaseException:
        _kept.pop(context, None)
        raise
    with _lock:
        if loan.keep and loans < _MOST_LOANS and len(_idle) < _MOST_IDLE:
            _idle.append((context, loans + 1, known))
            return
    del _kept[context]


def kept_with(context: ir.Context) -> dict[Any, Any] | None:
    """Return what is kept with a context on loan, for its next borrower; None for any other."""
    return _kept.get(context)


_kept: dict[ir.Context, dict[Any, Any]] = {}
"""The things that are kept with each context that is on loan, or idle."""


_idle: list[tuple[ir.Context, int, int]] = []
"""Contexts to lend, how often each was lent, and how many dialects there were when it was made."""

_LOWERED = (
    *("affine", "arith", "bufferization", "cf", "complex", "func", "index", "irdl", "linalg"),
    *("llvm", "math", "memref", "scf", "tensor", "ub", "vector"),
)
"""The dialects of upstream's that the passes of a lowering build ops of.

All others cost time: drivers of patterns and printers go through every dialect that is loaded.
"""

_MOST_IDLE = 4
_MOST_LOANS = 100
"""Number of loans after which a context is dropped: the contents of a context are never freed.

The types of a hundred kernels are some megabytes.
"""


def register_dialect(load: DialectLoader) -> None:
    """Have `load(context)` called for every context made from now on."""
    with _lock:
        if load not in _loaders:
            _loaders.append(load)


def ensure_dialects(context: ir.Context) -> None:
    """Load what `new_context` loads into a context made elsewhere; a second call does nothing."""
    with _lock:
        for load in _loaders:
            load(context)


def dialect_modules() -> tuple[str, ...]:
    """The Python modules that registered loaders: another process imports them to do the same."""
    with _lock:
        return tuple(dict.fromkeys(load.__module__ for load in _loaders))
