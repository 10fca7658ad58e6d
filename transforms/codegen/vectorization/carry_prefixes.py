"""Turn reductions over the elements before, or after, each one into loops that carry the result.

before:
    %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                          affine_map<(m, n, k) -> (m, n)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x : tensor<4x9xf32>) outs(%z : tensor<4x9xf32>) {
    ^bb0(%a: f32, %o: f32):
      %n = linalg.index 1 : index
      %k = linalg.index 2 : index
      %before = arith.cmpi sle, %k, %n : index
      %b = arith.select %before, %a, %zero : f32
      %s = arith.addf %o, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x9xf32>
after:
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %r = scf.for %m = %c0 to %c4 step %c1 iter_args(%all = %z) -> (tensor<4x9xf32>) {
      %a = tensor.extract %x[%m, %c0] : tensor<4x9xf32>
      %o = tensor.extract %all[%m, %c0] : tensor<4x9xf32>
      %s = arith.addf %o, %a : f32
      %first = tensor.insert %s into %all[%m, %c0] : tensor<4x9xf32>
      %c1_0 = arith.constant 1 : index
      %c9 = arith.constant 9 : index
      %row:2 = scf.for %n = %c1_0 to %c9 step %c1_0 iter_args(%sum = %a, %part = %first)
          -> (f32, tensor<4x9xf32>) {
        %b = tensor.extract %x[%m, %n] : tensor<4x9xf32>
        %t = arith.addf %sum, %b : f32
        %p = tensor.extract %part[%m, %n] : tensor<4x9xf32>
        %u = arith.addf %p, %t : f32
        %next = tensor.insert %u into %part[%m, %n] : tensor<4x9xf32>
        scf.yield %t, %next : f32, tensor<4x9xf32>
      }
      scf.yield %row#1 : tensor<4x9xf32>
    }

A structured op carries nothing from one element to the next: as one, a row of N takes N * N steps.
A condition is not judged by its form: it is computed for every pair of positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.maps import indexing_maps, split_operands
from linalg_ext.transforms.codegen.base.index_conditions import (
    ConditionalStep,
    conditional_step,
    is_plain,
    loops_of,
    plain_sizes,
    positions_met,
)
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.generics import computed_anew, parallel_loops
from linalg_ext.transforms.ir_utils.tensor_loops import counted, nest
from linalg_ext.transforms.ir_utils.walking import replace_each, select

NAME = "linalg-ext-carry-prefixes"

_CHOOSING = frozenset(
    f"arith.{name}" for name in ("maximumf", "minimumf", "maxsi", "minsi", "maxui", "minui")
)
"""Combiners for which it makes no difference how often they see an element."""


@module_pass(NAME, on="linalg.generic")
def carry_prefixes(module: ir.Operation) -> Report:
    """Replace sums, products and extrema over prefixes by loops that carry them."""
    return replace_each(NAME, select(module, _chooses_by_position), _carried)


def _chooses_by_position(op: Any) -> bool:
    """Return whether an op on tensors reduces one loop, and selects by a loop's position."""
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    ops = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return parallel_loops(op).count(False) == 1 and {"linalg.index", "arith.select"} <= set(ops)


@dataclass(frozen=True)
class _Prefixes:
    """A reduction over prefixes.

    Attributes:
        op: the op.
        maps: the indexing maps of its operands.
        step: its step for each element.
        along: the loop over the elements of the result.
        reduced: the loop over the elements before each of them.
        sizes: the sizes of the loops.
        is_backward: whether the reduction is over suffixes instead.
    """

    op: Any
    maps: Sequence[AffineMap]
    step: ConditionalStep
    along: str
    reduced: str
    sizes: Mapping[str, int]
    is_backward: bool


def _read(op: Any) -> _Prefixes | str:
    step = conditional_step(op)
    if isinstance(step, str):
        return step
    maps = indexing_maps(op)
    if not all(map(is_plain, maps)):
        return "an operand is not read along plain loops"
    sizes = plain_sizes(op, maps)
    if isinstance(sizes, str):
        return sizes
    dims = maps[0].dims
    asked = {loop for condition in step.conditions for loop in loops_of(condition)}
    written = {index.name for index in maps[-1].results if isinstance(index, AffineDim)}
    reduced = [dims[loop] for loop in asked if dims[loop] not in written]
    along = [dims[loop] for loop in asked if dims[loop] in written]
    if len(asked) != 2 or len(reduced) != 1 or sizes.keys() != set(dims) or 0 in sizes.values():
        return "the conditions are not on one loop of the result and the reduction"
    is_backward = _direction(step, dims, along[0], reduced[0], sizes)
    if is_backward is None:
        return "the conditions do not compare two positions"
    prefixes = _Prefixes(op, maps, step, along[0], reduced[0], sizes, is_backward)
    if not _changes_nothing_elsewhere(prefixes):
        return "the op selects values at other positions, too"
    return prefixes


def _direction(
    step: ConditionalStep, dims: Sequence[str], along: str, reduced: str, sizes: Mapping[str, int]
) -> bool | None:
    """Return the direction of a scan: True for suffixes, False for prefixes, None for neither."""
    size = sizes[along]
    if sizes[reduced] != size:
        return None
    met = positions_met(step.conditions, {dims.index(loop): size for loop in (reduced, along)})
    upper = np.triu(np.ones((size, size), bool))
    if np.array_equal(met, upper):
        return False
    return True if np.array_equal(met, upper.T) else None


def _changes_nothing_elsewhere(prefixes: _Prefixes) -> bool:
    """Return whether the elements for which no condition holds leave the result unchanged."""
    step, name = prefixes.step, prefixes.step.combiner.name
    if step.is_neutral_elsewhere:
        return all(AffineDim(prefixes.along) not in map_.results for map_ in prefixes.maps[:-1])
    if name not in _CHOOSING:
        return False
    arguments = list(prefixes.op.regions[0].blocks[0].arguments)
    if step.value not in arguments or step.otherwise not in arguments:
        return False
    selected, unselected = arguments.index(step.value), arguments.index(step.otherwise)
    renamed = [AffineDim(prefixes.along) if index == AffineDim(prefixes.reduced) else index
               for index in prefixes.maps[selected].results]  # fmt: skip
    is_own = prefixes.op.operands[selected] == prefixes.op.operands[unselected]
    at_along = AffineDim(prefixes.along) in prefixes.maps[selected].results
    return is_own and not at_along and list(prefixes.maps[unselected].results) == renamed


def _carried(op: Any) -> Any:
    prefixes = _read(op)
    if isinstance(prefixes, str):
        return prefixes
    (output,) = split_operands(prefixes.op)[1]
    outer = [
        index.name
        for index in prefixes.maps[-1].results
        if isinstance(index, AffineDim) and index.name != prefixes.along
    ]

    def row(positions: list[Any], carried: list[Any]) -> list[Any]:
        return [_row(prefixes, dict(zip(outer, positions, strict=True)), *carried)]

    return nest([prefixes.sizes[loop] for loop in outer], [output], row)[0]


def _row(prefixes: _Prefixes, places: Mapping[str, Any], total: Any) -> Any:
    """Return `total` with the prefixes along one row."""
    size = prefixes.sizes[prefixes.along]
    start = index(size - 1 if prefixes.is_backward else 0)
    first = _scanned_value(prefixes, {**places, prefixes.along: start, prefixes.reduced: start})
    total = _inserted(prefixes, {**places, prefixes.along: start}, first, total)

    def step(at: Any, carried: list[Any]) -> list[Any]:
        so_far, part = carried
        if prefixes.is_backward:
            at = arith.subi(index(size - 1), at)
        at_element = {**places, prefixes.along: at, prefixes.reduced: at}
        so_far = _combined(prefixes, so_far, _scanned_value(prefixes, at_element))
        return [so_far, _inserted(prefixes, at_element, so_far, part)]

    return counted(1, size, [first, total], step)[1]


def _inserted(prefixes: _Prefixes, places: Mapping[str, Any], value: Any, total: Any) -> Any:
    at = _at(prefixes.maps[-1], places)
    combined = _combined(prefixes, tensor.extract(total, at), value)
    return tensor.InsertOp(combined, total, at).result


def _at(map_: AffineMap, places: Mapping[str, Any]) -> list[Any]:
    return [places[index.name] for index in map_.results if isinstance(index, AffineDim)]


def _scanned_value(prefixes: _Prefixes, places: Mapping[str, Any]) -> Any:
    """Emit the value at one position that the scan combines."""
    body = prefixes.op.regions[0].blocks[0]
    inputs, _ = split_operands(prefixes.op)
    known = {}
    for argument, operand, map_ in zip(body.arguments, inputs, prefixes.maps, strict=False):
        is_tensor = isinstance(operand.type, ir.ShapedType)
        known[argument] = tensor.extract(operand, _at(map_, places)) if is_tensor else operand
    return computed_anew(prefixes.step.value, body, known)


def _combined(prefixes: _Prefixes, before: Any, value: Any) -> Any:
    clone = prefixes.step.combiner.clone()
    clone.operands[0], clone.operands[1] = before, value
    return clone.results[0]
