"""The source of a kernel: it is pickled in the kernel's place, and compiled where it arrives."""

from __future__ import annotations

from typing import Any, NamedTuple

from linalg_ext.runtime.dtypes import DType
from linalg_ext.target import Target
from linalg_ext.utils import hooks
from linalg_ext.utils.unpickling import Arrivals


class Recipe(NamedTuple):
    """Enough to make a kernel again, in another process and for another machine. Data alone.

    Attributes:
        module: in MLIR's binary form.
        entry: the function; None where only one is public.
        trusted: True where the module was trusted when it was first compiled. The pickle carries
            this flag: its reader trusts its writer. An untrusted module is checked again on
            arrival, against the libraries that are there.
        checked, opt_level, libraries, result_dtypes: as for `linalg_ext.compile`.
        target: the machine that was named; None for the one that the kernel is on.
    """

    module: bytes
    entry: str | None = None
    trusted: bool = False
    checked: bool = False
    opt_level: int | None = None
    libraries: tuple[str, ...] = ()
    result_dtypes: tuple[DType, ...] = ()
    target: Target | None = None


_arrivals: Arrivals[Any] = Arrivals(most=64)


def arrived(recipe: Recipe) -> Any:
    """The kernel of a recipe, compiled when the first one arrives.

    Raises:
        LinalgExtError: as of `linalg_ext.compile`; a library, for example, is not here.
    """
    return _arrivals.get(recipe, lambda: hooks.facade("compiler").kernel_of(recipe))
