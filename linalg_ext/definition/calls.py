"""The inputs, dtypes and shapes of one call of an op on arrays or traced values.

Dtypes follow NumPy: operands of one type variable meet in their common dtype, and Python numbers
take the dtype of the operand they meet. A type that no input decides is the common dtype of all
input tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.model import OpDefinition, OperandKind
from linalg_ext.definition.operand_maps import add_readings
from linalg_ext.definition.shapes import (
    Size,
    check_rank,
    check_shapes,
    infer_extents,
    output_shape,
)
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import ArityError, DTypeError, ShapeError, counted
from linalg_ext.symbolic.integers import is_eq


def split_inputs(
    definition: OpDefinition, operands: Sequence[Any], keywords: dict[str, Any]
) -> list[Any]:
    """The inputs of a call in order, those given by name taken out of `keywords`.

    Raises:
        ArityError: too many or too few.
    """
    names = [operand.name for operand in definition.inputs]
    if len(operands) > len(names):
        raise ArityError(
            f"{definition.name} got {len(operands)} inputs",
            expected=f"{len(names)}: {', '.join(names)}",
        )
    inputs = list(operands)
    for name in names[len(operands) :]:
        if name not in keywords:
            raise ArityError(
                f"{definition.name} got no input {name}",
                expected=f"{counted(len(names), 'input')}: {', '.join(names)}",
            )
        inputs.append(keywords.pop(name))
    repeated = [name for name in names if name in keywords]
    if repeated:
        raise ArityError(f"{definition.name} got input {repeated[0]} twice")
    return inputs


def per_output(definition: OpDefinition, keyword: str, value: Any) -> dict[str, Any]:
    """`out=` or `init=` by the name of the output; a tuple has one, or None, for each output.

    Raises:
        ArityError: too many or too few.
    """
    if value is None:
        return {}
    names = [output.name for output in definition.outputs]
    values = value if isinstance(value, tuple) else (value,)
    if len(values) != len(names):
        raise ArityError(
            f"{definition.name}: {keyword}= has {counted(len(values), 'array')}",
            expected=f"{len(names)}: for {', '.join(names)}",
        )
    return {name: array for name, array in zip(names, values, strict=True) if array is not None}


DType = np.dtype[Any]


def resolve_dtypes(
    definition: OpDefinition,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, DType],
    dtype: Any = None,
) -> dict[str, DType]:
    """The dtype of each type variable of a definition.

    Args:
        inputs: an array or a dtype for each input tensor; for each scalar, a Python number too.
        outputs: the dtypes of outputs that the caller has given, by name.
        dtype: the dtype of the outputs that the caller asks for, or None.

    Raises:
        DTypeError: dtypes have no common dtype, or no input decides.
    """
    used = {str(type_var) for type_var in definition.all_type_vars}
    dtypes = {name: np.dtype(fixed) for name, fixed in PREDEFINED.items() if name in used}
    by_dtype = {} if dtype is None else {o.name: np.dtype(dtype) for o in definition.outputs}
    stated = {**outputs, **by_dtype}
    for output in definition.outputs:
        if output.name in stated and str(output.type_var) not in PREDEFINED:
            dtypes[str(output.type_var)] = stated[output.name]
    tensors = [o for o in definition.inputs if o.kind is OperandKind.INPUT_TENSOR]
    scalars = [o for o in definition.inputs if o.kind is OperandKind.SCALAR]
    for operands in (tensors, scalars):
        for name in dict.fromkeys(str(o.type_var) for o in operands):
            if name not in dtypes:
                deciding = [inputs[o.name] for o in operands if str(o.type_var) == name]
                dtypes[name] = common_dtype(definition.name, deciding)
    for output in definition.outputs:
        name = str(output.type_var)
        if name not in dtypes:
            deciding = [inputs[o.name] for o in (tensors or scalars)]
            dtypes[name] = common_dtype(definition.name, deciding)
    return dtypes


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
        kinds = (
            value if isinstance(value, np.dtype) else getattr(value, "dtype", type(value).__name__)
            for value in values
        )
        raise DTypeError(
            f"{op}: {' and '.join(map(str, kinds))} have no common dtype",
            hint="convert them with .astype(...), or give dtype=",
            notes=[str(error)],
        ) from None


Shape = tuple[Size, ...]
"""Sizes of a tensor, some of which may be open."""


def resolve_shapes(
    definition: OpDefinition,
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    attributes: CallAttributes,
) -> dict[str, Shape]:
    """The shape of each tensor operand; those of outputs that are not given follow from the rest.

    Raises:
        ShapeError: shapes do not fit together, or do not determine an output's.
    """
    shapes = {**inputs, **outputs}
    try:
        if definition.is_rank_polymorphic:
            return _elementwise(definition, inputs, outputs)
        for name, shape in shapes.items():
            check_rank(definition, name, len(shape))
        extents = infer_extents(definition, shapes, attributes.symbols)
        resolved = dict(shapes)
        for output in definition.outputs:
            resolved.setdefault(output.name, output_shape(definition, output.name, extents))
        check_shapes(definition, resolved, attributes.symbols, extents)
    except ShapeError as error:
        raise add_readings(error, definition, shapes, attributes.symbols) from None
    return resolved


def _elementwise(
    definition: OpDefinition, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]
) -> dict[str, Shape]:
    """An element-wise op takes operands of one shape, and inputs of rank 0; none is broadcast."""
    shapes = {**inputs, **outputs}
    if not shapes:
        raise ShapeError(
            f"{definition.name}: no operand has a shape", hint="give out=, which says how large"
        )
    ranked = {name: shape for name, shape in shapes.items() if shape}
    first, shape = next(iter((ranked or shapes).items()))
    for name, other in shapes.items():
        if other != shape and (other or name in outputs) and not _may_agree(other, shape):
            raise ShapeError(
                f"{definition.name}: {name} has shape {other}, but {first} has shape {shape}",
                expected="operands of one shape; inputs may be of rank 0",
                hint="broadcast it yourself: numpy.broadcast_to(array, shape)",
            )
    return {**inputs, **{output.name: shape for output in definition.outputs}}


def _may_agree(shape: Shape, other: Shape) -> bool:
    """Return whether shapes that differ may be equal in a call: some of their sizes are open."""
    pairs = zip(shape, other, strict=False)
    return len(shape) == len(other) and all(is_eq(*pair) is not False for pair in pairs)
