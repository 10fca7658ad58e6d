"""Steps that pad the operands of an op, and move the padding out of loops."""

from __future__ import annotations

import math

from linalg_ext.bindings import ir
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.symbolic.affine import AffineDim
from linalg_ext.transforms.ir_utils.walking import element_type, producer

from ._checks import (
    check_least,
    check_maps,
    check_repeatable,
    check_sizes,
    check_tensors,
    enclosing_loop,
    refusal,
)
from .step import ANY, Script, integers, line, schedule_step


@schedule_step("linalg-ext-pad")
def pad(op: ir.Operation, *, multiples: tuple[int, ...], value: float = 0.0) -> Script:
    """Compute an op on operands that are padded, and cut its result out.

    before:
        %r = linalg.matmul ins(%a, %b : tensor<7x16xf32>, tensor<16x12xf32>)
            outs(%c : tensor<7x12xf32>) -> tensor<7x12xf32>
    after `match("matmul").pad([8]).simplify()`:
        %cst = arith.constant 0.000000e+00 : f32
        %padded = tensor.pad %a low[0, 0] high[1, 0] {
        ^bb0(%i: index, %j: index):
          tensor.yield %cst : f32
        } : tensor<7x16xf32> to tensor<8x16xf32>
        %padded_0 = tensor.pad %c low[0, 0] high[1, 0] {
        ^bb0(%i: index, %j: index):
          tensor.yield %cst : f32
        } : tensor<7x12xf32> to tensor<8x12xf32>
        %0 = linalg.matmul ins(%padded, %b : tensor<8x16xf32>, tensor<16x12xf32>)
            outs(%padded_0 : tensor<8x12xf32>) -> tensor<8x12xf32>
        %r = tensor.extract_slice %0[0, 0] [7, 12] [1, 1] : tensor<8x12xf32> to tensor<7x12xf32>

    Source: `transform.structured.pad`.

    Args:
        op: a structured op on tensors.
        multiples: the number of which each loop's range becomes a multiple; 0 leaves it alone.
        value: the elements of the padding. Padding of a reduction must not change its result: 0 is
            right for sums of products, the smallest number for maxima.

    Raises:
        ScheduleError: the numbers do not fit the loops, or the op is on buffers. The op reaches
            memory that is not an operand. Or 0 would pad a reduction that is not a sum of products.
    """
    loops = check_maps(op, "pad")
    check_tensors(op, "pad")
    check_repeatable(op, "pad")
    check_sizes(op, "multiples", multiples, loops)
    dims = [loop for loop, size in enumerate(multiples) if size]
    _check_windows(op, dims)
    _check_neutral(op, dims, loops.reductions, value)
    values = ", ".join(_spelled(op, operand.type, value) for operand in op.operands)
    sizes = integers([multiples[loop] for loop in dims])
    return Script(
        "%padded, %pads, %copies = transform.structured.pad %target "
        f"pad_to_multiple_of {sizes} "
        f"{{padding_values = [{values}], padding_dimensions = {integers(dims)}, "
        f'copy_back_op = "none"}} : ({ANY}) -> ({ANY}, {ANY}, {ANY})',
        focus="%padded",
    )


def _check_windows(op: ir.Operation, dims: list[int]) -> None:
    """Refuse loops that index together with others: upstream pads such operands too little."""
    for map_ in indexing_maps(op):
        for index in map_.results:
            for loop in dims:
                if map_.dims[loop] in index.dims and not isinstance(index, AffineDim):
                    raise refusal(
                        op,
                        f"multiples[{loop}] pads loop {loop}, which is part of the index {index}",
                        expected="0 there",
                    )


_SUMS_OF_PRODUCTS = ("matmul", "matvec", "vecmat", "conv", "dot", "contract", "mmt4d")


def _check_neutral(
    op: ir.Operation, dims: list[int], reductions: tuple[int, ...], value: float
) -> None:
    if not set(dims) & set(reductions):
        return
    name = op.name.removeprefix("linalg.")
    is_sum_of_products = any(part in name for part in _SUMS_OF_PRODUCTS)
    if name.startswith("quantized") or name.endswith("_q"):
        is_sum_of_products = False  # a zero point is subtracted from the padding, too
    if op.name == "linalg.generic":
        is_sum_of_products = _adds_products(op)
    if is_sum_of_products and value == 0:
        return
    loop = min(set(dims) & set(reductions))
    raise refusal(
        op,
        f"multiples[{loop}] pads the reduction {loop} with {value:g}, which may change its result",
        expected="0 there, or a sum of products padded with 0",
    )


def _adds_products(op: ir.Operation) -> bool:
    block = op.regions[0].blocks[0]
    return [op.operation.name for op in block.operations] in (
        ["arith.mulf", "arith.addf", "linalg.yield"],
        ["arith.muli", "arith.addi", "linalg.yield"],
    )


def _spelled(op: ir.Operation, type_: ir.Type, value: float) -> str:
    element = element_type(type_)
    if isinstance(element, ir.IntegerType | ir.IndexType):
        if not math.isfinite(value) or value != int(value):
            raise refusal(
                op, f"value is {value:g}, but elements are {element}", expected="a whole number"
            )
        return f"{int(value)} : {element}"
    if isinstance(element, ir.FloatType):
        return str(ir.FloatAttr.get(element, value))
    raise refusal(op, f"elements are {element}", expected="integers or floats")


@schedule_step("linalg-ext-hoist-pads")
def hoist_pads(op: ir.Operation, *, operand: int = 0, loops: int = 1) -> Script:
    """Pad all tiles of an operand before the loops, into one packed buffer.

    before:
        %zero = arith.constant 0.0 : f32
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c12 = arith.constant 12 : index
        %r = scf.for %i = %c0 to %c12 step %c4 iter_args(%o = %c) -> (tensor<8x16xf32>) {
          %s = tensor.extract_slice %a[0, 0] [7, 16] [1, 1] : tensor<7x16xf32> to tensor<7x16xf32>
          %padded = tensor.pad %s low[0, 0] high[1, 0] {
          ^bb0(%j: index, %k: index):
            tensor.yield %zero : f32
          } : tensor<7x16xf32> to tensor<8x16xf32>
          %m = linalg.add ins(%padded, %o : tensor<8x16xf32>, tensor<8x16xf32>)
              outs(%o : tensor<8x16xf32>) -> tensor<8x16xf32>
          scf.yield %m : tensor<8x16xf32>
        }
    after `match("add").hoist_pads().simplify()`:
        %cst = arith.constant 0.000000e+00 : f32
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c12 = arith.constant 12 : index
        %padded = tensor.pad %a low[0, 0] high[1, 0] {
        ^bb0(%i: index, %o: index):
          tensor.yield %cst : f32
        } : tensor<7x16xf32> to tensor<8x16xf32>
        %r = scf.for %i = %c0 to %c12 step %c4 iter_args(%o = %c) -> (tensor<8x16xf32>) {
          %1 = linalg.add ins(%padded, %o : tensor<8x16xf32>, tensor<8x16xf32>)
              outs(%o : tensor<8x16xf32>) -> tensor<8x16xf32>
          scf.yield %1 : tensor<8x16xf32>
        }

    Source: `transform.structured.hoist_pad`.

    Args:
        op: an op inside `scf.for` whose operand is padded, as `tile` and `pad` leave it.
        operand: which operand, by number.
        loops: out of how many loops.

    Raises:
        ScheduleError: that operand is not padded, or there are not that many loops.
    """
    check_least(op, "loops", loops, 1)
    enclosing_loop(op, "hoist_pads", loops - 1)
    source = producer(op.operands[operand]) if 0 <= operand < len(op.operands) else None
    if source is None or source.operation.name != "tensor.pad":
        raise refusal(op, f"operand {operand} is not padded", hint="pad(...) it first")
    return Script(
        line("%pad", f"get_producer_of_operand %target[{operand}]"),
        f"%hoisted = transform.structured.hoist_pad %pad by {loops} loops : ({ANY}) -> {ANY}",
    )
