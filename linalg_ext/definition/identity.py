"""What a definition is, as plain data: the same in every process."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from linalg_ext.definition.model import OpDefinition

_PLAIN = (str, bytes, int, float, complex, bool, type(None))


@lru_cache(maxsize=1024)
def identity(definition: OpDefinition) -> str:
    """A text that tells a definition from every other one, for the keys of what is kept.

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
        told = [field for field in fields(value) if field.compare]
        return type(value).__name__, *(_data(getattr(value, field.name)) for field in told)
    raise TypeError(f"a {type(value).__name__} in a definition has no text")
