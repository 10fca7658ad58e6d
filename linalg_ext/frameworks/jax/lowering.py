"""A function of JAX as a module of linalg on tensors.

JAX's own copy of MLIR writes what only it lowers (its dialect CHLO, composites) as StableHLO; what
comes here is text, with the line of the program in the location of every op.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from linalg_ext.errors import IRError, ModelError, SourceLocation
from linalg_ext.frameworks.jax.requirements import jax

if TYPE_CHECKING:
    from linalg_ext.module import Module

ENTRY = "main"
"""The function of a module that JAX makes."""

_PIPELINE = (
    "builtin.module(func.func(stablehlo-legalize-composite-to-call),"
    "func.func(stablehlo-legalize-deprecated-ops,chlo-legalize-to-stablehlo,"
    "stablehlo-complex-math-expander))"
)
_FRAME = re.compile(r'"([^"]+)"\("([^"]+\.py)":(\d+)')
_BARE_FRAME = re.compile(r'"([^"]+\.py)":(\d+)')


def stablehlo(lowering: Any) -> str:
    """Return the result of `jax.jit(...).lower(...)` as text that upstream's StableHLO reads."""
    from jaxlib.mlir import ir, passmanager

    module = lowering.compiler_ir("stablehlo")
    with module.context:
        module = ir.Module.parse(module.operation.get_asm(enable_debug_info=True))
        passmanager.PassManager.parse(_PIPELINE).run(module.operation)
        _forget_devices(module.operation, ir.WalkResult.ADVANCE)
    text: str = module.operation.get_asm(enable_debug_info=True)
    return text


def lowered(text: str, name: str) -> Module:
    """StableHLO as linalg on tensors: the function `main`.

    Args:
        text: as `stablehlo` gives it.
        name: of the function, for errors.

    Raises:
        ModelError: an op of it does not come through; names the op and the line of the program.
    """
    # Only here what loads MLIR: a function that is kept does without.
    from linalg_ext.module import Module

    try:
        return Module.parse(text, trusted=True, filename=name)
    except IRError as error:
        told = "\n".join([str(error.where), *map(str, error.diagnostics)])
        raise ModelError(
            f"{name} cannot be compiled: {error.what}",
            where=line_of(told),
            hint=error.hint or "write that line with other functions",
            notes=[str(line).splitlines()[0][:200] for line in error.diagnostics[:1]],
        ) from error


def line_of(location: str) -> SourceLocation | None:
    """The line of the user's program that a location of JAX's names."""
    packages = os.path.dirname(os.path.dirname(jax().__file__)) + os.sep
    for function, file, line in _FRAME.findall(location):
        if not file.startswith((packages + "jax" + os.sep, packages + "jaxlib" + os.sep)):
            return SourceLocation(file, int(line), function.rpartition(".")[2])
    for file, line in _BARE_FRAME.findall(location):
        if not file.startswith(packages):
            return SourceLocation(file, int(line), "")
    return None


def _forget_devices(root: Any, go_on: Any) -> None:
    """Take out what says on which of many devices what is computed: here is one."""
    meshes = []

    def visit(op: Any) -> Any:
        for name in [name for name in op.attributes if str(name).startswith(("mhlo.", "sdy."))]:
            del op.attributes[name]
        if op.name == "sdy.mesh":
            meshes.append(op)
        return go_on

    root.walk(visit)
    for mesh in meshes:
        mesh.erase()
