"""Requirements of PyTorch, JAX, ONNX and torch-mlir's importers, checked at first use."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from linalg_ext import bindings
from linalg_ext.errors import BindingsError, MissingExtraError
from linalg_ext.runtime.kernel_cache import file_stamp

_loaded: dict[str, Any] = {}
"""Packages, by name, once all that is needed of them has been imported.

Each call of a model asks for its package several times: to ask the import system takes 5 us.
"""


def torch() -> Any:
    """Return the package of PyTorch.

    Raises:
        MissingExtraError: it is not installed, or too old to export a model.
    """
    if (known := _loaded.get("torch")) is not None and sys.modules.get("torch") is known:
        return known
    try:
        package = importlib.import_module("torch")
        importlib.import_module("torch.export")
    except ImportError as error:
        raise MissingExtraError(
            f"PyTorch with torch.export is needed, and cannot be imported: {error}",
            hint=_install("torch"),
        ) from error
    _loaded["torch"] = package
    return package


def jax() -> Any:
    """Return the package of JAX.

    Raises:
        MissingExtraError: it is not installed, or too old.
        BindingsError: the bindings in use are LLVM's own, which know no StableHLO.
    """
    if (known := _loaded.get("jax")) is not None and sys.modules.get("jax") is known:
        return known
    try:
        package = importlib.import_module("jax")
        importlib.import_module("jaxlib.mlir.passmanager")
        importlib.import_module("jaxlib.mlir.dialects.stablehlo").register_stablehlo_passes()
    except (ImportError, AttributeError) as error:
        raise MissingExtraError(
            f"JAX is needed, and cannot be imported as this library needs it: {error}",
            expected="JAX 0.6 or later",
            hint=f"{_install('jax')} --upgrade",
        ) from error
    require_torch_mlir("modules of StableHLO")
    _loaded["jax"] = package
    return package


def onnx() -> Any:
    """Return the package of ONNX.

    Raises:
        MissingExtraError: it is not installed, or in a version that does not fit.
    """
    try:
        package = importlib.import_module("onnx")
        importlib.import_module("onnx.shape_inference")
    except (ImportError, AttributeError) as error:
        raise _missing_onnx(error) from error
    return package


def _missing_onnx(error: Exception) -> MissingExtraError:
    return MissingExtraError(
        f"ONNX is needed, and cannot be imported: {error}",
        expected="onnx 1.16 or later",
        hint=_install("onnx"),
    )


def _install(extra: str) -> str:
    return f"install it with: pip install 'linalg-ext[{extra}]'"


def require_torch_mlir(models: str) -> None:
    """Refuse bindings that are LLVM's own.

    Args:
        models: the models to import, as the error calls them.

    Raises:
        BindingsError: they are.
    """
    root = bindings.provider()
    if root != "torch_mlir":
        raise BindingsError(
            f"{models} are imported by torch-mlir, and the bindings in use are `{root}`",
            hint="set LINALG_EXT_BINDINGS=torch_mlir before anything imports mlir",
        )


def require_torch_importer() -> None:
    """Refuse to go on without PyTorch and torch-mlir, of which nothing but PyTorch is loaded.

    Raises:
        BindingsError: the bindings in use are LLVM's own, which have no importer.
        MissingExtraError: PyTorch is missing.
    """
    torch()
    require_torch_mlir("models of PyTorch")


def torch_importer() -> Any:
    """Return torch-mlir's importer of graphs of torch.fx, and load its dialects.

    Raises:
        BindingsError, MissingExtraError: as of `require_torch_importer`, or the versions do not
            fit.
    """
    require_torch_importer()
    importlib.import_module("linalg_ext.dialects.torch")
    return _extra("fx_importer")


def decomposition_table() -> Mapping[Any, Callable[..., Any]]:
    """Return the ops that torch-mlir wants PyTorch to decompose; MLIR is not loaded for it.

    Raises:
        BindingsError, MissingExtraError: as of `torch_importer`.
    """
    require_torch_importer()
    table: Mapping[Any, Callable[..., Any]] = _extra("fx_decomp_util").get_decomposition_table()
    return table


def onnx_importer() -> Any:
    """Return torch-mlir's importer of ONNX, and load its dialects.

    Raises:
        MissingExtraError: ONNX is not installed, or in a version that does not fit.
        BindingsError: the bindings in use are LLVM's own, which have no importer.
    """
    require_torch_mlir("models of ONNX")
    try:
        importer = importlib.import_module("torch_mlir.extras.onnx_importer")
    except (ImportError, AttributeError) as error:
        raise _missing_onnx(error) from error
    importlib.import_module("linalg_ext.dialects.torch")
    return importer


def _extra(name: str) -> Any:
    try:
        return importlib.import_module(f"torch_mlir.extras.{name}")
    except (ImportError, AttributeError) as error:
        raise MissingExtraError(
            f"torch-mlir's importer does not work with PyTorch {torch().__version__}: {error}",
            expected="PyTorch 2.6 or later",
            hint="install versions that fit one another: pip install 'linalg-ext[torch]' --upgrade",
        ) from error


@functools.cache
def importer_files() -> list[object]:
    """Return the path, size and time of the files of torch-mlir's importers, without loading them.

    They are a part of the keys of the models that they import.
    """
    spec = importlib.util.find_spec("torch_mlir")
    folders = () if spec is None else (spec.submodule_search_locations or ())
    files = (path for folder in folders for path in Path(folder, "extras").glob("*.py"))
    return [file_stamp(path) for path in sorted(files)]


@functools.cache
def makers() -> list[object]:
    """Return the makers of a graph, for keys: the version of PyTorch, and the importer's files."""
    package = torch()
    return [package.__version__, str(package.version.git_version), *importer_files()]
