"""What is needed of ONNX and of torch-mlir, looked for when it is first used."""

from __future__ import annotations

import importlib
from typing import Any

from linalg_ext.errors import MissingExtraError
from linalg_ext.frameworks.requirements import require_torch_mlir

INSTALL = "pip install 'linalg-ext[onnx]'"

ENTRY = "main"
"""The function of a module that a model becomes."""


def onnx() -> Any:
    """The package of ONNX.

    Raises:
        MissingExtraError: it is not installed, or in a version that does not fit.
    """
    try:
        found = importlib.import_module("onnx")
        importlib.import_module("onnx.shape_inference")
    except (ImportError, AttributeError) as error:
        raise _missing(error) from error
    return found


def importer() -> Any:
    """torch-mlir's importer of ONNX; makes its dialects known.

    Raises:
        MissingExtraError: ONNX is not installed, or in a version that does not fit.
        BindingsError: the bindings in use are LLVM's own, which have no importer.
    """
    require_torch_mlir("models of ONNX")
    try:
        found = importlib.import_module("torch_mlir.extras.onnx_importer")
    except (ImportError, AttributeError) as error:
        raise _missing(error) from error
    importlib.import_module("linalg_ext.frameworks.torch.dialect")
    return found


def _missing(error: Exception) -> MissingExtraError:
    return MissingExtraError(
        f"ONNX is needed, and cannot be imported: {error}",
        expected="onnx 1.16 or later",
        cure=f"install it with: {INSTALL}",
    )
