"""What every importer of models needs of the bindings."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

from linalg_ext import bindings
from linalg_ext.errors import BindingsError
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
            cure="set LINALG_EXT_BINDINGS=torch_mlir before anything imports mlir",
        )


@functools.cache
def importer_files() -> list[object]:
    """The files of torch-mlir's importers, which are not loaded for it: path, size, time."""
    spec = importlib.util.find_spec("torch_mlir")
    places = () if spec is None else (spec.submodule_search_locations or ())
    files = (path for place in places for path in Path(place, "extras").glob("*.py"))
    return [file_stamp(path) for path in sorted(files)]
