"""The dtype of each type variable when an op is called on arrays.

As NumPy decides: operands of one type variable meet in their common dtype, Python numbers take the
dtype of what they meet, and what no input decides is the common dtype of all input tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linalg_ext.definition.model import OpDefinition, Operand, OperandKind
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import DTypeError

DType = np.dtype[Any]


def resolve_dtypes(
    definition: OpDefinition,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, DType],
    dtype: Any = None,
) -> dict[str, DType]:
    """The dtype of each type variable of a definition.

    Args:
        definition: the op.
        inputs: an array or a dtype for each input tensor; for each scalar, a Python number too.
        outputs: the dtypes of outputs that the caller has given, by name.
        dtype: what the caller wants the outputs to be, or None.

    Raises:
        DTypeError: dtypes have no common dtype, or no input decides.
    """
    used = {str(type_var) for type_var in definition.all_type_vars}
    dtypes = {name: np.dtype(fixed) for name, fixed in PREDEFINED.items() if name in used}
    wanted = {} if dtype is None else dict.fromkeys(_names(definition.outputs), np.dtype(dtype))
    given = {**outputs, **wanted}
    for output in definition.outputs:
        if output.name in given and str(output.type_var) not in PREDEFINED:
            dtypes[str(output.type_var)] = given[output.name]
    tensors = [o for o in definition.inputs if o.kind is OperandKind.INPUT_TENSOR]
    scalars = [o for o in definition.inputs if o.kind is OperandKind.SCALAR]
    for operands in (tensors, scalars):
        for name, group in _by_type_var(operands).items():
            if name not in dtypes:
                dtypes[name] = common_dtype(definition.name, [inputs[o.name] for o in group])
    for output in definition.outputs:
        name = str(output.type_var)
        if name not in dtypes:
            deciding = [inputs[o.name] for o in (tensors or scalars)]
            dtypes[name] = common_dtype(definition.name, deciding)
    return dtypes


def _by_type_var(operands: Sequence[Operand]) -> dict[str, list[Operand]]:
    groups: dict[str, list[Operand]] = {}
    for operand in operands:
        groups.setdefault(str(operand.type_var), []).append(operand)
    return groups


def _names(operands: Sequence[Operand]) -> list[str]:
    return [operand.name for operand in operands]


def common_dtype(op: str, values: Sequence[Any]) -> DType:
    """The dtype in which arrays, dtypes and Python numbers meet, by NumPy's rules.

    Raises:
        DTypeError: they have none.
    """
    if not values:
        raise DTypeError(f"{op}: no input decides the dtype of its output", hint="give dtype=")
    try:
        return np.result_type(*values)
    except TypeError as error:
        dtypes = " and ".join(
            str(getattr(value, "dtype", type(value).__name__)) for value in values
        )
        raise DTypeError(
            f"{op}: {dtypes} have no common dtype",
            hint="convert them with array.astype(...), or give dtype=",
            notes=[str(error)],
        ) from None
