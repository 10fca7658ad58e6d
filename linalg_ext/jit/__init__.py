"""From a module to a kernel that is called on NumPy arrays."""

from linalg_ext.jit.compile import compile
from linalg_ext.jit.kernel import Kernel

__all__ = ["Kernel", "compile"]
