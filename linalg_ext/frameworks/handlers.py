"""Calls on values of each kind, for the rooms below: ops, einsum, kernels and jitted functions.

The facade `calls`: each name is imported from its home when it is first asked for.
"""

from __future__ import annotations

from linalg_ext.utils.hooks import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "compiler.op_calls": "call_on_arrays",
        "frameworks.dask.einsums": "einsum_on_dask",
        "frameworks.dask.functions": "jitted_on_dask kernel_on_dask",
        "frameworks.dask.ops": "call_on_dask",
        "structured.op_builders": "call_on_values",
        "tracing.functions.linear_algebra": "einsum_on_traced",
        "tracing.functions.op_calls": "call_on_traced",
        "tracing.jit_function": "einsum_compiled einsum_tuned",
    },
    package="linalg_ext",
)
