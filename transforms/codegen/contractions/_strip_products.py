"""Products that read an operand in strips of their tiles, and their times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.structured.contraction_form import Contraction
from linalg_ext.target import current
from linalg_ext.transforms.analysis.fills import filled, filled_with
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.problem import Argument, Operand, classify, dimensions_of
from linalg_ext.transforms.ir_utils.generics import generic_on_tensors
from linalg_ext.transforms.ir_utils.walking import producer

from .contraction_cost import estimate
from .contraction_plan import Plan, make_plan

LEAST_GAIN = 0.99
"""The limit on the time with strips, as a share of the time without.

Strips take memory besides the operand.
"""

_ELEMENTS = ("f32", "f64")

_MOST_VECTORS = 6
"""That a strip has."""

_LANE = "lane"
"""The dimension of the columns of a strip. The numbered ones of a product are called otherwise."""

_Lying = Mapping[Operand, tuple[Sequence[str], Sequence[int]]]
"""The dimension, and the size, of each axis of the operands of a product."""


@dataclass(frozen=True)
class StripReader:
    """A product that may read an operand in strips.

    Attributes:
        op: the product.
        number: of the operand.
        contraction: its contraction.
        dims: the dimension of each axis of the operand before strips: first that of the columns,
            then those that are summed.
        between: the ops that the operand goes through, the last first.
    """

    op: Any
    number: int
    contraction: Contraction
    dims: tuple[str, ...]
    between: tuple[Any, ...] = ()

    @property
    def own(self) -> tuple[str, ...]:
        """The dimensions of the operand as the product reads it."""
        return self.contraction.b if self.number else self.contraction.a

    @property
    def other(self) -> tuple[str, ...]:
        return self.contraction.a if self.number else self.contraction.b


def is_plain(op: Any) -> bool:
    """Return whether the operands of a product are tensors of f32 or f64 of known sizes."""
    element = op.operands[2].type.element_type
    return str(element) in _ELEMENTS and all(
        isinstance(value.type, ir.RankedTensorType)
        and value.type.has_static_shape
        and value.type.element_type == element
        for value in op.operands
    )


def quickest_strips(
    readers: Sequence[StripReader], columns: int, machine: Machine
) -> tuple[int, float]:
    """Return the best width of strips of an operand, and the time of all products on them.

    The width is 0 where no width divides the columns; the time is infinite where strips would be
    packed again.
    """
    element = readers[0].op.results[0].type.element_type
    lanes = machine.vector_bytes * 8 // element.width
    times = {
        width: sum(_seconds_on_strips(reader, width, machine) for reader in readers)
        for width in range(lanes, _MOST_VECTORS * lanes + 1, lanes)
        if columns % width == 0
    }
    best = min(times, key=lambda width: times[width], default=0)
    return best, times.get(best, math.inf)


def _seconds_on_strips(reader: StripReader, width: int, machine: Machine) -> float:
    lying = _lying(reader)
    names, (columns, *inner_sizes) = lying["B"]
    sums, shape = lying["C"]
    in_strips: _Lying = {
        "A": lying["A"],
        "B": ((*names, _LANE), (columns // width, *inner_sizes, width)),
        "C": ((*sums, _LANE), (*shape[:-1], columns // width, width)),
    }
    plan = _plan(reader, in_strips, machine)
    return math.inf if plan is None or plan.pack_b != "none" else _seconds(plan)


def packing_seconds(reader: StripReader, machine: Machine) -> float:
    """Return the time of a product that packs the operand itself; 0 if it does not pack it."""
    plan = _plan(reader, _lying(reader), machine)
    return 0.0 if plan is None or plan.pack_b == "none" else _seconds(plan)


def seconds_in_place(reader: StripReader, machine: Machine) -> float:
    """Return the time of a product on the operand in place; infinite where there is no plan."""
    shape = reader.op.operands[reader.number].type.shape
    plan = _plan(reader, {**_lying(reader), "B": (reader.own, shape)}, machine)
    return math.inf if plan is None else _seconds(plan)


def _seconds(plan: Plan) -> float:
    expected = estimate(plan, current())
    return math.inf if expected is None else expected.seconds


def _plan(reader: StripReader, lying: _Lying, machine: Machine) -> Plan | None:
    """Return the plan of a product for a layout of its operands; None if vectors are not of B."""
    element = str(reader.op.results[0].type.element_type)

    def strides(shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))

    operands: dict[Operand, Argument] = {
        role: Argument("", element, tuple(names), tuple(shape), strides(shape))
        for role, (names, shape) in lying.items()
    }
    problem = classify(element, dimensions_of(operands), overwrites=True)
    return None if isinstance(problem, str) or problem.swapped else make_plan(problem, machine)


def _lying(reader: StripReader) -> _Lying:
    contraction, op = reader.contraction, reader.op
    sizes = dict(zip(reader.own, op.operands[reader.number].type.shape, strict=True))
    return {
        "A": (reader.other, op.operands[1 - reader.number].type.shape),
        "B": (reader.dims, [sizes[dim] for dim in reader.dims]),
        "C": (contraction.c, op.results[0].type.shape),
    }


def product_of_strips(reader: StripReader, parameter: Any, width: int) -> Any:
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
    maps = [
        ir.AffineMap.get(len(order), 0, [ir.AffineExpr.get_dim(order.index(dim)) for dim in dims])
        for dims in (reader.other, (*reader.dims, _LANE), (*c, _LANE))
    ]
    kinds = ["parallel"] * (len(c) + 1) + ["reduction"] * len(summed)
    inputs = [op.operands[1 - reader.number], parameter]
    maps_attribute = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])
    generic = generic_on_tensors(inputs, init, maps_attribute, kinds)
    element = type_.element_type
    with ir.InsertionPoint(generic.regions[0].blocks.append(element, element, element)) as at:
        a, b, total = at.block.arguments
        linalg.YieldOp([arith.addf(total, arith.mulf(a, b))])
    return tensor.collapse_shape(type_, generic.results[0], groups)
