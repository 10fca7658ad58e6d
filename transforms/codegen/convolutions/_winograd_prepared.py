"""The factors of Winograd's algorithm that a caller made before, and gives with the filters."""

from __future__ import annotations

import math
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.target import current
from linalg_ext.transforms.analysis.buffers import buffer_of
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.parameters import has_factors

from ._winograd_convolution import Convolution
from ._winograd_plan import WinogradPlan
from ._winograd_selection import make_winograd_plan


def winograd_plan_for(convolution: Convolution, op: Any, machine: Machine) -> WinogradPlan | None:
    """The plan of a convolution on buffers, with prepared factors where there are some.

    Args:
        convolution: what the op computes.
        op: a generic, whose filters may be a view of an argument that has their factors behind.
        machine: one core of the target in force.
    """
    filters = op.operands[convolution.filters]
    width = _width(filters)
    if width is not None:
        plan = make_winograd_plan(convolution, machine, current(), is_prepared=True, strip=width)
        if plan is not None and _is_all(filters, plan):
            return plan
    return make_winograd_plan(convolution, machine, current())


def _width(filters: Any) -> int | None:
    """Return the number of filters in a strip of prepared factors; None where there are none."""
    argument = buffer_of(filters).value
    if argument == filters or not has_factors(argument):
        return None
    type_ = argument.type
    dense = ir.MemRefType.get(type_.shape, ir.MemRefType(filters.type).element_type)
    if type_ != dense or type_.rank != 2 or not type_.has_static_shape:
        return None
    return int(type_.shape[-1])


def _is_all(filters: Any, plan: WinogradPlan) -> bool:
    """Return whether filters fill the part of their argument in front of the factors.

    They must be contiguous and begin at its first element.
    """
    strides, offset = ir.MemRefType(filters.type).get_strides_and_offset()
    shape = list(filters.type.shape)
    dense = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    elements = plan.filter_rows * plan.strip + plan.filter_elements
    held = math.prod(buffer_of(filters).value.type.shape)
    return offset == 0 and list(strides) == dense and held == elements
