"""The dtypes, among those that MLIR has, of an op that is called on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linalg_ext.definition import calls
from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import DTypeError
from linalg_ext.runtime.dtypes import DType, by_dtype


def resolve_dtypes(
    definition: OpDefinition,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, DType],
    dtype: Any = None,
) -> dict[str, DType]:
    """As `definition.calls.resolve_dtypes`, and every dtype one that MLIR knows.

    Raises:
        DTypeError: one is not.
    """
    dtypes = calls.resolve_dtypes(definition, inputs, outputs, dtype)
    for name, resolved in dtypes.items():
        try:
            by_dtype(resolved)
        except DTypeError as error:
            error.what = f"{definition.name}, type variable {name}: {error.what}"
            raise
    return dtypes


def unsigned_type_vars(dtypes: Mapping[str, DType]) -> frozenset[str]:
    """Return the type variables whose integers are unsigned; booleans count as 0 and 1."""
    elements = {name: by_dtype(dtype) for name, dtype in dtypes.items()}
    return frozenset(
        name
        for name, element in elements.items()
        # NumPy takes None for float64: a type without an unsigned twin is asked for first.
        if element.kind == "bool"
        or (element.unsigned is not None and element.unsigned == dtypes[name])
    )
