"""From a module to a kernel that is called on NumPy arrays."""

from linalg_ext.calling.kernel import Kernel
from linalg_ext.compiler.compilation import compile

__all__ = ["Kernel", "compile"]
