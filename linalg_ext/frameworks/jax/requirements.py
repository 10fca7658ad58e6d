"""Requirements of JAX, checked at first use."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from linalg_ext.errors import MissingExtraError
from linalg_ext.frameworks.requirements import require_torch_mlir

INSTALL = "pip install 'linalg-ext[jax]'"

_imported: Any = None
"""JAX, once all that is needed of it has been imported."""


def jax() -> Any:
    """The package of JAX.

    Raises:
        MissingExtraError: it is not installed, or too old.
        BindingsError: the bindings in use are LLVM's own, which know no StableHLO.
    """
    global _imported
    # Each call of a function asks several times: to ask the import system takes 5 us.
    if _imported is not None and sys.modules.get("jax") is _imported:
        return _imported
    try:
        found = importlib.import_module("jax")
        importlib.import_module("jaxlib.mlir.passmanager")
        importlib.import_module("jaxlib.mlir.dialects.stablehlo").register_stablehlo_passes()
    except (ImportError, AttributeError) as error:
        raise MissingExtraError(
            f"JAX is needed, and cannot be imported as this library needs it: {error}",
            expected="JAX 0.6 or later",
            hint=f"install it with: {INSTALL} --upgrade",
        ) from error
    require_torch_mlir("modules of StableHLO")
    _imported = found
    return found
