"""Constants of any element type, and the families that element types fall into."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from linalg_ext.bindings import arith, complex, ir
from linalg_ext.errors import DTypeError
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.structured.operands import producer

_INDEX_BITS = 64


def is_float(element: ir.Type) -> bool:
    """Any floating-point type, the 8-bit ones included."""
    # The bindings have no class for the last three, and give them out as plain types.
    return isinstance(element, ir.FloatType) or str(element) in ("f80", "f128", "tf32")


def is_integer(element: ir.Type) -> bool:
    """Any integer type of a width, or index."""
    return isinstance(element, (ir.IntegerType, ir.IndexType))


def is_bool(element: ir.Type) -> bool:
    """The type i1."""
    return isinstance(element, ir.IntegerType) and element.width == 1


def is_complex(element: ir.Type) -> bool:
    """Any complex type."""
    return isinstance(element, ir.ComplexType)


def integer_constant(element: ir.Type, value: int) -> ir.Value:
    """`arith.constant` of an integer type or index, which must hold the value.

    The bindings take signed numbers: an unsigned one is given as the signed one of its bits.
    """
    width = element.width if isinstance(element, ir.IntegerType) else _INDEX_BITS
    if width > 1 and value >= 1 << (width - 1):
        value -= 1 << width
    return result_of(arith.ConstantOp(element, value))


def index(value: Any) -> Any:
    """Return a number as a constant of the type `index`; a value as it is."""
    return integer_constant(ir.IndexType.get(), value) if isinstance(value, int) else value


def float_constant(element: ir.Type, value: float) -> ir.Value:
    """`arith.constant` of a floating-point type, rounded to it."""
    return result_of(arith.ConstantOp(element, float(value)))


def number_constant(value: builtins.complex, element: ir.Type) -> ir.Value:
    """A constant of an element type from a Python or NumPy number.

    Raises:
        DTypeError: the type cannot hold the number: a fraction or a too large number for an
            integer, an imaginary part for a real type.
    """
    number = _checked(value, element)
    if is_complex(element):
        part = ir.ComplexType(element).element_type
        parts = [ir.FloatAttr.get(part, x) for x in (number.real, number.imag)]
        return result_of(complex.ConstantOp(element, ir.ArrayAttr.get(parts)))
    if is_float(element):
        return float_constant(element, number.real)
    return integer_constant(element, int(number.real))


def number_of(value: ir.Value) -> int | float | None:
    """The number that a value is; None where it is not `arith.constant` of a scalar."""
    op = producer(value)
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    if isinstance(attribute, (ir.IntegerAttr, ir.FloatAttr)):
        return attribute.value
    return None


def keeps_value(number: float, element: ir.Type, *, unsigned: bool) -> bool:
    """Return whether a number keeps its value when it is cast to a float or integer type."""
    array_type = by_mlir(str(element))
    if array_type is None or array_type.kind not in ("float", "integer"):
        return False
    if unsigned and number < 0:
        return False
    with np.errstate(all="ignore"):
        rounded = np.asarray(number).astype(array_type.dtype)
    return bool(builtins.complex(rounded[()]) == builtins.complex(number))


def result_of(op: ir.OpView) -> ir.Value:
    """The only result of an op."""
    return op.operation.results[0]


def _checked(value: builtins.complex, element: ir.Type) -> builtins.complex:
    if is_integer(element):
        return _checked_integer(value, element)
    number = builtins.complex(value)
    if number.imag and not is_complex(element):
        raise DTypeError(f"{value!r} has an imaginary part, which {element} cannot hold")
    return number


def _checked_integer(value: builtins.complex, element: ir.Type) -> int:
    number = value if isinstance(value, int) else builtins.complex(value)
    if number.imag or not math.isfinite(number.real) or int(number.real) != number.real:
        raise DTypeError(f"{value!r} is not an integer: {element} cannot hold it")
    whole = value if isinstance(value, int) else int(number.real)
    width = ir.IntegerType(element).width if isinstance(element, ir.IntegerType) else _INDEX_BITS
    # Integers of MLIR have no sign: numbers that fit with one or without one are accepted.
    if not -(2 ** (width - 1)) <= whole < 2**width:
        raise DTypeError(f"{value!r} does not fit in {element}")
    return whole
