"""Services of the compiler for the rooms below.

The facade `compiler`; each function imports its handler when it is first called.
"""

from __future__ import annotations

from typing import Any


def kernel_of(recipe: Any) -> Any:
    """Compile a recipe."""
    from linalg_ext.compiler.compilation import compile_recipe as handle

    return handle(recipe)


def text_of(bytecode: Any, allow_unregistered: Any) -> Any:
    """Return a module as MLIR, large constants elided."""
    from linalg_ext.compiler.stages import text_of as handle

    return handle(bytecode, allow_unregistered)


def size_of(bytecode: Any, allow_unregistered: Any) -> Any:
    """Return the number of ops of a module."""
    from linalg_ext.compiler.stages import size_of as handle

    return handle(bytecode, allow_unregistered)


def position_independent(*code: Any) -> Any:
    """Return object code of a module without absolute addresses."""
    from linalg_ext.compiler.module_compilation import position_independent as handle

    return handle(*code)


def seconds_of(modules: Any, function: Any) -> Any:
    """Return the seconds of a call of a function of each module."""
    from linalg_ext.compiler.group_measurement import seconds_of as handle

    return handle(modules, function)


def calibrate(target: Any) -> Any:
    """Return a target with the figures that were measured on this machine."""
    from linalg_ext.compiler.calibration import calibrate as handle

    return handle(target)


def cut(work: Any, threads: Any) -> Any:
    """Cut work into slices for threads."""
    from linalg_ext.compiler.code_generation import cut as handle

    return handle(work, threads)


def whole(work: Any, explanation: Any) -> Any:
    """Return the code for one thread of work that is also shared."""
    from linalg_ext.compiler.code_generation import whole as handle

    return handle(work, explanation)
