"""A copy of a given module, in a context of its own."""

from __future__ import annotations

import os
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, VerificationError, kind_of
from linalg_ext.ir.bytecode import to_bytecode
from linalg_ext.ir.diagnostics import collected, of_error
from linalg_ext.module import Module, ModuleLike


def own_copy(source: ModuleLike | bytes, *, trusted: bool, context: ir.Context) -> Module:
    """Return the module of `source`, parsed or copied; `source` itself is never changed.

    Args:
        source: text, bytecode, a `Module`, or upstream's own module or its operation.
        trusted: True for a text from MLIR itself: it is parsed without the guard process.
        context: to put it in.

    Raises:
        ArgumentError: `source` is not a module.
        ParseError, VerificationError, CrashError: it is not a valid one.
    """
    if isinstance(source, str | bytes):
        return Module.parse(source, trusted=trusted, context=context)
    return _copied(_module_of(source), context)


def as_source(source: ModuleLike | bytes) -> str | bytes:
    """Return the module of `source` as another process can take it: its text, or its bytecode.

    Raises:
        ArgumentError: `source` is not a module.
        VerificationError: it breaks a rule of one of its ops.
    """
    return source if isinstance(source, str | bytes) else _bytecode(_module_of(source))


def _module_of(source: Any) -> ir.Operation:
    """Return the operation of a module, ours or upstream's.

    Raises:
        ArgumentError: `source` is none.
    """
    if isinstance(source, Module):
        return source.payload().ir.operation
    if isinstance(source, ir.Module | ir.Operation | ir.OpView):
        operation = source.operation
        if operation.name == "builtin.module":
            return operation
        raise ArgumentError(
            f"{operation.name} is not a module",
            expected="the builtin.module around it",
        )
    raise ArgumentError(
        f"{kind_of(source)} is not a module",
        expected="MLIR text, a Module, or upstream's ir.Module",
        hint=_way_to_a_module(source),
    )


def _way_to_a_module(source: Any) -> str | None:
    if isinstance(source, os.PathLike):
        return "read the file: Path(...).read_text()"
    if hasattr(type(source), "state_dict"):  # torch.nn.Module, which is not imported for this
        return "lx.from_torch(model, arguments) compiles a model of PyTorch"
    if callable(source):
        return "lx.jit(f) compiles a function of NumPy's, lx.from_jax(f, x) one of JAX's"
    return None


def _copied(operation: Any, context: ir.Context) -> Module:
    """`operation` in another context: passes of several threads must not meet in one."""
    return Module.parse(
        _bytecode(operation),
        trusted=True,
        allow_unregistered=operation.context.allow_unregistered_dialects,
        context=context,
    )


def _bytecode(operation: Any) -> bytes:
    """`operation` in MLIR's binary form, which is asked of valid ones alone."""
    with collected(operation.context) as emitted:
        try:
            is_valid = operation.verify()
        except ir.MLIRError as error:
            emitted.extend(of_error(error))
            is_valid = False
    if not is_valid:
        raise VerificationError(
            "the module breaks a rule of one of its ops",
            hint="call module.operation.verify() after building it",
            diagnostics=[diagnostic.shown() for diagnostic in emitted],
        )
    return to_bytecode(operation)
