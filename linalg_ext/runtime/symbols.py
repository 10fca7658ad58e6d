"""Which functions a module calls, and whether anything provides them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

from linalg_ext.bindings import ir
from linalg_ext.errors import UnresolvedSymbolError
from linalg_ext.runtime.libraries import missing_of


def declared_functions(module: ir.Module) -> Iterator[str]:
    """The functions that a module in the LLVM dialect declares, and does not define.

    LLVM's own intrinsics are left out.
    """
    for op in module.body.operations:
        if op.operation.name != "llvm.func" or len(op.operation.regions[0].blocks):
            continue
        name = ir.StringAttr(op.operation.attributes["sym_name"]).value
        if not name.startswith("llvm."):
            yield name


def defined_variables(module: ir.Module) -> frozenset[str]:
    """The variables that a module in the LLVM dialect defines."""
    operations = (op.operation for op in module.body.operations)
    return frozenset(
        ir.StringAttr(op.attributes["sym_name"]).value
        for op in operations
        if op.name == "llvm.mlir.global"
    )


def check_declarations(module: ir.Module, libraries: Sequence[ctypes.CDLL]) -> None:
    """Find every function that `module` declares, in the process or in `libraries`.

    Raises:
        UnresolvedSymbolError: naming all that are nowhere.
    """
    missing = missing_of(declared_functions(module), libraries)
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise UnresolvedSymbolError(
            f"the module calls {names}, which {'is' if len(missing) == 1 else 'are'} "
            "neither defined in it nor found in this process",
            cure="define it in the module, or pass the library that has it as libraries=[...]",
        )
