"""Requirements of model importers: the bindings and ONNX, checked at first use."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from pathlib import Path
from typing import Any

from linalg_ext import bindings
from linalg_ext.errors import BindingsError, MissingExtraError
from linalg_ext.runtime.kernel_cache import file_stamp


def require_torch_mlir(models: str) -> None:
    """Refuse bindings that are LLVM's own.

    Args:
        models: what is to be imported, as the error calls it.

    Raises:
        BindingsError: they are.
    """
    root = bindings.provider()
    if root != "torch_mlir":
        raise BindingsError(
            f"{models} are imported by torch-mlir, and the bindings in use are `{root}`",
            hint="set LINALG_EXT_BINDINGS=torch_mlir before anything imports mlir",
        )


@functools.cache
def importer_files() -> list[object]:
    """The files of torch-mlir's importers, which are not loaded for it: path, size, time."""
    spec = importlib.util.find_spec("torch_mlir")
    places = () if spec is None else (spec.submodule_search_locations or ())
    files = (path for place in places for path in Path(place, "extras").glob("*.py"))
    return [file_stamp(path) for path in sorted(files)]


_INSTALL_ONNX = "pip install 'linalg-ext[onnx]'"


def onnx() -> Any:
    """The package of ONNX.

    Raises:
        MissingExtraError: it is not installed, or in a version that does not fit.
    """
    try:
        found = importlib.import_module("onnx")
        importlib.import_module("onnx.shape_inference")
    except (ImportError, AttributeError) as error:
        raise missing_onnx(error) from error
    return found


def missing_onnx(error: Exception) -> MissingExtraError:
    """Return the error for a package that could not be imported."""
    return MissingExtraError(
        f"ONNX is needed, and cannot be imported: {error}",
        expected="onnx 1.16 or later",
        hint=f"install it with: {_INSTALL_ONNX}",
    )
