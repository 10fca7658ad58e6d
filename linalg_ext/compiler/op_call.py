"""The parameters of an op's kernel, and the keys of the kernel in this process and on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.calls import Shape
from linalg_ext.definition.model import OpDefinition
from linalg_ext.runtime import kernel_cache
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.libraries import in_force
from linalg_ext.target import override


@dataclass(frozen=True)
class OpCall:
    """The parameters that an op's kernel is compiled for.

    Attributes:
        definition: the op, with the maps of the call.
        maps: the identity of these maps in `key`; empty where the call gives none.
    """

    definition: OpDefinition
    dtypes: Mapping[str, DType]
    shapes: Mapping[str, Shape]
    attributes: CallAttributes
    initialized: frozenset[str]
    maps: tuple[object, ...]
    compute_type: DType | None

    @property
    def key(self) -> tuple[object, ...]:
        """Return the key of the kernel in this process."""
        return (
            tuple(self.dtypes.items()),
            tuple(self.shapes.items()),
            self.attributes.key,
            self.initialized,
            self.maps,
            self.compute_type,
            override(),
            in_force(),
        )

    @property
    def kept_key(self) -> str | None:
        """Return the key of the kernel on disk; None if it is not kept, or lacks a fingerprint."""
        try:
            return kernel_cache.key_of(
                "op",
                _identity(self.definition),
                {name: _dtype_names(dtype) for name, dtype in self.dtypes.items()},
                dict(self.shapes),
                dict(self.attributes.symbols),
                {name: function.name for name, function in self.attributes.functions.items()},
                self.initialized,
                bool(self.maps),
                None if self.compute_type is None else _dtype_names(self.compute_type),
            )
        except TypeError:
            return None


def _dtype_names(dtype: DType) -> tuple[str, str]:
    return dtype.str, dtype.name


_PLAIN = (str, bytes, int, float, complex, bool, type(None))


@lru_cache(maxsize=1024)
def _identity(definition: OpDefinition) -> str:
    """Return a text that tells a definition from every other one, for the keys of kept kernels.

    Raises:
        TypeError: something in it is of a kind that has no such text.
    """
    return repr(_data(definition))


def _data(value: Any) -> object:
    if isinstance(value, Enum):
        return type(value).__name__, value.name
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, tuple | list):
        return tuple(map(_data, value))
    if isinstance(value, dict):
        return tuple((_data(key), _data(item)) for key, item in value.items())
    if is_dataclass(value) and not isinstance(value, type):
        # Those that take no part in comparisons say where something stands, or repeat the others.
        compared = [field for field in fields(value) if field.compare]
        return type(value).__name__, *(_data(getattr(value, field.name)) for field in compared)
    raise TypeError(f"a {type(value).__name__} in a definition has no text")
