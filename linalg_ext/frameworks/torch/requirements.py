"""Requirements of PyTorch and of torch-mlir, checked at first use."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from linalg_ext.errors import MissingExtraError
from linalg_ext.frameworks.requirements import importer_files, require_torch_mlir

INSTALL = "pip install 'linalg-ext[torch]'"

ENTRY = "main"
"""The function of a module that a graph becomes."""

_imported: Any = None
"""PyTorch, once all of it has been imported."""


def torch() -> Any:
    """The package of PyTorch.

    Raises:
        MissingExtraError: it is not installed, or too old to export a model.
    """
    global _imported
    # Each call of a model asks several times: to ask the import system takes 5 us.
    if _imported is not None and sys.modules.get("torch") is _imported:
        return _imported
    try:
        found = importlib.import_module("torch")
        importlib.import_module("torch.export")
    except ImportError as error:
        raise MissingExtraError(
            f"PyTorch with torch.export is needed, and cannot be imported: {error}",
            hint=f"install it with: {INSTALL}",
        ) from error
    _imported = found
    return found


def require_importer() -> None:
    """Refuse to go on without PyTorch and torch-mlir, of which nothing but PyTorch is loaded.

    Raises:
        BindingsError: the bindings in use are LLVM's own, which have no importer.
        MissingExtraError: PyTorch is missing.
    """
    torch()
    require_torch_mlir("models of PyTorch")


def importer() -> Any:
    """torch-mlir's importer of graphs of torch.fx; makes the dialects known.

    Raises:
        BindingsError, MissingExtraError: as of `require_importer`, or the versions do not fit.
    """
    require_importer()
    importlib.import_module("linalg_ext.dialects.torch")
    return _extra("fx_importer")


def decomposition_table() -> Mapping[Any, Callable[..., Any]]:
    """The ops that torch-mlir wants PyTorch itself to write as others; MLIR is not loaded for it.

    Raises:
        BindingsError, MissingExtraError: as of `importer`.
    """
    require_importer()
    table: Mapping[Any, Callable[..., Any]] = _extra("fx_decomp_util").get_decomposition_table()
    return table


def _extra(name: str) -> Any:
    try:
        return importlib.import_module(f"torch_mlir.extras.{name}")
    except (ImportError, AttributeError) as error:
        raise MissingExtraError(
            f"torch-mlir's importer does not work with PyTorch {torch().__version__}: {error}",
            expected="PyTorch 2.6 or later",
            hint=f"install versions that fit one another: {INSTALL} --upgrade",
        ) from error


@functools.cache
def makers() -> list[object]:
    """Return the makers of a graph, for keys: the version of PyTorch, and the importer's files."""
    found = torch()
    versions = [found.__version__, str(found.version.git_version)]
    return [*versions, *importer_files()]
