"""A target as plain data: what JSON and YAML can hold, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from linalg_ext.errors import TargetError
from linalg_ext.target.model import Cache, Target
from linalg_ext.target.performance import PER_TYPE, Figures, Level

PlainTarget = dict[str, Any]
"""Texts, numbers, and lists and mappings of these."""

_NAMED = (*PER_TYPE, "functions")
"""The fields of figures that are by name."""


def to_data(target: Target) -> PlainTarget:
    """Every field of a target by its name; sets are sorted lists, caches are mappings."""
    data: PlainTarget = {field.name: getattr(target, field.name) for field in fields(Target)}
    data["features"] = sorted(target.features)
    data["caches"] = [
        {field.name: getattr(cache, field.name) for field in fields(Cache)}
        for cache in target.caches
    ]
    del data["figures"], data["notes"]
    # What goes by this data need not change for those that have neither.
    if target.figures is not None:
        data["figures"] = _figures_data(target.figures)
    if target.notes:
        data["notes"] = {
            name: list(value) if isinstance(value, tuple) else value for name, value in target.notes
        }
    return data


def from_data(data: Mapping[str, Any]) -> Target:
    """Return the target that `to_data` wrote.

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
    if data.get("figures") is not None:
        values["figures"] = _figures(data["figures"])
    if "notes" in data:
        notes = _mapping(data["notes"], "notes")
        values["notes"] = tuple(
            (name, tuple(value) if isinstance(value, list) else value)
            for name, value in sorted(notes.items())
        )
    return Target(**values)


def _cache(data: Any) -> Cache:
    _check_fields(data, Cache, "a cache")
    return Cache(**data)


def _figures_data(figures: Figures) -> PlainTarget:
    data: PlainTarget = {field.name: getattr(figures, field.name) for field in fields(Figures)}
    data["levels"] = [
        {field.name: getattr(level, field.name) for field in fields(Level)}
        for level in figures.levels
    ]
    return {**data, **{name: dict(data[name]) for name in _NAMED}}


def _figures(data: Any) -> Figures:
    _check_fields(data, Figures, "a set of figures")
    values = dict(data)
    levels = []
    for level in _items(data["levels"], "levels"):
        _check_fields(level, Level, "a level of memory")
        levels.append(Level(**level))
    values["levels"] = tuple(levels)
    for name in _NAMED:
        values[name] = tuple(_mapping(data[name], name).items())
    return Figures(**values)


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TargetError(f"{name} is {value!r}", expected="a mapping by name")
    return value


def _check_fields(data: Any, kind: type[Target | Cache | Figures | Level], what: str) -> None:
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
