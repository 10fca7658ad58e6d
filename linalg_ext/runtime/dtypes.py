"""Element types: their names in MLIR and NumPy, and their layout in memory.

One table for the whole library. Integers of MLIR's `iN` are signless: one type is read as two
dtypes (`i8` as int8 and as uint8). Sub-byte integers take one byte an element on both sides, see
`ElementType.is_sub_byte` for the unused bits.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from linalg_ext.errors import DTypeError

DType = np.dtype[Any]

Kind = Literal["float", "complex", "integer", "index", "bool"]


class ElementType(NamedTuple):
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
        """True where values leave bits of their byte unused.

        LLVM reads them correctly only where those bits are zero. ml_dtypes leaves any value in them
        and ignores it. NumPy keeps those of a bool zero, except in arrays made from raw bytes.
        """
        return self.width < 8

    @property
    def unused_bits(self) -> int:
        """The bits of a byte that must be zero, as a mask; 0 where all are used."""
        return 0xFF & ~((1 << self.width) - 1) if self.is_sub_byte else 0

    def __str__(self) -> str:
        return self.mlir


def integer_range(dtype: DType) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype, NumPy's or ml_dtypes'."""
    if dtype.isbuiltin == 1:
        info: Any = np.iinfo(dtype)
    else:
        import ml_dtypes

        info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def _float(mlir: str, scalar: type[Any]) -> ElementType:
    dtype = np.dtype(scalar)
    return ElementType(mlir, dtype, "float", dtype.itemsize * 8)


def _signless(width: int, signed: type[Any], unsigned: type[Any]) -> ElementType:
    return ElementType(f"i{width}", np.dtype(signed), "integer", width, np.dtype(unsigned))


_PLAIN = (
    _float("f64", np.float64),
    _float("f32", np.float32),
    _float("f16", np.float16),
    ElementType("i1", np.dtype(np.bool_), "bool", 1),
    _signless(8, np.int8, np.uint8),
    _signless(16, np.int16, np.uint16),
    _signless(32, np.int32, np.uint32),
    _signless(64, np.int64, np.uint64),
    ElementType("index", np.dtype(np.int64), "index", 64),
    ElementType("complex<f32>", np.dtype(np.complex64), "complex", 64),
    ElementType("complex<f64>", np.dtype(np.complex128), "complex", 128),
)
"""Those whose dtypes are NumPy's own."""


_F8 = "e5m2 e4m3 e4m3fn e5m2fnuz e4m3fnuz e4m3b11fnuz e3m4 e8m0fnu"
"""The formats of eight bits, by the ends of their names in ml_dtypes."""


@functools.cache
def _narrow() -> tuple[ElementType, ...]:
    """Those whose dtypes are of ml_dtypes: to load it takes longer than to load a kept kernel."""
    import ml_dtypes

    return (
        _float("bf16", ml_dtypes.bfloat16),
        *(
            _float(f"f8{kind.upper()}", getattr(ml_dtypes, f"float8_{kind}"))
            for kind in _F8.split()
        ),
        _signless(4, ml_dtypes.int4, ml_dtypes.uint4),
    )


def element_types() -> tuple[ElementType, ...]:
    """Every element type that an array can be passed as."""
    return (*_PLAIN, *_narrow())


def _by_mlir(elements: Iterable[ElementType]) -> dict[str, ElementType]:
    return {element.mlir: element for element in elements}


def _by_dtype(elements: Iterable[ElementType]) -> dict[DType, ElementType]:
    return {
        dtype: element
        for element in elements
        if element.kind != "index"
        for dtype in element.dtypes
    }


_PLAIN_BY_MLIR, _PLAIN_BY_DTYPE = _by_mlir(_PLAIN), _by_dtype(_PLAIN)


@functools.cache
def _every() -> tuple[dict[str, ElementType], dict[DType, ElementType]]:
    return _by_mlir(element_types()), _by_dtype(element_types())


def by_mlir(text: str) -> ElementType | None:
    """The element type that MLIR spells `text`, or None where arrays cannot hold it."""
    return _PLAIN_BY_MLIR.get(text) or _every()[0].get(text)


def by_dtype(dtype: np.typing.DTypeLike) -> ElementType:
    """The element type that an array of `dtype` is passed as; integers are signless.

    Raises:
        DTypeError: MLIR has no such element type, or the byte order is not the machine's.
    """
    dtype = np.dtype(dtype)
    element = _PLAIN_BY_DTYPE.get(dtype) or _every()[1].get(dtype)
    if element is None:
        raise DTypeError(
            f"dtype {describe_dtype(dtype)} has no element type in MLIR",
            expected="one of " + ", ".join(str(known) for known in _every()[1]),
            hint=cure_for(dtype),
        )
    return element


def dtype_named(value: Any) -> DType:
    """The dtype that a caller of arrays names: in a form that NumPy takes, else in MLIR's spelling.

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
    """Return MLIR's name of `dtype`: `"f32"` for float32, `"i8"` for int8 and uint8."""
    return by_dtype(dtype).mlir


def describe_dtype(dtype: DType) -> str:
    """The name of a dtype for a message, with its byte order if it is not the machine's."""
    if not dtype.isnative:
        order = "big" if dtype.byteorder == ">" else "little"
        return f"{dtype.newbyteorder('=')} ({order}-endian)" if dtype.names is None else str(dtype)
    return str(dtype)


def cure_for(dtype: DType) -> str | None:
    """Return a hint to convert an array of a dtype without an element type; None for no hint."""
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
