"""Calls on values of each kind, for the rooms below: ops, einsum, kernels and jitted functions.

The facade `calls`: each name is imported from its home when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "call_on_values": "structured.op_builders",
    "call_on_arrays": "compiler.op_calls",
    "call_on_traced": "tracing.functions.op_calls",
    "call_on_dask": "frameworks.dask.ops",
    "einsum_on_traced": "tracing.functions.linear_algebra",
    "einsum_on_dask": "frameworks.dask.einsums",
    "einsum_compiled": "tracing.jit_function",
    "einsum_tuned": "tracing.jit_function",
    "jitted_on_dask": "frameworks.dask.functions",
    "kernel_on_dask": "frameworks.dask.functions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(name)
    handler = globals()[name] = getattr(import_module(f"linalg_ext.{_HOMES[name]}"), name)
    return handler
