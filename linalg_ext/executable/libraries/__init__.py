"""Native functions in the place of ops: a library of C, OpenBLAS.

with lx.libraries.openblas():
    kernel = lx.compile(module)
print(kernel.explain())                # which ops it does
"""

from linalg_ext.executable.libraries.prototype import (
    Gemm,
    OperandType,
    Prototype,
    gemm,
    library_names,
)
from linalg_ext.executable.libraries.registry import (
    SYMBOL,
    Library,
    NativeFunction,
    in_force,
    library,
    openblas,
)

__all__ = [
    "SYMBOL",
    "Gemm",
    "Library",
    "NativeFunction",
    "OperandType",
    "Prototype",
    "gemm",
    "in_force",
    "library",
    "library_names",
    "openblas",
]
