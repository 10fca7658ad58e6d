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
        return TypeVar(name)


TV = _TypeVarNamespace()

PREDEFINED = MappingProxyType(
    {"I1": "bool", "I32": "int32", "I64": "int64", "F32": "float32", "F64": "float64"}
)
"""Type variables with a fixed meaning, and their NumPy dtypes."""

BOOLEAN = TypeVar("I1")
"""The type of comparisons."""
