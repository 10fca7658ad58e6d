"""What is needed of ONNX and of torch-mlir, looked for when it is first used."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from linalg_ext.errors import MissingExtraError
from linalg_ext.frameworks.requirements import require_torch_mlir

INSTALL = "pip install 'linalg-ext[onnx]'"


class Importer(NamedTuple):
    """The package `onnx`, and torch-mlir's importer of its models."""

    onnx: Any
    importer: Any


def importer() -> Importer:
    """ONNX and the importer; makes torch-mlir's dialects known.

    Raises:
        MissingExtraError: ONNX is not installed, or in a version that does not fit.
        BindingsError: the bindings in use are LLVM's own, which have no importer.
    """
    require_torch_mlir("models of ONNX")
    try:
        onnx = importlib.import_module("onnx")
        importlib.import_module("onnx.shape_inference")
        found = importlib.import_module("torch_mlir.extras.onnx_importer")
    except (ImportError, AttributeError) as error:
        raise MissingExtraError(
            f"ONNX is needed, and cannot be imported: {error}",
            expected="onnx 1.16 or later",
            cure=f"install it with: {INSTALL}",
        ) from error
    importlib.import_module("linalg_ext.frameworks.torch.dialect")
    return Importer(onnx, found)
