"""Modules under a second name: that of another package, or an old one of this library.

Both names give the same module object. `sys.modules` with the root alone under the second name
would make Python load every submodule again, and a second copy of native types aborts the process.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader as _Loader
else:
    # Importing `importlib.abc` takes 5 ms, a fifth of `import linalg_ext`. A finder needs no base.
    _Loader = object

RENAMED = {
    "linalg_ext.analysis": "linalg_ext.symbolic",
    "linalg_ext.analysis.numbers": "linalg_ext.symbolic.integers",
    "linalg_ext.analysis.subsets": "linalg_ext.symbolic.index_sets",
    "linalg_ext.calling": "linalg_ext.executable",
    "linalg_ext.context": "linalg_ext.ir.context",
    "linalg_ext.diagnostics": "linalg_ext.ir.diagnostics",
    "linalg_ext.isolated": "linalg_ext.executable.worker_process",
    "linalg_ext.libraries": "linalg_ext.executable.libraries",
    "linalg_ext.transforms.nests": "linalg_ext.transforms.loop_raising",
    "linalg_ext.transforms.subsets": "linalg_ext.transforms.gml_st",
    "linalg_ext.tuning": "linalg_ext.compiler.tuning",
}
"""Modules of version 0.1 by their old names. An import warns; version 0.3 will not have them."""


class AliasFinder(_Loader):
    """A finder of modules by their aliases, and of the modules below them.

    It has to come first in `sys.meta_path`: a later finder would load the files a second time.
    """

    def __init__(self, aliases: Mapping[str, str], *, warns: bool = False) -> None:
        self.aliases = aliases
        self._roots = frozenset(alias.partition(".")[0] for alias in aliases)
        self.warns = warns

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec that loads the real module; None for any other name."""
        if fullname.partition(".")[0] not in self._roots:
            return None  # quick, because each import of the process asks
        real = self._real_name(fullname)
        if real is None:
            return None
        from importlib.util import find_spec

        if find_spec(real) is None:
            return None
        if self.warns:
            import warnings

            message = f"{fullname} is now {real}; the old name goes with version 0.3"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
        return ModuleSpec(fullname, self, origin=real)

    def _real_name(self, name: str) -> str | None:
        head, tail = name, ""
        while head:
            if head in self.aliases:
                return self.aliases[head] + tail
            head, dot, last = head.rpartition(".")
            tail = f"{dot}{last}{tail}"
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the real module, and keep the attributes that an import would overwrite."""
        module = import_module(str(spec.origin))
        spec.loader_state = {
            name: getattr(module, name)
            for name in ("__spec__", "__loader__", "__package__")
            if hasattr(module, name)
        }
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the real module's attributes."""
        spec = module.__spec__
        state = spec.loader_state if spec is not None else None
        for name, value in (state or {}).items():
            setattr(module, name, value)


def install_renamed() -> None:
    """Have the old names of `RENAMED` imported too."""
    sys.meta_path.insert(0, AliasFinder(RENAMED, warns=True))
