"""The other ways to write an operation down."""

from linalg_ext.notations.yaml import from_yaml, from_yaml_all, to_yaml

__all__ = ["from_yaml", "from_yaml_all", "to_yaml"]
