"""The other ways to write an operation down.

Each is loaded when it is asked for: reading YAML takes a library that takes long to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linalg_ext.utils.hooks import lazy_names

if TYPE_CHECKING:
    from linalg_ext.notations.yaml import from_yaml, from_yaml_all, to_yaml

__all__ = ["from_yaml", "from_yaml_all", "to_yaml"]

if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists
    __getattr__ = lazy_names(__name__, {"yaml": "from_yaml from_yaml_all to_yaml"})
