"""The other ways to write an operation down.

Each is loaded when it is asked for: reading YAML takes a library that takes long to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linalg_ext.notations.yaml import from_yaml, from_yaml_all, to_yaml

__all__ = ["from_yaml", "from_yaml_all", "to_yaml"]


def _loaded(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from linalg_ext.notations import yaml

    return getattr(yaml, name)


if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists
    __getattr__ = _loaded
