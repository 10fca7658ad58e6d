"""The one door to upstream's MLIR Python bindings.

Everything else in the library writes `from linalg_ext.bindings import ir, linalg, ...`; this
module alone (and `frameworks/`) names a provider. Two packages carry the same bindings:

- `mlir`, LLVM's own `mlir-python-bindings` wheel, taken where it is installed;
- `torch_mlir`, the `torch-mlir` wheel from PyPI, taken otherwise.

One that is already imported wins, so that a program never holds two copies of MLIR; the
environment variable `LINALG_EXT_BINDINGS=mlir|torch_mlir` forces one. Nothing is loaded before the
first attribute is asked for.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

from linalg_ext.cache.keys import PROVIDERS
from linalg_ext.errors import BindingsError
from linalg_ext.utils.locks import Lock
from linalg_ext.utils.module_aliases import AliasFinder

if TYPE_CHECKING:
    # `x as x` is the spelling that type checkers take for "this module offers x".
    from torch_mlir import execution_engine as execution_engine
    from torch_mlir import ir as ir
    from torch_mlir import passmanager as passmanager
    from torch_mlir import rewrite as rewrite
    from torch_mlir.dialects import affine as affine
    from torch_mlir.dialects import arith as arith
    from torch_mlir.dialects import bufferization as bufferization
    from torch_mlir.dialects import builtin as builtin
    from torch_mlir.dialects import cf as cf
    from torch_mlir.dialects import complex as complex
    from torch_mlir.dialects import ext as ext
    from torch_mlir.dialects import func as func
    from torch_mlir.dialects import linalg as linalg
    from torch_mlir.dialects import llvm as llvm
    from torch_mlir.dialects import math as math
    from torch_mlir.dialects import memref as memref
    from torch_mlir.dialects import scf as scf
    from torch_mlir.dialects import tensor as tensor
    from torch_mlir.dialects import transform as transform
    from torch_mlir.dialects import vector as vector
    from torch_mlir.dialects.transform import interpreter as interpreter
    from torch_mlir.dialects.transform import structured as structured

    exporters: Any  # native, and without stubs
    irdl: Any  # its uses are native too

INSTALL = "pip install torch-mlir"

_DIALECTS = """
    affine arith bufferization builtin cf complex ext func irdl linalg llvm math memref scf
    tensor transform vector
"""
_NAMES = {
    **{name: name for name in ("execution_engine", "ir", "passmanager", "rewrite")},
    **{name: f"dialects.{name}" for name in _DIALECTS.split()},
    # The dialects and passes between PyTorch's ops and linalg; `mlir` does not have them.
    "exporters": "_mlir_libs._torchMlir",
    "interpreter": "dialects.transform.interpreter",
    "structured": "dialects.transform.structured",
}

__all__ = [*sorted(_NAMES), "alias_as_mlir", "provider"]


def provider() -> str:
    """Return the package root in use: `"mlir"` or `"torch_mlir"`. It is chosen at first use.

    Raises:
        BindingsError: none is installed, or `LINALG_EXT_BINDINGS` names one that is not.
    """
    global _chosen
    if _chosen is None:
        _chosen = _choose()
    return _chosen


def alias_as_mlir() -> None:
    """Serve `import mlir...` from the provider in use, as the very same module objects.

    Opt-in. Code written against `mlir.*` then runs unchanged beside this library, even
    where only the `torch-mlir` wheel is installed. Does nothing where the provider is `mlir`.

    Raises:
        BindingsError: another `mlir` package has been imported already.
    """
    root = provider()
    if root == "mlir" or _is_aliased("mlir"):
        return
    if "mlir" in sys.modules:
        raise BindingsError(
            f"`{root}` cannot be served as `mlir`: a package of that name is already imported",
            hint="call linalg_ext.bindings.alias_as_mlir() before anything imports mlir",
        )
    sys.meta_path.insert(0, AliasFinder({"mlir": root}))


_chosen: str | None = None

_importing = Lock()
"""The provider's modules import each other in a circle, in which two threads meet half a module."""


def _module(name: str) -> Any:
    try:
        path = _NAMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    with _importing:
        module = importlib.import_module(f"{provider()}.{path}")
    globals()[name] = module
    return module


if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists
    __getattr__ = _module


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})


def _choose() -> str:
    forced = os.environ.get("LINALG_EXT_BINDINGS")
    if forced:
        return _forced(forced)
    for root in PROVIDERS:
        if f"{root}.ir" in sys.modules:
            return root
    for root in PROVIDERS:
        if _is_usable(root):
            return root
    raise BindingsError(
        "MLIR's Python bindings are not installed",
        where=_placeholder_note(),
        hint=f"install them with: {INSTALL}",
    )


def _forced(root: str) -> str:
    if root not in PROVIDERS:
        raise BindingsError(
            f"LINALG_EXT_BINDINGS={root} names no provider of the MLIR bindings",
            expected=" or ".join(PROVIDERS),
        )
    loaded = [other for other in PROVIDERS if other != root and f"{other}.ir" in sys.modules]
    if loaded and sys.modules.get(f"{root}.ir") is not sys.modules[f"{loaded[0]}.ir"]:
        raise BindingsError(
            f"LINALG_EXT_BINDINGS={root}, but {loaded[0]} is already imported: "
            "two copies of MLIR in one process abort it",
            hint=f"import linalg_ext first, or unset LINALG_EXT_BINDINGS to use {loaded[0]}",
        )
    if not _is_usable(root):
        raise BindingsError(
            f"LINALG_EXT_BINDINGS={root}, but no usable package `{root}` is installed",
            where=_placeholder_note(),
            hint=f"install it, or unset the variable and {INSTALL}",
        )
    return root


def _is_usable(root: str) -> bool:
    """Return whether `root.ir` exists; nothing is loaded but the (small) package root."""
    if f"{root}.ir" in sys.modules:
        return True
    try:
        return importlib.util.find_spec(f"{root}.ir") is not None
    except (ImportError, AttributeError, ValueError):
        return False


def _placeholder_note() -> str | None:
    """PyPI's `mlir` and `mlir-python-bindings` 0.0.1 hold no code: say so if one is installed."""
    from importlib.metadata import PackageNotFoundError, version

    for distribution in ("mlir-python-bindings", "mlir"):
        try:
            if version(distribution) == "0.0.1":
                return (
                    f"{distribution} 0.0.1 is installed, but on PyPI that is an empty placeholder"
                )
        except PackageNotFoundError:
            continue
    return None


def _is_aliased(name: str) -> bool:
    finders = (finder for finder in sys.meta_path if isinstance(finder, AliasFinder))
    return any(name in finder.aliases for finder in finders)
