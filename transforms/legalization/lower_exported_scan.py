"""Write `tm_tensor.scan`, torch-mlir's cumulative sums and products, as `linalg_ext.scan`.

before:
    %r, %last = tm_tensor.scan dimension(1) inclusive(true)
        ins(%x : tensor<4x9xi64>) outs(%y, %t : tensor<4x9xi64>, tensor<4xi64>) {
    ^bb0(%a: i64, %b: i64):
      %s = arith.addi %a, %b : i64
      tm_tensor.yield %s : i64
    } -> tensor<4x9xi64>, tensor<4xi64>
after:
    %r = "linalg_ext.scan"(%x, %y) ({
    ^bb0(%a: i64, %b: i64):
      %s = arith.addi %a, %b : i64
      "linalg_ext.yield"(%s) : (i64) -> ()
    }) {dimension = 1 : i64, inclusive = true,
        operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0>,
        resultSegmentSizes = array<i32: 1, 0>}
        : (tensor<4x9xi64>, tensor<4x9xi64>) -> tensor<4x9xi64>

An inclusive scan does not read the accumulator. Its second result is the last plane of the first.

Sums and products of f32 are carried in f64, those of narrower floats in f32, as PyTorch on a CPU
does: an element is rounded once, and not once for each before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.dialects.linalg_ext import scan
from linalg_ext.transforms.ir_utils.arithmetic import constant, index
from linalg_ext.transforms.ir_utils.tensor_loops import (
    elementwise,
    extract_slice,
    inlined,
    size_of,
    sub,
)
from linalg_ext.transforms.ir_utils.walking import lowering_pass

NAME = "linalg-ext-lower-exported-scan"

_OP = "tm_tensor.scan"

_ROUNDING = {"arith.addf": (arith.addf, -0.0), "arith.mulf": (arith.mulf, 1.0)}
"""The functions whose steps round, by the op in the body, with the number that changes nothing."""


@lowering_pass(NAME, _OP)
def lower_exported_scan(op: Any) -> list[Any]:
    """Write tm_tensor.scan as linalg_ext.scan."""
    source, output, accumulator = op.operands
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    is_inclusive = ir.BoolAttr(op.attributes["inclusive"]).value
    sizes = [size_of(source, at) for at in range(source.type.rank)]
    body = op.regions[0].blocks[0]
    element = output.type.element_type
    name = body.operations[0].operation.name
    wide = _wider(body, element)

    def combine(before: Any, new: Any) -> Any:
        if wide is None:
            return inlined(body, [before, new])[0]
        return _ROUNDING[name][0](before, arith.extf(wide, new))

    rest = [size for at, size in enumerate(sizes) if at != axis]
    initial = None if is_inclusive else accumulator
    if wide is not None:

        def first(*elements: Any) -> list[Any]:
            if is_inclusive:
                return [constant(wide, _ROUNDING[name][1])]
            return [arith.extf(wide, elements[0])]

        read = [] if is_inclusive else [accumulator]
        initial = elementwise(read, [tensor.empty(rest, wide)], first).results[0]
    result = scan(
        source,
        combine=combine,
        dimension=axis,
        initial=initial,
        inclusive=is_inclusive,
        outs=output,
    )[0]
    if not any(True for _ in op.results[1].uses):
        return [result, accumulator]
    return [result, _plane(result, axis, sizes)]


def _plane(value: Any, axis: int, sizes: Sequence[Any]) -> Any:
    """The last plane of a tensor along a dimension."""
    offsets: list[Any] = [0] * len(sizes)
    offsets[axis] = index(sub(sizes[axis], 1))
    of_plane = [1 if at == axis else size for at, size in enumerate(sizes)]
    return extract_slice(value, offsets, of_plane, dropped=[axis])


def _wider(body: Any, element: Any) -> Any:
    """The type in which elements are carried, if a wider one, as each step rounds."""
    first, *others = (each.operation for each in body.operations)
    if first.name not in _ROUNDING or len(others) != 1 or element.width > 32:
        return None
    if set(first.operands) != set(body.arguments) or others[0].operands[0] != first.results[0]:
        return None
    return ir.F64Type.get() if element.width == 32 else ir.F32Type.get()
