"""Element types: what MLIR calls them, what NumPy calls them, how they lie in memory.

One table for the whole library. Integers of MLIR's `iN` are signless: one type is read as two
dtypes (`i8` as int8 and as uint8). Sub-byte integers take one byte an element on both sides, see
`ElementType.is_sub_byte` for the unused bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np

from linalg_ext.errors import DTypeError

DType = np.dtype[Any]

Kind = Literal["float", "complex", "integer", "index", "bool"]


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type of MLIR and how NumPy holds it.

    Attributes:
        mlir: the type as MLIR spells it.
        dtype: the dtype that stands for it; signed for a signless integer.
        kind: the family.
        width: bits of a value.
        unsigned: the other dtype that a signless integer can be read as.
    """

    mlir: str
    dtype: DType
    kind: Kind
    width: int
    unsigned: DType | None = None

    @property
    def storage(self) -> int:
        """Bytes that one element takes in an array and in a memref."""
        return self.dtype.itemsize

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """Every dtype that an array of this type may have."""
        return (self.dtype,) if self.unsigned is None else (self.dtype, self.unsigned)

    @property
    def is_sub_byte(self) -> bool:
        """Whether values leave bits of their byte unused.

        LLVM reads rightly only where those bits are zero. ml_dtypes leaves anything in them and
        ignores it; NumPy keeps those of a bool zero unless somebody made it from raw bytes.
        """
        return self.width < 8

    def __str__(self) -> str:
        return self.mlir


def integer_range(dtype: DType) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype, NumPy's or ml_dtypes'."""
    info: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(info.min), int(info.max)


def _float(mlir: str, scalar: type[Any]) -> ElementType:
    dtype = np.dtype(scalar)
    return ElementType(mlir, dtype, "float", dtype.itemsize * 8)


def _signless(width: int, signed: type[Any], unsigned: type[Any]) -> ElementType:
    return ElementType(f"i{width}", np.dtype(signed), "integer", width, np.dtype(unsigned))


ELEMENT_TYPES: tuple[ElementType, ...] = (
    _float("f64", np.float64),
    _float("f32", np.float32),
    _float("f16", np.float16),
    _float("bf16", ml_dtypes.bfloat16),
    _float("f8E5M2", ml_dtypes.float8_e5m2),
    _float("f8E4M3", ml_dtypes.float8_e4m3),
    _float("f8E4M3FN", ml_dtypes.float8_e4m3fn),
    _float("f8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz),
    _float("f8E4M3FNUZ", ml_dtypes.float8_e4m3fnuz),
    _float("f8E4M3B11FNUZ", ml_dtypes.float8_e4m3b11fnuz),
    _float("f8E3M4", ml_dtypes.float8_e3m4),
    _float("f8E8M0FNU", ml_dtypes.float8_e8m0fnu),
    ElementType("i1", np.dtype(np.bool_), "bool", 1),
    _signless(4, ml_dtypes.int4, ml_dtypes.uint4),
    _signless(8, np.int8, np.uint8),
    _signless(16, np.int16, np.uint16),
    _signless(32, np.int32, np.uint32),
    _signless(64, np.int64, np.uint64),
    ElementType("index", np.dtype(np.int64), "index", 64),
    ElementType("complex<f32>", np.dtype(np.complex64), "complex", 64),
    ElementType("complex<f64>", np.dtype(np.complex128), "complex", 128),
)
"""Every element type that an array can be passed as."""

_BY_MLIR = {element.mlir: element for element in ELEMENT_TYPES}
_BY_DTYPE = {
    dtype: element
    for element in ELEMENT_TYPES
    if element.kind != "index"
    for dtype in element.dtypes
}


def by_mlir(text: str) -> ElementType | None:
    """The element type that MLIR spells `text`, or None where arrays cannot hold it."""
    return _BY_MLIR.get(text)


def by_dtype(dtype: np.typing.DTypeLike) -> ElementType:
    """The element type that an array of `dtype` is passed as; integers are signless.

    Raises:
        DTypeError: MLIR has no such element type, or the byte order is not the machine's.
    """
    dtype = np.dtype(dtype)
    element = _BY_DTYPE.get(dtype)
    if element is None:
        raise DTypeError(
            f"dtype {describe_dtype(dtype)} has no element type in MLIR",
            expected="one of " + ", ".join(str(known) for known in _BY_DTYPE),
            cure=cure_for(dtype),
        )
    return element


def dtype_named(value: Any) -> DType:
    """The dtype that a caller of arrays names: what NumPy takes for one, else MLIR's spelling.

    `"f32"` and `"bf16"` are MLIR's; a text that is both is NumPy's, whose `"i8"` has 8 bytes.

    Raises:
        TypeError: it is neither.
    """
    try:
        dtype: DType = np.dtype(value)
        return dtype
    except TypeError:
        element = by_mlir(value) if isinstance(value, str) else None
        if element is None:
            raise
        return element.dtype


def mlir_text(dtype: np.typing.DTypeLike) -> str:
    """How MLIR spells `dtype`: `"f32"` for float32, `"i8"` for int8 and uint8.

    Raises:
        DTypeError: MLIR has no such element type, or the byte order is not the machine's.
    """
    return by_dtype(dtype).mlir


def describe_dtype(dtype: DType) -> str:
    """The name of a dtype for a message, with its byte order where that is not the machine's."""
    if not dtype.isnative:
        order = "big" if dtype.byteorder == ">" else "little"
        return f"{dtype.newbyteorder('=')} ({order}-endian)" if dtype.names is None else str(dtype)
    return str(dtype)


def cure_for(dtype: DType) -> str | None:
    """How an array of a dtype that no element type stands for is made into one that can pass."""
    if not dtype.isnative:
        return "convert it with array.astype(array.dtype.newbyteorder('='))"
    if dtype.names is not None:
        return "pass one field at a time: array['field']"
    if dtype.kind == "O":
        return "convert it with array.astype(np.float64), or the numeric dtype that is meant"
    if dtype.type is np.void:
        return "if its bytes are such values, say so with array.view(dtype)"
    if dtype.kind in "mM":
        return "pass the count behind it: array.view(np.int64)"
    if dtype == np.dtype(np.longdouble):
        return "convert it with array.astype(np.float64)"
    return None


def to_machine(array: np.ndarray[Any, Any], element: ElementType) -> np.ndarray[Any, Any]:
    """`array` with the unused bits of each byte cleared; itself where they are already.

    Only for an `element` that `is_sub_byte`.
    """
    raw = array.view(np.uint8)
    mask = (1 << element.width) - 1
    if not raw.size or int(raw.max()) <= mask:
        return array
    if element.kind == "bool":
        return np.asarray(raw != 0)
    return np.asarray(raw & mask).view(array.dtype)
