"""Calls on values of each kind, for the rooms below: ops, einsum, kernels and jitted functions.

The facade `calls`; each function imports what handles it when it is first called.
"""

from __future__ import annotations

from typing import Any


def call_on_values(op: Any, operands: Any, keywords: Any) -> Any:
    """Build an op at the insertion point."""
    from linalg_ext.structured.forms.calls import call_on_values as handle

    return handle(op, operands, keywords)


def call_on_arrays(op: Any, operands: Any, keywords: Any) -> Any:
    """Run an op on arrays."""
    from linalg_ext.compiler.op_calls import call_on_arrays as handle

    return handle(op, operands, keywords)


def call_on_traced(op: Any, operands: Any, keywords: Any) -> Any:
    """Record a call of an op."""
    from linalg_ext.tracing.op_calls import call_on_traced as handle

    return handle(op, operands, keywords)


def call_on_dask(op: Any, operands: Any, keywords: Any) -> Any:
    """Return the dask array that an op makes of others."""
    from linalg_ext.frameworks.dask.ops import call_on_dask as handle

    return handle(op, operands, keywords)


def einsum_on_traced(request: Any, operands: Any) -> Any:
    """Record an einsum."""
    from linalg_ext.tracing.contractions import einsum_on_traced as handle

    return handle(request, operands)


def einsum_on_dask(*asked: Any) -> Any:
    """Return the dask array of an einsum."""
    from linalg_ext.frameworks.dask.einsums import einsum_on_dask as handle

    return handle(*asked)


def einsum_compiled(request: Any, arrays: Any) -> Any:
    """Run an einsum as one kernel."""
    from linalg_ext.tracing.jitted_einsum import on_arrays as handle

    return handle(request, arrays)


def einsum_tuned(*asked: Any) -> Any:
    """Run the fastest kernel of an einsum."""
    from linalg_ext.tracing.jitted_einsum import tuned_on_arrays as handle

    return handle(*asked)


def jitted_on_dask(*call: Any) -> Any:
    """Return the dask arrays that a jitted function makes of others."""
    from linalg_ext.frameworks.dask.functions import call_jitted_on_dask as handle

    return handle(*call)


def kernel_on_dask(*call: Any) -> Any:
    """Return the dask arrays that a kernel makes of others."""
    from linalg_ext.frameworks.dask.functions import call_kernel_on_dask as handle

    return handle(*call)
