"""Parameters of products are taken as the nests read them: packed once, not at every call.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.target import current
from linalg_ext.transforms.codegen._machine import Machine, this_machine
from linalg_ext.transforms.codegen._parameters import parameters, retype
from linalg_ext.transforms.codegen._problem import Dimension, Operand, Problem, classify
from linalg_ext.transforms.lowering._generic import generic_on_tensors
from linalg_ext.transforms.lowering._walk import functions, replace_op

from ._blocking import make_plan
from ._estimates import estimate
from ._parameter_readers import Reader, readers_of
from ._plan import Plan

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
        return "it is no tensor of two axes or more, of known sizes"
    if str(type_.element_type) not in _ELEMENTS or not machine.has_fma:
        return "its elements are no f32 or f64, or this machine has no FMA"
    readers = list(readers_of(parameter, tuple(range(type_.rank)), ()))
    products = [reader for reader in readers if isinstance(reader, Reader)]
    if len(products) < len(readers) or not products:
        return "something else than a product reads it"
    width = _width(products, type_, machine)
    return _Found(tuple(products), width) if width else "it is best read where it lies"


def _width(readers: Sequence[Reader], type_: Any, machine: Machine) -> int:
    """How many columns a strip of a parameter has where packing it once pays; else 0."""
    lanes = machine.vector_bytes * 8 // type_.element_type.width
    widths = range(lanes, _MOST_VECTORS * lanes + 1, lanes)
    times = {
        width: sum(_ready_seconds(reader, width, machine) for reader in readers)
        for width in widths
        if type_.shape[0] % width == 0
    }
    best = min(times, key=lambda width: times[width], default=0)
    plain = sum(_packing_seconds(reader, machine) for reader in readers)
    return best if best and times[best] + _WATCHING < _LEAST_GAIN * plain else 0


_MOST_VECTORS = 6
"""That a strip has."""

_LEAST_GAIN = 0.99
"""Of the time, for the memory that the strips take besides the parameter."""

_WATCHING = 5e-6
"""Seconds for which a call asks whether a parameter has changed."""


def _packing_seconds(reader: Reader, machine: Machine) -> float:
    """What a product takes that packs the parameter itself; 0 where it does not."""
    plan = _plan(reader, _lying(reader), machine)
    return 0.0 if plan is None or plan.pack_b == "none" else _seconds(plan)


def _ready_seconds(reader: Reader, width: int, machine: Machine) -> float:
    """What it takes with strips of a width; no end of it where they are not read as they lie."""
    plan = _plan(reader, _in_strips(_lying(reader), width), machine)
    return math.inf if plan is None or plan.pack_b != "none" else _seconds(plan)


def _seconds(plan: Plan) -> float:
    expected = estimate(plan, current())
    return math.inf if expected is None else expected.seconds


def _plan(reader: Reader, lying: _Lying, machine: Machine) -> Plan | None:
    """The plan of a product whose operands lie so; None where it has none for vectors of them."""
    problem = _problem(reader, lying)
    return None if isinstance(problem, str) or problem.swapped else make_plan(problem, machine)


_LANE = "lane"
"""The dimension of the columns of a strip. The numbered ones of a product are called otherwise."""


def _in_strips(lying: _Lying, width: int) -> _Lying:
    names, (columns, *others) = lying["B"]
    sums, shape = lying["C"]
    return {
        "A": lying["A"],
        "B": ((*names, _LANE), (columns // width, *others, width)),
        "C": ((*sums, _LANE), (*shape[:-1], columns // width, width)),
    }


_Lying = Mapping[Operand, tuple[Sequence[str], Sequence[int]]]
"""The dimension, and the size, of each axis of the operands of a product."""


def _lying(reader: Reader) -> _Lying:
    contraction, op = reader.contraction, reader.op
    sizes = dict(zip(reader.own, op.operands[reader.number].type.shape, strict=True))
    return {
        "A": (reader.other, op.operands[1 - reader.number].type.shape),
        "B": (reader.dims, [sizes[dim] for dim in reader.dims]),
        "C": (contraction.c, op.results[0].type.shape),
    }


def _problem(reader: Reader, lying: _Lying) -> Problem | str:
    """A product as its nest sees it, its operands being in the order of their axes."""
    sizes: dict[str, int] = {}
    strides: dict[str, dict[Operand, int | None]] = {}
    for role, (names, shape) in lying.items():
        for axis, name in enumerate(names):
            sizes[name] = shape[axis]
            strides.setdefault(name, {})[role] = math.prod(shape[axis + 1 :])
    element = str(reader.op.results[0].type.element_type)
    dimensions = [Dimension(name, size, strides[name]) for name, size in sizes.items()]
    return classify(element, dimensions, overwrites=True)


def _pack(parameter: Any, found: _Found) -> None:
    """Give a parameter the type of its strips, and have its readers read those."""
    columns, *others = parameter.type.shape
    strips = [columns // found.width, *others, found.width]
    for reader in found.readers:
        with reader.op.location, ir.InsertionPoint(reader.op):
            result = _product(reader, parameter, found.width)
        replace_op(reader.op, result)
        for op in reader.between:
            if not any(True for _ in op.results[0].uses):
                op.erase()
    parameter.set_type(ir.RankedTensorType.get(strips, parameter.type.element_type))


def _product(reader: Reader, parameter: Any, width: int) -> Any:
    """The product of a reader, with the columns of its result apart while it is computed."""
    contraction, op = reader.contraction, reader.op
    c, type_ = contraction.c, op.results[0].type
    shape = [*type_.shape[:-1], type_.shape[-1] // width, width]
    groups = [[axis] for axis in range(len(c) - 1)] + [[len(c) - 1, len(c)]]
    apart = ir.RankedTensorType.get(shape, type_.element_type)
    init = tensor.expand_shape(apart, op.operands[2], groups, [], shape)
    summed = [dim for dim in contraction.dims if dim not in c]
    order = [*c, _LANE, *summed]
    maps = [_map(order, dims) for dims in (reader.other, (*reader.dims, _LANE), (*c, _LANE))]
    kinds = ["parallel"] * (len(c) + 1) + ["reduction"] * len(summed)
    inputs = [op.operands[1 - reader.number], parameter]
    made = generic_on_tensors(inputs, init, ir.ArrayAttr.get(maps), kinds)
    element = type_.element_type
    with ir.InsertionPoint(made.regions[0].blocks.append(element, element, element)) as at:
        a, b, total = at.block.arguments
        linalg.YieldOp([arith.addf(total, arith.mulf(a, b))])
    return tensor.collapse_shape(type_, made.results[0], groups)


def _map(order: Sequence[str], dims: Sequence[str]) -> ir.AffineMapAttr:
    results = [ir.AffineExpr.get_dim(order.index(dim)) for dim in dims]
    return ir.AffineMapAttr.get(ir.AffineMap.get(len(order), 0, results))
