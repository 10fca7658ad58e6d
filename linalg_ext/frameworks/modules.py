"""The module that a kernel was compiled from, parsed on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linalg_ext.errors import ArgumentError
from linalg_ext.executable.kernel import Kernel

if TYPE_CHECKING:
    from linalg_ext.module import Module


def module_of(kernel: Kernel) -> Module:
    """Linalg on tensors, as it was compiled.

    Raises:
        ArgumentError: the kernel does not know.
    """
    if kernel.recipe is None:
        raise ArgumentError(
            f"the kernel {kernel.signature} has no record of the module that it was compiled from"
        )
    # Only here what loads MLIR: a kernel that is kept does without.
    from linalg_ext.ir.context import new_context
    from linalg_ext.module import Module

    return Module.parse(kernel.recipe.module, trusted=True, context=new_context())
