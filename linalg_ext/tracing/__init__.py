"""Python functions of arrays, traced: NumPy code as it stands becomes one function of linalg."""

from linalg_ext.tracing.arguments import Static
from linalg_ext.tracing.functions.callbacks import pure_callback
from linalg_ext.tracing.functions.control import cond, loop
from linalg_ext.tracing.functions.sized_results import argwhere, flatnonzero, nonzero, unique
from linalg_ext.tracing.functions.slicing import dynamic_slice, dynamic_update_slice
from linalg_ext.tracing.jit_function import JitFunction, jit
from linalg_ext.tracing.lowered import Compiled, Lowered
from linalg_ext.tracing.values.sizes import Dim
from linalg_ext.tracing.values.specs import ShapeDtype

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
