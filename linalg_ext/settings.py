"""Options for all calls and compilations inside a `with` block.

    with lx.options(threads=2, checked=False) as in_force:
        kernel = lx.compile(text)
        y = kernel(x)
    print(in_force)

They hold for this thread and this asynchronous task. Arguments of a call (`threads=`, `checked=`)
take precedence over them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from linalg_ext import target as targets
from linalg_ext.errors import ArgumentError, caller_location
from linalg_ext.runtime import backends
from linalg_ext.runtime import threads as thread_settings
from linalg_ext.target import Target

_checked: ContextVar[bool] = ContextVar("linalg_ext.checked", default=True)


@dataclass(frozen=True)
class Options:
    """The options in force.

    Attributes:
        threads: the largest number of threads for a call.
        target: the machine that code is made for.
        checked: True where `lx.compile` adds checks to the code for properties that are known only
            at run time.
        backend: `"kernel"` where NumPy must not compute anything in place of a kernel.
    """

    threads: int
    target: Target
    checked: bool
    backend: str = backends.AUTO

    @classmethod
    def current(cls) -> Options:
        """Return the options in force in this thread and asynchronous task."""
        return cls(thread_settings.current(), targets.current(), _checked.get(), backends.current())


@contextmanager
def options(
    *,
    threads: int | None = None,
    target: Target | str | None = None,
    checked: bool | None = None,
    backend: str | None = None,
) -> Iterator[Options]:
    """Set options inside the `with` block; those that are left out stay as they are.

    Args:
        threads: how many may work on a call, where its work is large.
        target: the machine to make code for, by its name or as a description.
        checked: whether `lx.compile` has the code check indices and open sizes, by default.
        backend: `"auto"`, by which `lx.einsum` leaves to NumPy the calls that are not worth
            compiling, or `"kernel"`, by which it leaves it nothing.

    Raises:
        ArgumentError: no number of threads, no backend, or `checked` is neither True nor False.
        TargetError: there is no target of that name.
    """
    if checked is not None and not isinstance(checked, bool):
        raise ArgumentError(
            f"checked is {checked!r}", where=caller_location(), expected="True or False"
        )
    with ExitStack() as stack:
        if threads is not None:
            stack.enter_context(thread_settings.using(threads))
        if target is not None:
            stack.enter_context(targets.using(target))
        if checked is not None:
            stack.callback(_checked.reset, _checked.set(checked))
        if backend is not None:
            stack.enter_context(backends.using(backend))
        yield Options.current()
