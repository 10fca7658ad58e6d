"""The other ways to write an operation down, and their registry.

Each is loaded when it is asked for: reading YAML takes a library that takes long to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linalg_ext.utils.hooks import lazy_names

if TYPE_CHECKING:
    from linalg_ext.notations.registry import Notation, notation, notations, read, register, write
    from linalg_ext.notations.yaml import from_yaml, from_yaml_all, to_yaml

_HOMES = {
    "registry": "Notation notation notations read register write",
    "yaml": "from_yaml from_yaml_all to_yaml",
}
"""The files of this room, and the public names in each."""

__all__ = [
    "Notation",
    "from_yaml",
    "from_yaml_all",
    "notation",
    "notations",
    "read",
    "register",
    "to_yaml",
    "write",
]

if not TYPE_CHECKING:  # hidden from type checkers, which would accept any name
    __getattr__ = lazy_names(__name__, _HOMES)
