"""The kernel of a framework's model, from the cache or compiled; its module; lines of errors."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from linalg_ext.errors import ArgumentError, IRError, SourceLocation
from linalg_ext.executable import disk_cache
from linalg_ext.executable.kernel import CompilerOptions, Kernel

if TYPE_CHECKING:
    from linalg_ext.module import Module

ENTRY = "main"
"""The function of a module that a model, or a graph of one, becomes."""

_OWN = Path(__file__).parents[1]
_PYTHON = Path(sysconfig.get_path("stdlib"))


def kernel_of(
    kind: str,
    source: str | bytes,
    module: Callable[[], Module],
    refusal: Callable[[IRError], Exception],
    options: CompilerOptions,
) -> Kernel:
    """Return the kernel of a model, from the disk where it is kept, else compiled.

    Args:
        kind: the framework, for the key.
        source: all that the module is made of, for the key.
        module: imports the model; its function is `ENTRY`.
        refusal: makes the error for one of this library's compiler.
    """
    key = disk_cache.key_of_module(kind, source, ENTRY, options)
    if (entry := disk_cache.find(key)) is not None:
        return entry
    # A model from the disk cache does without MLIR, which this import loads.
    from linalg_ext.compiler.module_compilation import compile_copy

    try:
        return compile_copy(module(), ENTRY, options, trusted=True, key=key)
    except IRError as error:
        raise refusal(error) from error


def module_of(kernel: Kernel) -> Module:
    """Return the module that a kernel was compiled from: linalg on tensors.

    Raises:
        ArgumentError: the kernel has no record of it.
    """
    if kernel.recipe is None:
        raise ArgumentError(
            f"the kernel {kernel.signature} has no record of the module that it was compiled from"
        )
    from linalg_ext.ir.context import new_context
    from linalg_ext.module import Module

    return Module.parse(kernel.recipe.module, trusted=True, context=new_context())


def line_of_error(error: BaseException, packages: Sequence[ModuleType]) -> SourceLocation | None:
    """Return the last line that ran outside of these packages, of this library and of Python's."""
    folders = [Path(package.__file__).parent for package in packages if package.__file__]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        is_others = any(path.is_relative_to(folder) for folder in (*folders, _OWN))
        if not is_others and frame.filename[:1] != "<" and path.parent != _PYTHON:
            return SourceLocation(frame.filename, frame.lineno or 0, frame.name)
    return None
