"""Loading dialects: those defined from Python, from bytecode for every context but the first.

Upstream builds the definition of a dialect op by op, and simplifies it, again for each context.
That takes 7 ms for `gml_st`; reading the result takes less than 1.
"""

from __future__ import annotations

import sys
from typing import Any, cast

from linalg_ext.bindings import ir, irdl, passmanager, provider
from linalg_ext.ir.bytecode import to_bytecode

_definitions: dict[str, bytes] = {}


def load_dialect(dialect: Any) -> None:
    """Load an `ext.Dialect` without attributes into the current context, if it is not there.

    Under the lock of `linalg_ext.ir.context`, for the loaded dialect is kept on the class.
    """
    name: str = dialect.DIALECT_NAMESPACE
    context = ir.Context.current
    if context is None or context.is_dialect_loaded(name):
        return
    if name in _definitions:
        _load_again(dialect, _definitions[name])
        return
    dialect.load()
    _have_no_module(name)
    if hasattr(dialect, "_mlir_module") and hasattr(ir, "register_type_caster"):
        _definitions[name] = to_bytecode(dialect._mlir_module.operation)
        dialect._mlir_module = None  # it would keep this context alive


def _have_no_module(dialect: str) -> None:
    """Record that no Python module has the ops of a dialect.

    Upstream imports one whenever an op of the dialect is touched, and without one Python would look
    for it each time, which takes 0.1 ms.
    """
    modules = cast(dict[str, Any], sys.modules)
    modules.setdefault(f"{provider()}.dialects.{dialect}", None)


def _load_again(dialect: Any, definition: bytes) -> None:
    """Do the part of `ext.Dialect.load` that each context needs.

    The classes of ops are registered for all contexts.
    """
    irdl.load_dialects(ir.Module.parse(definition))
    for op in dialect.operations:
        op._attach_traits()
    for kind in dialect.types:
        number = ir.DynamicType.lookup_typeid(kind.type_name)
        ir.register_type_caster(number, replace=True)(kind)


_MAKES_THEM = "builtin.module(func.func(convert-torch-to-tmtensor,convert-torch-to-stablehlo))"


def load_exported(context: ir.Context) -> None:
    """Load `stablehlo`, `chlo` and `tm_tensor`, in which exporters write, if they are there.

    Where the bindings come with torch-mlir, they know them, and give them to contexts through the
    passes that make their ops. LLVM's own have none: such a module does not parse.
    """
    try:
        from linalg_ext.bindings import exporters  # noqa: F401  # registers the passes
    except ImportError:
        return
    with context, ir.Location.unknown():
        passmanager.PassManager.parse(_MAKES_THEM).run(ir.Module.create().operation)
