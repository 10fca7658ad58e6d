"""`einsum` on arrays, on traced values and on MLIR values."""

from linalg_ext.compiler.einsum.api import einsum

__all__ = ["einsum"]
