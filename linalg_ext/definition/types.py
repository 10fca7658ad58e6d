"""Type variables: names for element types that a call binds."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TypeVar:
    """A type variable; equal to any other of the same name. `TV.T` makes one."""

    name: str

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"TypeVar({self.name})"


class _TypeVarNamespace:
    """`TV.name` is the type variable of that name."""

    def __getattr__(self, name: str) -> TypeVar:
        if name.startswith("__"):
            raise AttributeError(name)
        # One object for each name, as in upstream's OpDSL: the next look-up finds it here.
        found: TypeVar = vars(self).setdefault(name, TypeVar(name))
        return found


TV = _TypeVarNamespace()

PREDEFINED = MappingProxyType(
    {
        "I1": "bool",
        "I8": "int8",
        "I16": "int16",
        "I32": "int32",
        "I64": "int64",
        "U8": "uint8",
        "U16": "uint16",
        "U32": "uint32",
        "U64": "uint64",
        "F16": "float16",
        "BF16": "bfloat16",
        "F32": "float32",
        "F64": "float64",
        "C64": "complex64",
        "C128": "complex128",
    }
)
"""Type variables with a fixed meaning, and the names of their dtypes (bfloat16 is ml_dtypes').

The signed integers stand before the unsigned ones: both are one type of MLIR, named by the first.
"""

_COMPLEX = {"C64": "complex<f32>", "C128": "complex<f64>"}

PREDEFINED_ELEMENTS = MappingProxyType(
    {name: _COMPLEX.get(name) or name.lower().replace("u", "i") for name in PREDEFINED}
)
"""The element types of these variables, as MLIR spells them."""

UNSIGNED = frozenset(name for name, dtype in PREDEFINED.items() if dtype.startswith("uint"))
"""Those whose integers are unsigned."""

PREDEFINED_UPSTREAM = frozenset({"I32", "I64", "F32", "F64"})
"""Those of them that upstream's generator knows; to it any other name is a free variable."""

BOOLEAN = TypeVar("I1")
"""The type of comparisons."""
