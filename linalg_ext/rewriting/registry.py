"""All passes of this library, by name.

A file under `transforms/` is found by itself: looking a name up imports every module of
that package once, and their decorators register the passes they make.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from linalg_ext.bindings import passmanager
from linalg_ext.errors import ArgumentError
from linalg_ext.ir.context import new_context
from linalg_ext.utils.hooks import import_all, public_modules
from linalg_ext.utils.locks import Lock


class Registered(Protocol):
    """The properties of a pass that the registry needs."""

    pass_name: str

    @property
    def summary(self) -> str:
        """One line about it."""
        ...


_passes: dict[str, Registered] = {}
# Named, not imported: this room lies below the one where the passes are.
_PACKAGE = "linalg_ext.transforms"
_lock = Lock()


OWN_PREFIX = "linalg-ext-"
"""The beginning of the names of this library's passes; users' passes are free to have another."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def is_upstreams(pass_name: str) -> bool:
    """Return whether upstream has a pass of that name."""
    try:
        passmanager.PassManager("any", new_context()).add(pass_name)
    except ValueError as error:
        return UNKNOWN not in str(error)
    return True


UNKNOWN = "does not refer to a registered pass"
"""The part of upstream's error that tells an unknown name."""


def register(new: Registered) -> None:
    """Make a pass known by its name.

    Raises:
        ArgumentError: another function or a pass of upstream's has that name, or it is none.
    """
    if not _NAME.fullmatch(new.pass_name):
        raise ArgumentError(
            f"{new.pass_name!r} cannot name a pass",
            expected="lower-case words joined by dashes",
        )
    if not new.pass_name.startswith(OWN_PREFIX) and is_upstreams(new.pass_name):
        raise ArgumentError(
            f"upstream has a pass called {new.pass_name}", hint="choose another name"
        )
    old = _passes.get(new.pass_name)
    if old is not None and _origin(old) != _origin(new):
        raise ArgumentError(
            f"two passes are called {new.pass_name}",
            where=f"{_origin(old)} and {_origin(new)}",
            hint="rename one of them",
        )
    # The same function comes again from a cell of a notebook that runs again, or a reloaded file.
    _passes[new.pass_name] = new


@cache
def _import_passes() -> None:
    import_all(_PACKAGE)


def all_passes() -> Mapping[str, Registered]:
    """Return every pass by its name, in order of names."""
    with _lock:
        _import_passes()
    return dict(sorted(_passes.items()))


def find(pass_name: str) -> Registered | None:
    """Return the pass of that name, but none of upstream's; None if absent."""
    registered = _passes.get(pass_name)
    if registered is None and pass_name.startswith(OWN_PREFIX):
        registered = all_passes().get(pass_name)
    return registered


class Catalogue:
    """The transformations of a package: its files by name, imported when asked for."""

    def __init__(self, package: str) -> None:
        self.package = package

    def names(self) -> set[str]:
        """Return the names of folders, of passes, and of files that define their own name.

        Files of helpers define other names. No file is imported: a definition is found by its text.
        """
        root = importlib.import_module(self.package)
        walked = pkgutil.walk_packages(root.__path__, prefix=self.package + ".")
        return {name for info in walked for name in _offered_names(info)}

    def attribute(self, name: str) -> Any:
        """Return the transformation of a name: from the file of that name, or else a pass.

        Raises:
            AttributeError: the package has neither.
        """
        missing = AttributeError(f"module {self.package!r} has no attribute {name!r}")
        if name.startswith("_"):
            raise missing
        for module_name in public_modules(self.package):
            if module_name.rpartition(".")[2] == name:
                module = importlib.import_module(module_name)
                return getattr(module, name, module)
        import_all(self.package)
        registered = _passes.get("linalg-ext-" + name.replace("_", "-"))
        if registered is None:
            raise missing
        return registered


_DECLARED = re.compile(r'^@\w+\("linalg-ext-([\w-]+)".*\)\ndef (\w+)\(', re.MULTILINE)


def _offered_names(info: pkgutil.ModuleInfo) -> set[str]:
    leaf = info.name.rpartition(".")[2]
    if leaf.startswith("_"):
        return set()
    if info.ispkg:
        return {leaf}
    source = Path(info.module_finder.path, f"{leaf}.py").read_text(encoding="utf-8")  # type: ignore[union-attr]
    declared = _DECLARED.findall(source)
    passes = {name for pass_name, name in declared if name == pass_name.replace("-", "_")}
    defines = re.search(rf"^(def {leaf}\b|class {leaf}\b|{leaf}\b.*=)", source, re.MULTILINE)
    return passes | {leaf} if defines else passes


def _origin(registered: Registered) -> str:
    return f"{getattr(registered, '__module__', '?')}.{getattr(registered, '__qualname__', '?')}"
