"""Take parameters of products in packed form: packed once, not at every call.

before:
    %t = linalg.transpose ins(%w : tensor<640x320xf32>) outs(%e : tensor<320x640xf32>)
                          permutation = [1, 0]
    %r = linalg.matmul ins(%x, %t : tensor<100x320xf32>, tensor<320x640xf32>)
                       outs(%c : tensor<100x640xf32>) -> tensor<100x640xf32>
after:
    %o = tensor.expand_shape %c [[0], [1, 2]] output_shape [100, 40, 16]
      : tensor<100x640xf32> into tensor<100x40x16xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(m, n, j, k) -> (m, k)>,
                                          affine_map<(m, n, j, k) -> (n, k, j)>,
                                          affine_map<(m, n, j, k) -> (m, n, j)>],
                         iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<100x320xf32>, tensor<40x320x16xf32>) outs(%o : tensor<100x40x16xf32>) {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %y = arith.mulf %a, %b : f32
      %z = arith.addf %s, %y : f32
      linalg.yield %z : f32
    } -> tensor<100x40x16xf32>
    %r = tensor.collapse_shape %p [[0], [1, 2]] : tensor<100x40x16xf32> into tensor<100x640xf32>

That is how AVX2 wants it, whose tiles have 16 columns. The function's argument is of another type
then: who calls it brings the elements into that order, `w[n, j, k]` to `w[n, k, j]`. So it is done
for arguments with the attribute `linalg_ext.parameter` alone, whose first axis goes into the
columns of every product that reads them, and whose other axes are summed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.target import current
from linalg_ext.target.analytic import bytes_per_cycle, cycles_per_second
from linalg_ext.transforms.codegen.base.machine import Machine, this_machine
from linalg_ext.transforms.codegen.base.parameters import change_parameters
from linalg_ext.transforms.codegen.base.problem import bits_of
from linalg_ext.transforms.ir_utils.generics import maps_of
from linalg_ext.transforms.ir_utils.walking import is_unused, replace_op

from ._strip_products import (
    LEAST_GAIN,
    StripReader,
    is_plain,
    packing_seconds,
    product_of_strips,
    quickest_strips,
)
from .products import contraction_in

NAME = "linalg-ext-pack-parameters"


@module_pass(NAME, on="func.func")
def pack_parameters(module: ir.Operation) -> Report:
    """Have products read the parameters of a function in strips of their tiles."""
    machine = this_machine()

    def change(function: Any, number: int) -> str | None:
        parameter = function.regions[0].blocks[0].arguments[number]
        packed = _readers_and_width(parameter, machine)
        if isinstance(packed, str):
            return packed
        _pack(parameter, *packed)
        return None

    return change_parameters(NAME, module, change)


def _readers_and_width(parameter: Any, machine: Machine) -> tuple[Sequence[StripReader], int] | str:
    """Return the products that a parameter is packed for and the width of strips; or why not."""
    type_ = parameter.type
    if not isinstance(type_, ir.RankedTensorType) or type_.rank < 2 or not type_.has_static_shape:
        return "the parameter is not a tensor of two axes or more, of known sizes"
    if str(type_.element_type) not in ("f32", "f64") or not machine.has_fma:
        return "the elements are not f32 or f64, or the machine has no FMA"
    readers = list(_readers_of(parameter, tuple(range(type_.rank)), ()))
    products = [reader for reader in readers if reader is not None]
    if len(products) < len(readers) or not products:
        return "something else than a product reads it"
    width, seconds = quickest_strips(products, type_.shape[0], machine)
    plain = sum(packing_seconds(reader, machine) for reader in products)
    bytes_read = math.prod(type_.shape) * bits_of(str(type_.element_type)) // 8
    reading = bytes_read / bytes_per_cycle(current(), bytes_read) / cycles_per_second()
    if not width or seconds + _WATCHING + reading >= LEAST_GAIN * plain:
        return "the parameter is best read in place"
    return products, width


_WATCHING = 5e-6
"""Seconds for which a call asks whether a parameter has changed, besides those of reading it."""


def _pack(parameter: Any, readers: Sequence[StripReader], width: int) -> None:
    columns, *inner_sizes = parameter.type.shape
    for reader in readers:
        with reader.op.location, ir.InsertionPoint(reader.op):
            result = product_of_strips(reader, parameter, width)
        replace_op(reader.op, result)
        for op in reader.between:
            if is_unused(op.results[0]):
                op.erase()
    strips = [columns // width, *inner_sizes, width]
    parameter.set_type(ir.RankedTensorType.get(strips, parameter.type.element_type))


def _readers_of(
    value: Any, axes: tuple[int | None, ...], between: tuple[Any, ...]
) -> Iterator[StripReader | None]:
    """Yield the products that read a value, and None for any other reader.

    Args:
        value: a parameter, or the result of ops that move its elements.
        axes: for each axis of it, that of the parameter.
        between: the ops that moved them.
    """
    for use in value.uses:
        op = use.owner.operation
        moved = _moved(op, axes) if use.operand_number == 0 else None
        if moved is not None:
            yield from _readers_of(op.results[0], moved, (op, *between))
        else:
            yield _reader(op, use.operand_number, axes, between)


def _moved(op: Any, axes: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
    """Return the axes of the result of a transpose or a broadcast; None for another op."""
    if op.name == "linalg.transpose":
        order = ir.DenseI64ArrayAttr(op.attributes["permutation"])
        return tuple(axes[axis] for axis in order)
    if op.name == "linalg.broadcast":
        added = list(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
        remaining_axes = iter(axes)
        count = len(axes) + len(added)
        return tuple(None if axis in added else next(remaining_axes) for axis in range(count))
    if op.name != "linalg.generic" or len(op.operands) != 2 or len(op.results) != 1:
        return None
    body = op.regions[0].blocks[0]
    read, written = maps_of(op)
    plain = read.is_projected_permutation and written.is_permutation
    if not plain or len(body.operations) != 1:
        return None
    if body.operations[0].operation.operands[0] != body.arguments[0]:
        return None
    known = {
        ir.AffineDimExpr(result).position: axis
        for result, axis in zip(read.results, axes, strict=True)
    }
    return tuple(known.get(ir.AffineDimExpr(result).position) for result in written.results)


def _reader(
    op: Any, number: int, axes: tuple[int | None, ...], between: tuple[Any, ...]
) -> StripReader | None:
    if not op.name.startswith("linalg.") or len(op.operands) != 3 or len(op.results) != 1:
        return None
    contraction = contraction_in(op) if is_plain(op) else None
    if contraction is None or number > 1:
        return None
    own = contraction.b if number else contraction.a
    dims = {axis: dim for dim, axis in zip(own, axes, strict=True) if axis is not None}
    if len(dims) < max(dims, default=0) + 1:
        return None
    ordered = tuple(dims[axis] for axis in range(len(dims)))
    reader = StripReader(op, number, contraction, ordered, between)
    return reader if _goes_into_columns(reader) else None


def _goes_into_columns(reader: StripReader) -> bool:
    """Return whether the result's innermost axis alone is the first, and the others are summed."""
    c, (first, *summed) = reader.contraction.c, reader.dims
    lone = [dim for dim in reader.own if dim not in reader.dims and dim not in c]
    return (
        not lone
        and c[-1:] == (first,)
        and first not in reader.other
        and all(dim in reader.other and dim not in c for dim in summed)
        and set(c) - {first} <= set(reader.other)
    )
