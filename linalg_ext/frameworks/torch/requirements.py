"""What is needed of PyTorch and of torch-mlir, looked for when it is first used."""

from __future__ import annotations

import functools
import importlib
from typing import Any, NamedTuple

from linalg_ext.errors import MissingExtraError
from linalg_ext.frameworks.requirements import importer_files, require_torch_mlir

INSTALL = "pip install 'linalg-ext[torch]'"

ENTRY = "main"
"""The function of a module that a graph becomes."""


class Importer(NamedTuple):
    """torch-mlir's importer.

    Attributes:
        fx: its module for graphs of torch.fx.
        decompositions: gives the table of ops that PyTorch itself is to write as others.
    """

    fx: Any
    decompositions: Any


def torch() -> Any:
    """The package of PyTorch.

    Raises:
        MissingExtraError: it is not installed, or too old to export a model.
    """
    try:
        found = importlib.import_module("torch")
        importlib.import_module("torch.export")
    except ImportError as error:
        raise MissingExtraError(
            f"PyTorch with torch.export is needed, and cannot be imported: {error}",
            cure=f"install it with: {INSTALL}",
        ) from error
    return found


def importer() -> Importer:
    """The importer of torch-mlir; loads PyTorch, and makes the dialects known.

    Raises:
        BindingsError: the bindings in use are LLVM's own, which have none.
        MissingExtraError: PyTorch is missing, or another version than it can read.
    """
    found = torch()
    require_torch_mlir("models of PyTorch")
    importlib.import_module("linalg_ext.frameworks.torch.dialect")
    try:
        return Importer(
            importlib.import_module("torch_mlir.extras.fx_importer"),
            importlib.import_module("torch_mlir.extras.fx_decomp_util").get_decomposition_table,
        )
    except (ImportError, AttributeError) as error:
        raise MissingExtraError(
            f"torch-mlir's importer does not work with PyTorch {found.__version__}: {error}",
            expected="PyTorch 2.6 or later",
            cure=f"install versions that fit one another: {INSTALL} --upgrade",
        ) from error


@functools.cache
def makers() -> list[object]:
    """What a graph is made and imported by, for keys: PyTorch, and the files of the importer."""
    found = torch()
    versions = [found.__version__, str(found.version.git_version)]
    return [*versions, *importer_files()]
