"""Elements: the scalars that the body of a recorded op computes with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.bindings import arith, ir, linalg
from linalg_ext.bindings import complex as complex_dialect
from linalg_ext.definition.functions import BINARY
from linalg_ext.errors import DTypeError, caller_location
from linalg_ext.runtime.dtypes import DType, by_dtype, dtype_named
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.payload import Scalar, cast, emit_function
from linalg_ext.tracing.values.trace import running

BOOL = np.dtype(np.bool_)
INT64 = np.dtype(np.int64)


def _operator(name: str) -> Callable[[Element, Element | float], Element]:
    return lambda x, y: apply(name, x, y)


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """A scalar of a body, with the operators of scalar expressions.

    Attributes:
        value: in the IR.
        dtype: the dtype that it stands for; it knows whether an integer is unsigned.
    """

    value: ir.Value
    dtype: DType

    __add__ = _operator("add")
    __sub__ = _operator("sub")
    __mul__ = __rmul__ = _operator("mul")
    __truediv__ = _operator("div")
    __and__ = _operator("and")
    __or__ = _operator("or")
    __xor__ = _operator("xor")
    __lt__ = _operator("lt")
    __le__ = _operator("le")
    __gt__ = _operator("gt")
    __ge__ = _operator("ge")

    def __neg__(self) -> Element:
        return apply("negf", self)

    def __invert__(self) -> Element:
        return apply("not", self)

    def equals(self, other: Element | float) -> Element:
        """Return whether two are equal."""
        return apply("eq", self, other)

    def differs(self, other: Element | float) -> Element:
        """Return whether two differ, as NaN does from itself."""
        return apply("ne", self, other)

    def is_nan(self) -> Element:
        """Return whether it is NaN; no integer is."""
        return self.differs(self) if self.dtype.kind not in "iub" else constant(False, BOOL)

    def like(self, number: complex) -> Element:
        """Return a number of the same dtype."""
        return constant(number, self.dtype)

    def to(self, dtype: DType) -> Element:
        """Cast as NumPy casts; to a boolean, whether it is other than 0."""
        if dtype == self.dtype:
            return self
        if dtype.kind in "iu" and self.dtype.kind not in "iub":
            return _to_integer(real(self) if self.dtype.kind == "c" else self, dtype)
        source = Scalar(self.value, _is_unsigned(self.dtype))
        target = element_type(dtype)
        scalar = cast(source, target, to_unsigned=_is_unsigned(dtype), read_unsigned=False)
        return Element(scalar.value, dtype)

    def bits(self, dtype: DType) -> Element:
        """Return the same bits read as another dtype of the same width."""
        if element_type(dtype) == self.value.type:
            return Element(self.value, dtype)
        return Element(arith.BitcastOp(element_type(dtype), self.value).result, dtype)


def apply(name: str, *args: Element | float) -> Element:
    """Return a function of scalar expressions; numbers take the dtype of the elements.

    Raises:
        DTypeError: it has no meaning for the dtype.
    """
    elements = [arg for arg in args if isinstance(arg, Element)]
    first = elements[0]
    scalars = [
        Scalar(arg.value, _is_unsigned(arg.dtype))
        if isinstance(arg, Element)
        else Scalar(number_constant(arg, first.value.type), _is_unsigned(first.dtype))
        for arg in args
    ]
    value = emit_function(name, scalars)
    if value is None:
        raise DTypeError(f"{name} has no meaning for {first.dtype}", where=caller_location())
    if name in BINARY and BINARY[name].is_predicate:
        return Element(value, BOOL)
    if name == "abs" and first.dtype.kind == "c":
        return Element(value, part_dtype(first.dtype))
    return Element(value, first.dtype)


def select(condition: Element, x: Element, y: Element) -> Element:
    """Return one of two elements of one dtype."""
    return Element(arith.SelectOp(condition.value, x.value, y.value).result, x.dtype)


def constant(number: complex, dtype: DType) -> Element:
    """Return a number."""
    return Element(number_constant(number, element_type(dtype)), dtype)


def position(dim: int) -> Element:
    """Return the position along a dimension of the iteration space, as int64, inside a body."""
    return of_index(linalg.IndexOp(dim).result)


def of_index(value: ir.Value) -> Element:
    """Return a value of type index as an int64."""
    return Element(arith.IndexCastOp(element_type(INT64), value).result, INT64)


def real(x: Element) -> Element:
    """Return the real part."""
    return Element(complex_dialect.ReOp(x.value).result, part_dtype(x.dtype))


def imaginary(x: Element) -> Element:
    """Return the imaginary part."""
    return Element(complex_dialect.ImOp(x.value).result, part_dtype(x.dtype))


def part_dtype(dtype: DType) -> DType:
    """Return the dtype of the parts of a complex number; of another, its own."""
    return np.zeros(0, dtype).real.dtype if dtype.kind == "c" else dtype


def accumulator_dtype(dtype: DType) -> DType:
    """Return the dtype that sums are carried in: float32 for narrow floats, as in NumPy."""
    is_narrow = dtype.kind not in "iubc" and dtype.itemsize < 4
    return np.dtype(np.float32) if is_narrow else dtype


def element_type(dtype: DType) -> ir.Type:
    """Return the element type of MLIR for a dtype."""
    trace = running()
    return trace.element(dtype) if trace else ir.Type.parse(by_dtype(dtype).mlir)


def as_dtype(value: Any) -> DType:
    """Return a dtype that MLIR knows.

    Raises:
        DTypeError: it is not one.
    """
    try:
        dtype = dtype_named(value)
        by_dtype(dtype)
    except TypeError as error:
        raise DTypeError(
            f"{value!r} is not a dtype that can be traced",
            where=caller_location(),
            hint=getattr(error, "hint", None) or "give np.float32, np.int64, bool, ...",
        ) from None
    return dtype


def _to_integer(x: Element, dtype: DType) -> Element:
    """Return any float without its fraction: its low bits where it is beyond the integers.

    Processors and compilers differ there, and LLVM says nothing. NaN and numbers beyond the widest
    integer become its least one, as on x86-64.
    """
    width = 64 if dtype.itemsize == 8 or dtype == np.uint32 else 32
    wide = np.dtype(f"i{width // 8}")
    if x.dtype.itemsize < 4:
        x = x.to(np.dtype(np.float32))
    if dtype == np.uint64:
        # The upper half of the range is that of signed integers, moved.
        half = 2.0**63
        is_upper = x >= half
        low = _truncated(select(is_upper, x - half, x), wide)
        return Element(select(is_upper, low ^ low.like(-(2**63)), low).value, dtype)
    return Element(_truncated(x, wide).value, wide).to(dtype)


def _truncated(x: Element, wide: DType) -> Element:
    least = -(2.0 ** (8 * wide.itemsize - 1))
    is_inside = apply("abs", x) < -least
    inside = select(is_inside, x, x.like(least))
    return Element(arith.FPToSIOp(element_type(wide), inside.value).result, wide)


def _is_unsigned(dtype: DType) -> bool:
    """Booleans count as 0 and 1."""
    if dtype.kind in "ub":
        return True
    return dtype.kind not in "ifc" and by_dtype(dtype).unsigned == dtype
