"""Upstream's YAML op definitions (`LinalgOpConfig`), as `mlir-linalg-ods-yaml-gen` reads them.

Source: upstream's `mlir-linalg-ods-yaml-gen.cpp` and `LinalgNamedStructuredOps.yaml`. Written by
`to_yaml`, read by `from_yaml`. Beyond the format, and refused by name: functions that upstream's
enumerations lack, a tensor that is read through two indexing maps, values that it has no expression
for; `beyond_yaml(ops)` lists such ops.
"""

from linalg_ext.notations.registry import Notation, register
from linalg_ext.notations.yaml.reader import from_yaml, from_yaml_all, read_yaml
from linalg_ext.notations.yaml.writer import beyond_yaml, iter_definitions, to_yaml

__all__ = ["beyond_yaml", "from_yaml", "from_yaml_all", "iter_definitions", "to_yaml"]

register(
    Notation(
        "yaml",
        "upstream's YAML op definitions, as `mlir-linalg-ods-yaml-gen` reads them",
        read=read_yaml,
        write=to_yaml,
        suffixes=(".yaml", ".yml"),
        separator="",
    )
)
