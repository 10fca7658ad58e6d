"""What a kernel was made from: what is pickled in its place, and compiled where it arrives."""

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
        trusted: whether somebody vouched for the module where it was compiled first. The pickle
            says so, and who reads a pickle trusts who wrote it. A module that nobody vouched for is
            checked again on arrival, against the libraries that are there.
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
    return _arrivals.get(recipe, lambda: hooks.handler("kernel of a recipe")(recipe))
