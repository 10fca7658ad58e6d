"""What a call of an op does depends on its operands; the rooms above register how.

An op may be called on arrays, on MLIR values, and on values that a tracer records. The code for
each lives above the language and needs MLIR, which the language does not: handlers are registered
by the name of a module and a function, and imported at the first call.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from linalg_ext.errors import ArgumentError

if TYPE_CHECKING:
    from linalg_ext.opdsl.op import StructuredOp


class CallHandler(Protocol):
    """Runs, builds or records one call of an op."""

    def __call__(
        self, op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Do it."""


_HANDLERS: dict[str, str] = {}


def register_call_handlers(handlers: Mapping[str, str]) -> None:
    """Say who handles calls on `"arrays"`, `"values"` and `"traced"` operands.

    Args:
        handlers: for each kind, `"module:function"`.
    """
    _HANDLERS.update(handlers)


def call(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Dispatch a call by the kind of its operands."""
    kind = _kind_of(operands, keywords)
    try:
        module, function = _HANDLERS[kind].split(":")
    except KeyError:
        raise ArgumentError(
            f"{op.op_name} cannot be called on {kind}: nothing is registered for it"
        ) from None
    handler: CallHandler = getattr(importlib.import_module(module), function)
    return handler(op, operands, keywords)


def _kind_of(operands: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    everything = [*operands, *_flattened(keywords.values())]
    if any(getattr(value, "__linalg_ext_traced__", False) for value in everything):
        return "traced"
    if "outs" in keywords or any(_is_ir(value) for value in everything):
        return "values"
    return "arrays"


def _is_ir(value: object) -> bool:
    """Whether this is a value or an op of MLIR, told without importing MLIR."""
    return any(cls.__name__ in ("Value", "_OperationBase", "OpView") for cls in type(value).__mro__)


def _flattened(values: Iterable[object]) -> Iterable[object]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value
