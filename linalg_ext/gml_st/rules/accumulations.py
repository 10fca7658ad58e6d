"""How the partial results of a reduction are put together: read from what the op computes."""

from __future__ import annotations

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.definition.functions import Function
from linalg_ext.definition.neutral import neutral_element
from linalg_ext.errors import LinalgExtError
from linalg_ext.gml_st.rules.protocol import Accumulation
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.structured.payload.casts import Scalar
from linalg_ext.structured.payload.function_ops import emit_function
from linalg_ext.structured.recognition import recognize
from linalg_ext.structured.utils.constants import number_constant


def accumulation_of(op: ir.Operation, number: int) -> Accumulation | None:
    """The accumulation of a result of a structured op; None where it is not one by a function."""
    try:
        recognized = recognize(op)
    except LinalgExtError:
        return None
    output = recognized.definition.outputs[number]
    reduction = recognized.definition.assignment_to(output.name).reduction
    element = ir.ShapedType(op.results[number].type).element_type
    if reduction is None or reduction.function is None or reduction.attribute is not None:
        return None
    start = _neutral(reduction.function, element)
    function = reduction.function.name
    if start is None:
        return None

    def combine(one: ir.Value, other: ir.Value) -> ir.Value:
        value = emit_function(function, [Scalar(one), Scalar(other)])
        if value is None:
            raise TypeError(f"{function} of {element} has a neutral element and no meaning")
        return value

    return Accumulation(combine, lambda: number_constant(start, element))


def _neutral(function: Function, element: ir.Type) -> complex | None:
    dtype = by_mlir(str(element))
    if dtype is None:
        return None
    try:
        value: np.generic = neutral_element(function.name, dtype.dtype)
    except LinalgExtError:
        return None
    number: complex = value.item()
    return number
