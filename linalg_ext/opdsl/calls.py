"""Kinds of calls of an op, by its operands.

An op may be called on arrays, on dask's collections of them, on MLIR values, and on values that a
tracer records. The code for each kind lives above the language. It needs MLIR, which the language
does not: see `dispatch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linalg_ext.utils.hooks import is_dask


def kind_of_call(operands: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    """`"arrays"`, `"dask"`, `"values"` or `"traced"`: told without importing what they are of."""
    everything = [*operands, *_flattened(keywords.values())]
    if any(getattr(value, "__linalg_ext_traced__", False) for value in everything):
        return "traced"
    if any(is_dask(value) for value in everything):
        return "dask"
    if "outs" in keywords or any(_is_ir(value) for value in everything):
        return "values"
    return "arrays"


def _is_ir(value: object) -> bool:
    """Return whether this is a value or an op of MLIR."""
    return any(cls.__name__ in ("Value", "_OperationBase", "OpView") for cls in type(value).__mro__)


def _flattened(values: Iterable[object]) -> Iterable[object]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value
