"""What a call of an op does depends on its operands: the kind chooses who handles it.

An op may be called on arrays, on MLIR values, and on values that a tracer records. The code for
each lives above the language and needs MLIR, which the language does not: see `dispatch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from linalg_ext import dispatch

if TYPE_CHECKING:
    from linalg_ext.opdsl.op import StructuredOp


def call(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Run, build or record an op, whichever its operands ask for."""
    handle = dispatch.handler(f"call on {_kind_of(operands, keywords)}")
    return handle(op, operands, keywords)


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
