"""Reshapes that collapse axes and expand them: which axes belong together, and what they become."""

from __future__ import annotations

import math
from collections.abc import Sequence

from linalg_ext.bindings import ir


def groups_of(reshape: ir.Operation) -> list[list[int]]:
    """The axes of each group of an op such as `tensor.collapse_shape`, outermost first."""
    groups = ir.ArrayAttr(reshape.attributes["reassociation"])
    return [[ir.IntegerAttr(axis).value for axis in ir.ArrayAttr(group)] for group in groups]


def collapsed_shape(type_: ir.Type, groups: Sequence[Sequence[int]]) -> list[int]:
    """The sizes of a shaped type with one axis for each group; open where one of its axes is."""
    shape, dynamic = ir.ShapedType(type_), ir.ShapedType.get_dynamic_size()
    return [
        dynamic
        if any(shape.is_dynamic_dim(axis) for axis in group)
        else math.prod(shape.get_dim_size(axis) for axis in group)
        for group in groups
    ]


def collapsed_tensor(type_: ir.Type, groups: Sequence[Sequence[int]]) -> ir.RankedTensorType:
    """The type of a tensor with one axis for each group."""
    element = ir.ShapedType(type_).element_type
    return ir.RankedTensorType.get(collapsed_shape(type_, groups), element)
