"""A target as plain data: what JSON and YAML can hold, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from linalg_ext.errors import TargetError
from linalg_ext.target.model import Cache, Target

PlainTarget = dict[str, Any]
"""Texts, whole numbers, and lists and mappings of these."""


def to_data(target: Target) -> PlainTarget:
    """Every field of a target by its name; sets are sorted lists, caches are mappings."""
    data: PlainTarget = {field.name: getattr(target, field.name) for field in fields(Target)}
    data["features"] = sorted(target.features)
    data["caches"] = [
        {field.name: getattr(cache, field.name) for field in fields(Cache)}
        for cache in target.caches
    ]
    return data


def from_data(data: Mapping[str, Any]) -> Target:
    """What `to_data` gave, as a target again.

    Raises:
        TargetError: a field is unknown, missing, or of the wrong kind.
    """
    _check_fields(data, Target, "a target")
    values = dict(data)
    values["features"] = frozenset(_texts(data["features"], "features"))
    for name in ("name", "architecture", "huge_pages", "cpu"):
        if name in data and not isinstance(data[name], str):
            raise TargetError(f"{name} is {data[name]!r}", expected="a text")
    if "caches" in data:
        values["caches"] = tuple(_cache(one) for one in _items(data["caches"], "caches"))
    return Target(**values)


def _cache(data: Any) -> Cache:
    _check_fields(data, Cache, "a cache")
    return Cache(**data)


def _check_fields(data: Any, kind: type[Target | Cache], what: str) -> None:
    if not isinstance(data, Mapping):
        raise TargetError(f"{what} is {data!r}", expected="a mapping of its fields")
    names = [field.name for field in fields(kind)]
    required = [field.name for field in fields(kind) if field.default is MISSING]
    if unknown := [str(name) for name in data if name not in names]:
        raise TargetError(
            f"{what} has no field {', '.join(unknown)}", expected="one of " + ", ".join(names)
        )
    if missing := [name for name in required if name not in data]:
        raise TargetError(f"{what} lacks {', '.join(missing)}")


def _items(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise TargetError(f"{name} is {value!r}", expected="a list")
    return list(value)


def _texts(value: Any, name: str) -> list[str]:
    items = _items(value, name)
    if not all(isinstance(item, str) for item in items):
        raise TargetError(f"{name} is {value!r}", expected="a list of texts")
    return items
