"""Python functions of arrays, traced: NumPy code as it stands becomes one function of linalg."""

from linalg_ext.tracing.callbacks import pure_callback
from linalg_ext.tracing.control import cond, loop
from linalg_ext.tracing.dynamic_slices import dynamic_slice, dynamic_update_slice
from linalg_ext.tracing.jit_function import JitFunction, jit
from linalg_ext.tracing.lowered import Compiled, Lowered
from linalg_ext.tracing.sized_results import argwhere, flatnonzero, nonzero, unique
from linalg_ext.tracing.sizes import Dim
from linalg_ext.tracing.specs import ShapeDtype
from linalg_ext.tracing.static import Static

__all__ = [
    "Compiled",
    "Dim",
    "JitFunction",
    "Lowered",
    "ShapeDtype",
    "Static",
    "argwhere",
    "cond",
    "dynamic_slice",
    "dynamic_update_slice",
    "flatnonzero",
    "jit",
    "loop",
    "nonzero",
    "pure_callback",
    "unique",
]
