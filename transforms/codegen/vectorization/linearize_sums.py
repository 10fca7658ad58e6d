"""Compute sums over positions under a condition in linear time: by a scan, or by look-ups.

A structured op carries nothing from one element to the next, and indexes by positions alone. A
running sum over a row of N takes N * N steps then. Reductions over the elements before, or after,
each element become loops that carry the result.

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

The meaning of the condition is not derived from its form: it is computed for every pair of
positions.

To take the row that a label names, a structured op looks at every row of the table. Sums over
positions, of which a label selects one, become look-ups: all others add zero.

before:
    %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, n)>,
                                          affine_map<(m, n, k) -> (m)>,
                                          affine_map<(m, n, k) -> (m, n)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%t, %l : tensor<9x4xf32>, tensor<5xi64>) outs(%z : tensor<5x4xf32>) {
    ^bb0(%a: f32, %label: i64, %o: f32):
      %k = linalg.index 2 : index
      %at = arith.index_cast %k : index to i64
      %named = arith.cmpi eq, %label, %at : i64
      %b = arith.select %named, %a, %zero : f32
      %s = arith.addf %o, %b : f32
      linalg.yield %s : f32
    } -> tensor<5x4xf32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m)>,
                                          affine_map<(m, n) -> (m, n)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%l : tensor<5xi64>) outs(%z : tensor<5x4xf32>) {
    ^bb0(%label: i64, %o: f32):
      %c9 = arith.constant 9 : i64
      %within = arith.cmpi ult, %label, %c9 : i64
      %c0 = arith.constant 0 : i64
      %safe = arith.select %within, %label, %c0 : i64
      %at = arith.index_cast %safe : i64 to index
      %n = linalg.index 1 : index
      %a = tensor.extract %t[%at, %n] : tensor<9x4xf32>
      %b = arith.select %within, %a, %zero : f32
      %s = arith.addf %o, %b : f32
      linalg.yield %s : f32
    } -> tensor<5x4xf32>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted, nest_over
from linalg_ext.structured.maps import indexing_maps, maps_attribute, split_operands
from linalg_ext.symbolic.affine import AffineDim, AffineMap
from linalg_ext.transforms.codegen.base.index_conditions import (
    ConditionalStep,
    conditional_step,
    is_plain,
    loops_of,
    plain_sizes,
    positions_met,
)
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.generics import (
    computed_anew,
    extents_of,
    generic_on_tensors,
    loop_of,
    parallel_loops,
)
from linalg_ext.transforms.ir_utils.walking import copied_on, producer, replace_each, select

NAME = "linalg-ext-linearize-sums"

_CHOOSING = frozenset(
    f"arith.{name}" for name in ("maximumf", "minimumf", "maxsi", "minsi", "maxui", "minui")
)
"""Combiners for which it makes no difference how often they see an element."""


@module_pass(NAME, on="linalg.generic")
def linearize_sums(module: ir.Operation) -> Report:
    """Carry sums, products and extrema over prefixes, and look up sums that a label selects."""
    return replace_each(NAME, select(module, _chooses_by_position), _linear)


def _chooses_by_position(op: Any) -> bool:
    """Return whether an op on tensors reduces one loop, and selects by a loop's position."""
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    ops = {inner.operation.name for inner in op.regions[0].blocks[0].operations}
    return parallel_loops(op).count(False) == 1 and {"linalg.index", "arith.select"} <= ops


def _linear(op: Any) -> Any:
    step = conditional_step(op)
    if isinstance(step, str):
        return step
    maps = indexing_maps(op)
    if not all(map(is_plain, maps)):
        return "an operand is not read along plain loops"
    loops = {loop for condition in step.conditions for loop in loops_of(condition)}
    return _carried(op, maps, step, loops) if len(loops) == 2 else _looked_up(op, maps, step)


def _carried(op: Any, maps: Sequence[AffineMap], step: ConditionalStep, loops: set[int]) -> Any:
    """Emit the loops that carry a reduction over prefixes; the reason if it is not one."""
    prefixes = _prefixes(op, maps, step, loops)
    if isinstance(prefixes, str):
        return prefixes
    (output,) = split_operands(op)[1]
    outer = [
        dim.name
        for dim in maps[-1].results
        if isinstance(dim, AffineDim) and dim.name != prefixes.along
    ]

    def row(positions: list[Any], carried: list[Any]) -> list[Any]:
        return [_row(prefixes, dict(zip(outer, positions, strict=True)), *carried)]

    return nest_over([prefixes.sizes[loop] for loop in outer], [output], row)[0]


@dataclass(frozen=True)
class _Prefixes:
    """A reduction over prefixes.

    Attributes:
        op: the reduction.
        maps: the indexing maps of its operands.
        step: its work for each element.
        along: the loop over the elements of the result.
        reduced: the loop over the elements before them.
        sizes: the trip counts of the loops.
        is_backward: True where it is over the elements after them.
    """

    op: Any
    maps: Sequence[AffineMap]
    step: ConditionalStep
    along: str
    reduced: str
    sizes: Mapping[str, int]
    is_backward: bool


def _prefixes(
    op: Any, maps: Sequence[AffineMap], step: ConditionalStep, loops: set[int]
) -> _Prefixes | str:
    sizes = plain_sizes(op, maps)
    if isinstance(sizes, str):
        return sizes
    dims = maps[0].dims
    written = {dim.name for dim in maps[-1].results if isinstance(dim, AffineDim)}
    reduced = [dims[loop] for loop in loops if dims[loop] not in written]
    along = [dims[loop] for loop in loops if dims[loop] in written]
    if len(reduced) != 1 or sizes.keys() != set(dims) or 0 in sizes.values():
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
        return not any(AffineDim(prefixes.along) in map_.results for map_ in prefixes.maps[:-1])
    if name not in _CHOOSING:
        return False
    arguments = list(prefixes.op.regions[0].blocks[0].arguments)
    if step.value not in arguments or step.otherwise not in arguments:
        return False
    read, otherwise = arguments.index(step.value), arguments.index(step.otherwise)
    along, reduced = AffineDim(prefixes.along), AffineDim(prefixes.reduced)
    results = prefixes.maps[read].results
    renamed = [along if result == reduced else result for result in results]
    is_own = prefixes.op.operands[read] == prefixes.op.operands[otherwise]
    return is_own and along not in results and list(prefixes.maps[otherwise].results) == renamed


def _row(prefixes: _Prefixes, places: Mapping[str, Any], total: Any) -> Any:
    """Emit the prefixes along one row, and return `total` with them."""
    size = prefixes.sizes[prefixes.along]
    start = index(size - 1 if prefixes.is_backward else 0)
    first = _value(prefixes, {**places, prefixes.along: start, prefixes.reduced: start})
    total = _put(prefixes, {**places, prefixes.along: start}, first, total)

    def step(at: Any, carried: list[Any]) -> list[Any]:
        so_far, part = carried
        if prefixes.is_backward:
            at = arith.subi(index(size - 1), at)
        position = {**places, prefixes.along: at, prefixes.reduced: at}
        so_far = _combined(prefixes, so_far, _value(prefixes, position))
        return [so_far, _put(prefixes, position, so_far, part)]

    return counted(1, size, [first, total], step)[1]


def _put(prefixes: _Prefixes, places: Mapping[str, Any], value: Any, total: Any) -> Any:
    at = _at(prefixes.maps[-1], places)
    combined = _combined(prefixes, tensor.extract(total, at), value)
    return tensor.InsertOp(combined, total, at).result


def _at(map_: AffineMap, places: Mapping[str, Any]) -> list[Any]:
    return [places[dim.name] for dim in map_.results if isinstance(dim, AffineDim)]


def _value(prefixes: _Prefixes, places: Mapping[str, Any]) -> Any:
    """Emit the value at one position that the scan combines."""
    body = prefixes.op.regions[0].blocks[0]
    inputs, _ = split_operands(prefixes.op)
    known = {}
    for argument, operand, map_ in zip(body.arguments, inputs, prefixes.maps, strict=False):
        is_tensor = isinstance(operand.type, ir.ShapedType)
        known[argument] = tensor.extract(operand, _at(map_, places)) if is_tensor else operand
    return computed_anew(prefixes.step.value, body, known)


def _combined(prefixes: _Prefixes, before: Any, value: Any) -> Any:
    return copied_on(prefixes.step.combiner, [before, value]).results[0]


def _looked_up(op: Any, maps: Sequence[AffineMap], step: ConditionalStep) -> Any:
    """Emit a sum over the position that a label selects as a look-up; the reason if it is not."""
    loop = parallel_loops(op).index(False)
    size = extents_of(op).get(loop)
    if not size:
        return "the length of the reduction is not known, or is 0"
    if len(step.conditions) != 1 or not step.is_neutral_elsewhere:
        return "the op selects values of other positions, too"
    label = _label(producer(step.conditions[0]), loop)
    if label is None or loops_of(label):
        return "the position of the reduction is not compared with a label"
    if isinstance(label.type, ir.IntegerType) and size > 1 << (label.type.width - 1):
        return "the labels cannot name all positions"
    inputs, (output,) = split_operands(op)
    body = op.regions[0].blocks[0]
    reduced = maps[0].dims[loop]
    pairs = list(zip(body.arguments, maps, strict=True))
    along = {argument for argument, map_ in pairs if AffineDim(reduced) in map_.results}
    if _depends(label, along):
        return "the label is another one at each position"
    kept_inputs = [at for at in range(len(inputs)) if body.arguments[at] not in along]
    dims = tuple(dim for dim in maps[0].dims if dim != reduced)
    new_maps = [AffineMap(dims, (), maps[at].results) for at in (*kept_inputs, len(inputs))]
    new = generic_on_tensors(
        [inputs[at] for at in kept_inputs],
        output,
        maps_attribute(new_maps),
        ["parallel"] * len(dims),
    )
    old_arguments = [body.arguments[at] for at in (*kept_inputs, len(inputs))]
    block = new.regions[0].blocks.append(*(argument.type for argument in old_arguments))
    with ir.InsertionPoint(block):
        mapping = dict(zip(old_arguments, block.arguments, strict=True))
        within, place = _place(computed_anew(label, body, mapping), size)
        for at, value in enumerate(inputs):
            if at not in kept_inputs:
                mapping[body.arguments[at]] = _element(value, maps[at], reduced, dims, place)
        chosen = computed_anew(step.value, body, mapping)
        otherwise = computed_anew(step.otherwise, body, mapping)
        mapping[step.choice.results[0]] = arith.select(within, chosen, otherwise)
        linalg.YieldOp([computed_anew(step.combiner.results[0], body, mapping)])
    return new.results[0]


def _label(comparison: Any, loop: int) -> Any:
    """Return the value that a comparison requires a loop's position to equal; None without one."""
    if comparison is None or comparison.name != "arith.cmpi":
        return None
    if ir.IntegerAttr(comparison.attributes["predicate"]).value != arith.CmpIPredicate.eq.value:
        return None
    for position, label in (tuple(comparison.operands), tuple(comparison.operands)[::-1]):
        op = producer(position)
        if op is not None and op.name == "arith.index_cast":
            op = producer(op.operands[0])
        if op is not None and op.name == "linalg.index" and loop_of(op) == loop:
            return label
    return None


def _depends(value: Any, on: set[Any]) -> bool:
    op = producer(value)
    return value in on if op is None else any(_depends(operand, on) for operand in op.operands)


def _place(label: Any, size: int) -> tuple[Any, Any]:
    """Return whether a label names a position, and that position, or 0."""
    within = arith.cmpi(arith.CmpIPredicate.ult, label, constant(label.type, size))
    safe = arith.select(within, label, constant(label.type, 0))
    index_type = ir.IndexType.get()
    return within, safe if safe.type == index_type else arith.index_cast(index_type, safe)


def _element(value: Any, map_: AffineMap, dim: str, dims: tuple[str, ...], place: Any) -> Any:
    """Load the element of an operand at a place along a loop, at the positions of all others."""
    where = [
        place if result.name == dim else linalg.IndexOp(dims.index(result.name)).result
        for result in map_.results
        if isinstance(result, AffineDim)
    ]
    return tensor.extract(value, where)
