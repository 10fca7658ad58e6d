"""The search that a compilation is asked for: settings in force around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING

from linalg_ext import cache
from linalg_ext.runtime.kernel_cache import apart
from linalg_ext.utils.scopes import holding

if TYPE_CHECKING:
    from linalg_ext.transforms.grouping import Search

_in_force: ContextVar[Search | None] = ContextVar("linalg_ext.searching", default=None)


def asked_search(value: object) -> Search | None:
    """Return the search that `search=` requests; None where it requests none.

    Raises:
        ArgumentError: the value is not a known one.
    """
    if value is False:
        return None  # so that unneeded modules are not loaded
    from linalg_ext.transforms.grouping import Search

    return Search.of(value)


@contextmanager
def searching(search: Search | None) -> Iterator[None]:
    """Have modules that are compiled inside the `with` block searched for groups; None: as it was.

    Kernels are kept under the options of the search; under a strategy of the user's own none are.
    """
    if search is None:
        yield
        return
    caching = cache.off() if search.key is None else nullcontext()
    with holding(_in_force, search), caching, apart("search", *(search.key or ())):
        yield


def not_searching() -> AbstractContextManager[None]:
    """Have modules that are compiled inside the `with` block compiled as they are."""
    return holding(_in_force, None)


def in_force() -> Search | None:
    """Return the search in force; None if absent."""
    return _in_force.get()
