"""What is needed of ONNX and of torch-mlir, looked for when it is first used."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from linalg_ext import bindings
from linalg_ext.errors import BindingsError, MissingExtraError

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
    root = bindings.provider()
    if root != "torch_mlir":
        raise BindingsError(
            f"models of ONNX are imported by torch-mlir, and the bindings in use are `{root}`",
            cure="set LINALG_EXT_BINDINGS=torch_mlir before anything imports mlir",
        )
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
