"""From a module to a kernel that is called on NumPy arrays."""

from linalg_ext.compiler.compilation import compile
from linalg_ext.executable.kernel import Kernel

__all__ = ["Kernel", "compile"]
