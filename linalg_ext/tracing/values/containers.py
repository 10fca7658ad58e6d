"""Containers of arrays: tuples, lists, dicts, named tuples and dataclasses, nested as one likes.

Among arguments, a value that cannot be an array (a string, a dtype, a slice, a function) is not a
leaf: it is part of the container's structure.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import MemberDescriptorType
from typing import Any, cast

import numpy as np

from linalg_ext.errors import ArgumentError, caller_location, kind_of
from linalg_ext.runtime.vectorcall_record import Container, Expected


class Constant:
    """A value that is part of a structure, by its identity."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        own = (value.start, value.stop, value.step) if isinstance(value, slice) else value
        try:
            hash(own)
        except TypeError:
            own = id(value)  # a method of an object without a hash, for example; kept alive here
        self.key = (type(value), as_key(own))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


_CONSTANTS = (str, bytes, np.dtype, type, slice, type(...), Enum)


def is_constant(value: Any) -> bool:
    """Return whether a value cannot be an array: a string, a dtype, a slice, a function, ..."""
    return isinstance(value, _CONSTANTS) or (
        callable(value) and not hasattr(type(value), "shape") and not _is_array(type(value))
    )


def as_key(value: Any) -> Any:
    """Return a static value as a key, in which 1, 1.0 and True differ, and 0.0 and -0.0."""
    kind = type(value)
    if isinstance(value, tuple | frozenset):
        inside = tuple if isinstance(value, tuple) else frozenset
        return kind, inside(map(as_key, value))
    return kind, repr(value) if kind in (float, complex) else value


@dataclass(frozen=True, slots=True)
class Structure:
    """The structure of a container, without its leaves.

    Attributes:
        kind: its class; None for a leaf.
        keys: of a dict its keys, of a dataclass its fields; of a `Constant` the constant; else one
            number after another.
        children: for each key.
    """

    kind: type | None
    keys: tuple[Any, ...] = ()
    children: tuple[Structure, ...] = ()

    @property
    def leaves(self) -> int:
        """Return the number of leaves (arrays)."""
        return 1 if self.kind is None else sum(child.leaves for child in self.children)

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        if self.kind is Constant:
            return repr(self.keys[0].value)
        pairs = zip(self.keys, self.children, strict=True)
        if self.kind in (tuple, list):
            inner = ", ".join(str(child) for _, child in pairs)
            return f"[{inner}]" if self.kind is list else f"({inner})"
        if self.kind is type(None):
            return "None"
        if self.kind is dict:
            return "{" + ", ".join(f"{key!r}: {child}" for key, child in pairs) + "}"
        return f"{self.kind.__name__}({', '.join(f'{key}={child}' for key, child in pairs)})"


LEAF = Structure(None)


def flatten(value: Any, *, constants: bool = False) -> tuple[list[Any], Structure]:
    """Return the leaves of a value, in order, and its structure; all but containers are leaves.

    Args:
        constants: take values that cannot be arrays as parts of the structure.
    """
    entries = _entries(value)
    if entries is None:
        if constants and type(value) is not np.ndarray and is_constant(value):
            return [], Structure(Constant, (Constant(value),))
        return [value], LEAF
    leaves: list[Any] = []
    children = []
    for child in entries[1]:
        own, structure = flatten(child, constants=constants)
        leaves += own
        children.append(structure)
    return leaves, Structure(type(value), entries[0], tuple(children))


def leaves_of(value: Any) -> list[Any]:
    """Return the leaves of a value alone, in the order of `flatten`."""
    entries = _entries(value)
    if entries is None:
        return [value]
    return [leaf for child in entries[1] for leaf in leaves_of(child)]


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """Return the container with these leaves."""
    remaining = iter(leaves)
    return _build(structure, remaining)


def _build(structure: Structure, leaves: Iterator[Any]) -> Any:
    kind = structure.kind
    if kind is None:
        return next(leaves)
    if kind is Constant:
        return structure.keys[0].value
    children = [_build(child, leaves) for child in structure.children]
    if kind is type(None):
        return None
    if kind in (tuple, list):
        return kind(children)
    if issubclass(kind, dict):
        return kind(zip(structure.keys, children, strict=True))
    if issubclass(kind, tuple):
        return kind(*children)
    return kind(**dict(zip(structure.keys, children, strict=True)))


def _entries(value: Any) -> tuple[tuple[Any, ...], list[Any]] | None:
    """Return the keys and the children of a container; None for a leaf."""
    kind = type(value)
    if kind is np.ndarray:
        return None  # most of them, and the rest takes a microsecond
    if value is None:
        return (), []
    if kind is tuple or kind is list:
        return tuple(range(len(value))), list(value)
    if kind is dict:
        return tuple(value), list(value.values())
    fields = _fields_of(cast("Hashable", kind))
    return None if fields is None else (fields, [getattr(value, name) for name in fields])


@lru_cache(maxsize=1024)
def _fields_of(kind: Any) -> tuple[str, ...] | None:
    """Return the fields of a named tuple or a dataclass; None for any other class."""
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    if dataclasses.is_dataclass(kind) and not _is_array(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if field.init)
    return None


def _is_array(kind: Any) -> bool:
    """Return whether objects of a dataclass are arrays: by its fields, not by one object's."""
    has_dtype = hasattr(kind, "dtype") or "dtype" in getattr(kind, "__dataclass_fields__", ())
    return has_dtype or hasattr(kind, "__dlpack__")


def expected(structure: Structure, leaves: Iterator[Expected | None]) -> Expected | None:
    """Return the entry of a container with the next leaves; None if native code cannot read it."""
    kind = structure.kind
    if kind is None:
        return next(leaves)
    if kind is Constant:
        return None
    children = [expected(child, leaves) for child in structure.children]
    known = tuple(child for child in children if child is not None)
    if len(known) < len(children) or not _is_readable(kind, structure.keys):
        return None
    return Container(kind, structure.keys, known)


def _is_readable(kind: type, keys: Sequence[Any]) -> bool:
    """Return whether reading the contents of an object runs no code of its class."""
    if issubclass(kind, tuple):
        return kind.__iter__ is tuple.__iter__
    if kind in (list, dict, type(None)):
        return True
    attributes = [inspect.getattr_static(kind, key, None) for key in keys]
    return kind.__getattribute__ is object.__getattribute__ and all(
        isinstance(attribute, MemberDescriptorType) or not hasattr(type(attribute), "__get__")
        for attribute in attributes
    )


def paths(structure: Structure, prefix: str) -> list[str]:
    """Return the name of each leaf: `"params['w']"`, `"x[0]"`."""
    if structure.kind is None:
        return [prefix]
    if structure.kind is Constant:
        return []
    names = []
    for key, child in zip(structure.keys, structure.children, strict=True):
        plain = structure.kind in (tuple, list, dict)
        names += paths(child, f"{prefix}[{key!r}]" if plain else f"{prefix}.{key}")
    return names


def constants(structure: Structure, prefix: str = "") -> list[str]:
    """Return the name of each constant, as `paths` names leaves."""
    if structure.kind is Constant:
        return [prefix]
    names = []
    for key, child in zip(structure.keys, structure.children, strict=True):
        names += constants(child, f"{prefix}.{key}" if prefix else str(key))
    return names


def matched(value: Any, structure: Structure, name: str) -> list[Any]:
    """Return the leaves of a value that is built as another, for `out=`: None stands for any part.

    Raises:
        ArgumentError: it is built otherwise.
    """
    if value is None:
        return [None] * structure.leaves
    if structure.kind is None:
        return [value]
    entries = _entries(value)
    is_like = entries is not None and (
        (set(entries[0]) == set(structure.keys) and isinstance(value, dict | tuple | list))
        or type(value) is structure.kind
    )
    if entries is None or not is_like or len(entries[0]) != len(structure.keys):
        raise ArgumentError(
            f"{name} is {kind_of(value)}", where=caller_location(), expected=str(structure)
        )
    by_key = dict(zip(*entries, strict=True))
    return [
        leaf
        for key, child in zip(structure.keys, structure.children, strict=True)
        for leaf in matched(by_key[key], child, f"{name}[{key!r}]")
    ]


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Return a container with a function of each leaf in its place."""
    leaves, structure = flatten(value)
    return unflatten(structure, [function(leaf) for leaf in leaves])
