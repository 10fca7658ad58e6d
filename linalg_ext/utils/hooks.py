"""Modules that are loaded when used: facades of higher rooms, lazy names, all files of a package.

The language has ops and no MLIR, and yet a call of an op on arrays must reach the compiler. So a
room above has a file of functions for those below, its facade, which imports the modules it needs
when a function is asked for. `docs/design.md` lists the facades, under Hooks. One of them draws
objects in notebooks and terminals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from rich.console import RenderableType


_FACADES: dict[str, str] = {}


def register(name: str, module: str) -> None:
    """Register the module of a facade, in the place of an earlier one."""
    _FACADES[name] = module
    facade.cache_clear()


@cache
def facade(name: str) -> Any:
    """Return a facade; a LookupError where no module is registered for it."""
    return import_module(_FACADES[name])


def lazy_names(module: str, homes: Mapping[str, str], *, package: str = "") -> Callable[[str], Any]:
    """Return a module's `__getattr__`, which imports the file that defines a name, once.

    `homes` are the files of a package, by default the module itself, and the names in each, with
    spaces between.
    """

    def load(name: str) -> Any:
        for home, names in homes.items():
            if name in names.split():
                value = getattr(import_module(f"{package or module}.{home}"), name)
                setattr(sys.modules[module], name, value)
                return value
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)

    return load


def is_dask(value: object) -> bool:
    """Return whether a value is one of dask's collections, which have handlers of their own."""
    return hasattr(type(value), "__dask_graph__")


class Shown:
    """A class of objects that notebooks and `rich` show by the views of a kind.

    class Module(Shown, shown_as="module"): ...   # `module_html`, `module_rich` of the views
    """

    __slots__ = ()
    _kind = ""

    def __init_subclass__(cls, *, shown_as: str = "") -> None:
        super().__init_subclass__()
        if shown_as:
            cls._kind = shown_as

    def _repr_html_(self) -> str:
        """Return the object as HTML, for a notebook."""
        return str(getattr(facade("views"), f"{self._kind}_html")(self))

    def __rich__(self) -> RenderableType:
        return cast("RenderableType", getattr(facade("views"), f"{self._kind}_rich")(self))


def public_modules(package: str) -> Iterator[str]:
    """Yield the full names of all modules below a package; only the folders are imported.

    Modules whose names begin with `_` are left out.
    """
    import pkgutil

    root = import_module(package)
    for info in pkgutil.walk_packages(root.__path__, prefix=package + "."):
        if not info.name.rpartition(".")[2].startswith("_"):
            yield info.name


def import_all(package: str) -> None:
    """Import every module below a package, so that each registers its ops or passes."""
    for name in public_modules(package):
        import_module(name)
