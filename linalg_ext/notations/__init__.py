"""The other ways to write an operation down."""

from linalg_ext.notations.yaml import to_yaml

__all__ = ["to_yaml"]
