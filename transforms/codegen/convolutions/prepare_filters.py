"""Take filters of convolutions as parameters with their Winograd transform, computed once.

before:
    %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x32x18x18xf32>, tensor<32x32x3x3xf32>)
                                  outs(%c : tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32>
after:
    %t = tensor.extract_slice %w[0, 0] [2304, 4] [1, 1] : tensor<6400x4xf32> to tensor<2304x4xf32>
    %l = tensor.collapse_shape %t [[0, 1]] : tensor<2304x4xf32> into tensor<9216xf32>
    %v = tensor.expand_shape %l [[0, 1, 2, 3]] output_shape [32, 32, 3, 3]
      : tensor<9216xf32> into tensor<32x32x3x3xf32>
    %r = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x32x18x18xf32>, tensor<32x32x3x3xf32>)
                                  outs(%c : tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32>

The transform of the filters is then done once, not at every call. The function's argument is of
another type. The caller gives the filters, row by row, with zeros that fill the last row. After
them come the 16 factors of each 3 x 3, `u[strip, point, channel, filter]`, in strips of as many
filters as a row has elements. That holds for arguments with the attribute `linalg_ext.parameter`
alone, which get the attribute `linalg_ext.factors`.
"""

from __future__ import annotations

import math
from typing import Any

from linalg_ext.bindings import ir, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.operands import type_sizes
from linalg_ext.target import Target, current
from linalg_ext.transforms.codegen.base.machine import Machine, this_machine
from linalg_ext.transforms.codegen.base.parameters import FACTORS, change_parameters, mark

from ._winograd_plan import TAPS, WinogradPlan, make_winograd_plan, sized_convolution

NAME = "linalg-ext-prepare-filters"

_CONVOLUTION = "linalg.conv_2d_nchw_fchw"


@module_pass(NAME, on="func.func")
def prepare_filters(module: ir.Operation) -> Report:
    """Have convolutions take the factors of their filters from the parameters of a function."""
    machine, target = this_machine(), current()

    def change(function: Any, number: int) -> str | None:
        parameter = function.regions[0].blocks[0].arguments[number]
        plan = _plan(parameter, machine, target)
        if isinstance(plan, str):
            return plan
        _prepare(parameter, plan)
        mark(function, number, FACTORS)
        return None

    return change_parameters(NAME, module, change)


def _plan(parameter: Any, machine: Machine, target: Target) -> WinogradPlan | str:
    """Return a plan whose strips serve all convolutions that read a parameter, or a reason."""
    type_ = parameter.type
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        return "the parameter is not a tensor of known sizes"
    if type_.rank != 4 or list(type_.shape)[2:] != [TAPS, TAPS]:
        return "the parameter has no filters of 3 x 3"
    plans = [_plan_of(use, machine, target) for use in parameter.uses]
    known_plans = [plan for plan in plans if plan is not None]
    if (
        not known_plans
        or len(known_plans) < len(plans)
        or len({plan.strip for plan in known_plans}) > 1
    ):
        return "something else reads it than convolutions that are done in one way"
    return known_plans[0]


def _plan_of(use: Any, machine: Machine, target: Target) -> WinogradPlan | None:
    op = use.owner.operation
    if op.name != _CONVOLUTION or use.operand_number != 1 or not _is_dense(op):
        return None
    types = [value.type for value in op.operands]
    if any(str(type_.element_type) != "f32" for type_ in types):
        return None
    channels = types[0].shape[1]
    images, results, rows, columns = type_sizes(types[2])
    if results is None or rows is None or columns is None or types[0].is_dynamic_dim(1):
        return None
    convolution = sized_convolution(images, channels, results, rows, columns)
    return make_winograd_plan(convolution, machine, target, is_prepared=True)


def _is_dense(op: Any) -> bool:
    """Return whether windows slide one by one over elements side by side."""
    named = [op.attributes[name] for name in ("strides", "dilations") if name in op.attributes]
    steps: list[Any] = [ir.DenseIntElementsAttr(attribute) for attribute in named]
    return all(set(step) == {1} for step in steps)


def _prepare(parameter: Any, plan: WinogradPlan) -> None:
    """Add factors to the filters of a parameter, whose readers then read the filters alone."""
    shape, element = list(parameter.type.shape), parameter.type.element_type
    readers = [(use.owner.operation, use.operand_number) for use in parameter.uses]
    rows, width, count = plan.filter_rows, plan.strip, math.prod(shape)
    factors = plan.filter_elements // width
    parameter.set_type(ir.RankedTensorType.get([rows + factors, width], element))

    def type_of(*shape: int) -> Any:
        return ir.RankedTensorType.get(shape, element)

    for op, number in readers:
        with op.location, ir.InsertionPoint(op):
            top = _slice(parameter, type_of(rows, width))
            line = tensor.collapse_shape(type_of(rows * width), top, [[0, 1]])
            if rows * width > count:
                line = _slice(line, type_of(count))
            filters = tensor.expand_shape(type_of(*shape), line, [[0, 1, 2, 3]], [], shape)
        op.operands[number] = filters


def _slice(value: Any, type_: Any) -> Any:
    rank, shape = type_.rank, list(type_.shape)
    return tensor.extract_slice(type_, value, [], [], [], [0] * rank, shape, [1] * rank)
