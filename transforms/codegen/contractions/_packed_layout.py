"""Products that read an operand in strips of their tiles, and what they take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.target import current
from linalg_ext.transforms.analysis.fills import filled, filled_with
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.problem import Dimension, Operand, Problem, classify
from linalg_ext.transforms.ir_utils.generics import generic_on_tensors
from linalg_ext.transforms.ir_utils.walking import producer

from ._parameter_readers import Reader
from .cache_blocking import make_plan
from .contraction_cost import estimate
from .contraction_plan import Plan

_MOST_VECTORS = 6
"""That a strip has."""


def widths(columns: int, element: Any, machine: Machine) -> list[int]:
    """Return the widths that strips may have, in columns, for a number of such columns."""
    lanes = machine.vector_bytes * 8 // element.width
    return [w for w in range(lanes, _MOST_VECTORS * lanes + 1, lanes) if columns % w == 0]


def packing_seconds(reader: Reader, machine: Machine) -> float:
    """Return the time of a product that packs the parameter itself; 0 where it does not pack it."""
    plan = _plan(reader, _lying(reader), machine)
    return 0.0 if plan is None or plan.pack_b == "none" else _seconds(plan)


def ready_seconds(reader: Reader, width: int, machine: Machine) -> float:
    """Return the time of a product on strips of a width; infinite where it repacks them."""
    plan = _plan(reader, _in_strips(_lying(reader), width), machine)
    return math.inf if plan is None or plan.pack_b != "none" else _seconds(plan)


def lying_seconds(
    reader: Reader, dims: Sequence[str], shape: Sequence[int], machine: Machine
) -> float:
    """Return the time of a product on the operand as it lies; infinite where there is no plan.

    Args:
        reader: the product.
        dims, shape: of the axes of the operand where it lies.
        machine: the machine that the product is planned for.
    """
    plan = _plan(reader, {**_lying(reader), "B": (dims, shape)}, machine)
    return math.inf if plan is None else _seconds(plan)


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


def product_of_strips(reader: Reader, parameter: Any, width: int) -> Any:
    """Return the product of a reader, with its columns split into strips while it is computed."""
    contraction, op = reader.contraction, reader.op
    c, type_ = contraction.c, op.results[0].type
    shape = [*type_.shape[:-1], type_.shape[-1] // width, width]
    groups = [[axis] for axis in range(len(c) - 1)] + [[len(c) - 1, len(c)]]
    apart = ir.RankedTensorType.get(shape, type_.element_type)
    number = filled_with(producer(op.operands[2]))
    init = (
        tensor.expand_shape(apart, op.operands[2], groups, [], shape)
        if number is None
        else filled(apart, shape, number)
    )
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
