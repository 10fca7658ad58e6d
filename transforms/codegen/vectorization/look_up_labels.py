"""Turn sums over positions, of which a label selects one, into look-ups.

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

A structured op indexes by positions alone: to take the row that a label names it looks at every row
of the table. What it adds of all others is zero, and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.maps import indexing_maps, maps_attribute, split_operands
from linalg_ext.transforms.codegen.base.index_conditions import (
    ConditionalStep,
    conditional_step,
    is_plain,
    loops_of,
)
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.generics import (
    computed_anew,
    extents_of,
    generic_on_tensors,
    loop_of,
    parallel_loops,
)
from linalg_ext.transforms.ir_utils.walking import producer, replace_each, select

NAME = "linalg-ext-look-up-labels"


@module_pass(NAME, on="linalg.generic")
def look_up_labels(module: ir.Operation) -> Report:
    """Replace sums over one loop, of which a label selects one position, by look-ups."""
    return replace_each(NAME, select(module, _compares_positions), _looked_up)


def _compares_positions(op: Any) -> bool:
    """Return whether an op on tensors reduces one loop, and compares positions."""
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    ops = {inner.operation.name for inner in op.regions[0].blocks[0].operations}
    needed = {"linalg.index", "arith.cmpi", "arith.select"}
    return parallel_loops(op).count(False) == 1 and needed <= ops


@dataclass(frozen=True)
class _LookUp:
    """A sum of which a label names the one position that counts.

    Attributes:
        op: the op.
        step: its step for each element.
        label: the value of the body that names the position: an integer, or an index.
        loop: the loop over the positions.
        size: the size of that loop.
    """

    op: Any
    step: ConditionalStep
    label: Any
    loop: int
    size: int


def _read(op: Any) -> _LookUp | str:
    step = conditional_step(op)
    if isinstance(step, str):
        return step
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
    maps = indexing_maps(op)
    if not all(map(is_plain, maps)):
        return "an operand is not read along plain loops"
    look_up = _LookUp(op, step, label, loop, size)
    if _depends(label, _arguments_along(look_up)):
        return "the label is another one at each position"
    return look_up


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


def _arguments_along(look_up: _LookUp) -> set[Any]:
    """Return the arguments of the body that are others at each position of the reduction."""
    maps = indexing_maps(look_up.op)
    dim = AffineDim(maps[0].dims[look_up.loop])
    body = look_up.op.regions[0].blocks[0]
    pairs = zip(body.arguments, maps, strict=True)
    return {argument for argument, map_ in pairs if dim in map_.results}


def _depends(value: Any, on: set[Any]) -> bool:
    op = producer(value)
    return value in on if op is None else any(_depends(operand, on) for operand in op.operands)


def _looked_up(op: Any) -> Any:
    look_up = _read(op)
    if isinstance(look_up, str):
        return look_up
    inputs, (output,) = split_operands(op)
    maps = indexing_maps(op)
    body = op.regions[0].blocks[0]
    along = _arguments_along(look_up)
    kept = [at for at in range(len(inputs)) if body.arguments[at] not in along]
    dims = tuple(dim for at, dim in enumerate(maps[0].dims) if at != look_up.loop)
    new_maps = [AffineMap(dims, (), maps[at].results) for at in (*kept, len(inputs))]
    new = generic_on_tensors(
        [inputs[at] for at in kept], output, maps_attribute(new_maps), ["parallel"] * len(dims)
    )
    old_arguments = [body.arguments[at] for at in (*kept, len(inputs))]
    block = new.regions[0].blocks.append(*(argument.type for argument in old_arguments))
    with ir.InsertionPoint(block):
        known = dict(zip(old_arguments, block.arguments, strict=True))
        within, place = _place(look_up, computed_anew(look_up.label, body, known))
        for at, value in enumerate(inputs):
            if at not in kept:
                argument = body.arguments[at]
                known[argument] = _element(value, maps[at], maps[0].dims[look_up.loop], dims, place)
        selected = computed_anew(look_up.step.value, body, known)
        otherwise = computed_anew(look_up.step.otherwise, body, known)
        known[look_up.step.choice.results[0]] = arith.select(within, selected, otherwise)
        linalg.YieldOp([computed_anew(look_up.step.combiner.results[0], body, known)])
    return new.results[0]


def _place(look_up: _LookUp, label: Any) -> tuple[Any, Any]:
    """Return whether a label names a position, and that position, or 0."""
    within = arith.cmpi(arith.CmpIPredicate.ult, label, constant(label.type, look_up.size))
    safe = arith.select(within, label, constant(label.type, 0))
    index_type = ir.IndexType.get()
    return within, safe if safe.type == index_type else arith.index_cast(index_type, safe)


def _element(value: Any, map_: AffineMap, dim: str, dims: tuple[str, ...], place: Any) -> Any:
    """Load the element of an operand at a place along a loop, at the positions of all others."""
    where = [
        place if index == AffineDim(dim) else linalg.IndexOp(dims.index(index.name)).result
        for index in map_.results
        if isinstance(index, AffineDim)
    ]
    return tensor.extract(value, where)
