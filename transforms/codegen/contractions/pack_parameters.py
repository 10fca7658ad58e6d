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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.target import current
from linalg_ext.target.analytic import cycles_per_second
from linalg_ext.transforms.codegen.base.machine import Machine, this_machine
from linalg_ext.transforms.codegen.base.parameters import parameters, retype
from linalg_ext.transforms.ir_utils.walking import functions, replace_op

from ._packed_layout import packing_seconds, product_of_strips, ready_seconds, widths
from ._parameter_readers import Reader, readers_of
from .contraction_cost import bytes_per_cycle

NAME = "linalg-ext-pack-parameters"

_ELEMENTS = ("f32", "f64")


@module_pass(NAME, on="func.func")
def pack_parameters(module: ir.Operation) -> Report:
    """Have products read the parameters of a function in strips of their tiles."""
    report = Report(NAME)
    machine = this_machine()
    for function in functions(module):
        block = function.regions[0].blocks[0]
        for number in parameters(function):
            report.matched["parameter"] += 1
            found = _found(block.arguments[number], machine)
            if isinstance(found, str):
                report.leave("parameter", found)
                continue
            _pack(block.arguments[number], found)
            report.changed["parameter"] += 1
        retype(function)
    return report


@dataclass(frozen=True)
class _Found:
    """The products that read a parameter, and how many columns a strip of it has for them."""

    readers: tuple[Reader, ...]
    width: int


def _found(parameter: Any, machine: Machine) -> _Found | str:
    """The products that a parameter can be packed for, or why it cannot."""
    type_ = parameter.type
    if not isinstance(type_, ir.RankedTensorType) or type_.rank < 2 or not type_.has_static_shape:
        return "the parameter is not a tensor of two axes or more, of known sizes"
    if str(type_.element_type) not in _ELEMENTS or not machine.has_fma:
        return "the elements are not f32 or f64, or the machine has no FMA"
    readers = list(readers_of(parameter, tuple(range(type_.rank)), ()))
    products = [reader for reader in readers if isinstance(reader, Reader)]
    if len(products) < len(readers) or not products:
        return "something else than a product reads it"
    width = _width(products, type_, machine)
    return _Found(tuple(products), width) if width else "the parameter is best read in place"


def _width(readers: Sequence[Reader], type_: Any, machine: Machine) -> int:
    """Return the columns of a strip of a parameter where packing it once pays; else 0."""
    times = {
        width: sum(ready_seconds(reader, width, machine) for reader in readers)
        for width in widths(type_.shape[0], type_.element_type, machine)
    }
    best = min(times, key=lambda width: times[width], default=0)
    plain = sum(packing_seconds(reader, machine) for reader in readers)
    bytes_read = math.prod(type_.shape) * type_.element_type.width // 8
    reading = bytes_read / bytes_per_cycle(current(), bytes_read) / cycles_per_second()
    return best if best and times[best] + _WATCHING + reading < _LEAST_GAIN * plain else 0


_LEAST_GAIN = 0.99
"""The limit on the time with strips, as a share of the time without.

Strips take memory besides the parameter.
"""

_WATCHING = 5e-6
"""Seconds for which a call asks whether a parameter has changed, besides those of reading it."""


def _pack(parameter: Any, found: _Found) -> None:
    """Give a parameter the type of its strips, and have its readers read those."""
    columns, *others = parameter.type.shape
    strips = [columns // found.width, *others, found.width]
    for reader in found.readers:
        with reader.op.location, ir.InsertionPoint(reader.op):
            result = product_of_strips(reader, parameter, found.width)
        replace_op(reader.op, result)
        for op in reader.between:
            if not any(True for _ in op.results[0].uses):
                op.erase()
    parameter.set_type(ir.RankedTensorType.get(strips, parameter.type.element_type))
