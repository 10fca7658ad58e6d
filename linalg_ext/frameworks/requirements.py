"""What every importer of models needs of the bindings."""

from __future__ import annotations

from linalg_ext import bindings
from linalg_ext.errors import BindingsError


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
