"""Parameters that are filters of convolutions bring what Winograd's algorithm makes of them along.

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
another type: who calls it gives the filters, row by row, as many zeros as fill the last row, and
after them the 16 factors of each 3 x 3, `u[strip, point, channel, filter]`, in strips of as many
filters as a row has elements. That holds for arguments with the attribute `linalg_ext.parameter`
alone, which get the attribute `linalg_ext.factors`.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.target import Target, current
from linalg_ext.transforms.codegen._machine import Machine, this_machine
from linalg_ext.transforms.codegen._parameters import FACTORS, mark, parameters, retype
from linalg_ext.transforms.lowering._walk import functions

from ._winograd_plan import make_winograd_plan, rows_of_filters, sized_convolution
from ._winograd_transforms import POINTS, TAPS

NAME = "linalg-ext-prepare-filters"

_CONVOLUTION = "linalg.conv_2d_nchw_fchw"


@module_pass(NAME, on="func.func")
def prepare_filters(module: ir.Operation) -> Report:
    """Have convolutions take the factors of their filters from the parameters of a function."""
    report = Report(NAME)
    machine, target = this_machine(), current()
    for function in functions(module):
        block = function.regions[0].blocks[0]
        for number in parameters(function):
            report.matched["parameter"] += 1
            width = _width(block.arguments[number], machine, target)
            if isinstance(width, str):
                report.leave("parameter", width)
                continue
            _prepare(block.arguments[number], width)
            mark(function, number, FACTORS)
            report.changed["parameter"] += 1
        retype(function)
    return report


def _width(parameter: Any, machine: Machine, target: Target) -> int | str:
    """How many filters a strip has for the convolutions that read a parameter; or why none do."""
    type_ = parameter.type
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        return "it is no tensor of known sizes"
    if type_.rank != 4 or list(type_.shape)[2:] != [TAPS, TAPS]:
        return "it has no filters of 3 x 3"
    widths = {_width_for(use, machine, target) for use in parameter.uses}
    if len(widths) != 1 or None in widths:
        return "something else reads it than convolutions that are done in one way"
    return widths.pop() or 0


def _width_for(use: Any, machine: Machine, target: Target) -> int | None:
    """How many filters a strip has for one reader; None where it takes no factors."""
    op = use.owner.operation
    if op.name != _CONVOLUTION or use.operand_number != 1 or not _is_dense(op):
        return None
    types = [value.type for value in op.operands]
    if any(str(type_.element_type) != "f32" for type_ in types):
        return None
    images, channels, *_ = types[0].shape
    _, results, *space = types[2].shape
    sizes = (images, channels, results, *space)
    if any(size == ir.ShapedType.get_dynamic_size() for size in sizes[1:]):
        return None
    open_images = None if types[0].is_dynamic_dim(0) else images
    convolution = sized_convolution(open_images, channels, results, *space)
    plan = make_winograd_plan(convolution, machine, target, is_prepared=True)
    return plan.strip if plan is not None else None


def _is_dense(op: Any) -> bool:
    """Whether windows slide one by one over elements side by side."""
    return all(
        name not in op.attributes or set(ir.DenseIntElementsAttr(op.attributes[name])) == {1}
        for name in ("strides", "dilations")
    )


def _prepare(parameter: Any, width: int) -> None:
    """Give a parameter the type of filters and factors, and have its readers read the filters."""
    results, channels, *taps = parameter.type.shape
    element = parameter.type.element_type
    readers = [(use.owner.operation, use.operand_number) for use in parameter.uses]
    count = results * channels * TAPS * TAPS
    rows = rows_of_filters(count, width)
    strips = -(-results // width)
    parameter.set_type(ir.RankedTensorType.get([rows + strips * POINTS * channels, width], element))

    def type_of(*shape: int) -> Any:
        return ir.RankedTensorType.get(shape, element)

    for op, number in readers:
        with op.location, ir.InsertionPoint(op):
            top = _slice(parameter, type_of(rows, width))
            line = tensor.collapse_shape(type_of(rows * width), top, [[0, 1]])
            if rows * width > count:
                line = _slice(line, type_of(count))
            shape = [results, channels, *taps]
            filters = tensor.expand_shape(type_of(*shape), line, [[0, 1, 2, 3]], [], shape)
        op.operands[number] = filters


def _slice(value: Any, type_: Any) -> Any:
    """The first elements of a tensor along each axis."""
    rank, shape = type_.rank, list(type_.shape)
    return tensor.extract_slice(type_, value, [], [], [], [0] * rank, shape, [1] * rank)
