"""MLIR contexts, new or borrowed.

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
    """Return a new context with upstream's dialects and ours, single-threaded.

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
        keep: whether it may be lent again. Types and attributes live as long as their context, so
            a context with large constants should not be.
    """

    context: ir.Context
    keep: bool = True


@contextmanager
def borrowed_context() -> Iterator[Borrowed]:
    """Lend a context as `new_context` makes it, which earlier loans may have used.

    No IR may outlive the loan. After an exception the context is not lent again. A fork of the
    process waits for the end of the loan.
    """
    with _lock:
        loaders = len(_loaders)
        fitting = [index for index, (_, _, count) in enumerate(_idle) if count == loaders]
        context, loans, loaders = _idle.pop(fitting[-1]) if fitting else (None, 0, loaders)
    if context is None:
        context = new_context(dialects=_LOWERED)
    context.allow_unregistered_dialects = False
    loan = Borrowed(context)
    _tables.setdefault(context, {})
    try:
        with compiling():
            yield loan
    except BaseException:
        _tables.pop(context, None)
        raise
    with _lock:
        if loan.keep and loans < _MOST_LOANS and len(_idle) < _MOST_IDLE:
            _idle.append((context, loans + 1, loaders))
            return
    del _tables[context]


def kept_with(context: ir.Context) -> dict[Any, Any] | None:
    """Return the table of a context on loan, kept for its next loan; None for any other."""
    return _tables.get(context)


_tables: dict[ir.Context, dict[Any, Any]] = {}
"""A table for each context that is on loan, or idle."""

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
    """Call `load(context)` for every context made from now on."""
    with _lock:
        if load not in _loaders:
            _loaders.append(load)


def ensure_dialects(context: ir.Context) -> None:
    """Load all dialects into a context of upstream's; a second call does nothing."""
    with _lock:
        for load in _loaders:
            load(context)


def dialect_modules() -> tuple[str, ...]:
    """Return the modules that registered loaders; another process imports them to do the same."""
    with _lock:
        return tuple(dict.fromkeys(load.__module__ for load in _loaders))
