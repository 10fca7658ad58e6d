"""Give structured ops on buffers a loop order whose innermost loop walks memory in unit steps.

before:
    linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
                                     affine_map<(d0, d1, d2) -> (d2, d1)>,
                                     affine_map<(d0, d1, d2) -> (d0, d1)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<8x9xf32>, memref<9x7xf32>) outs(%c : memref<8x7xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %z, %p : f32
      linalg.yield %s : f32
    }
after:
    linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>,
                                     affine_map<(d0, d1, d2) -> (d1, d2)>,
                                     affine_map<(d0, d1, d2) -> (d0, d2)>],
                    iterator_types = ["parallel", "reduction", "parallel"]}
        ins(%a, %b : memref<8x9xf32>, memref<9x7xf32>) outs(%c : memref<8x7xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %z, %p : f32
      linalg.yield %s : f32
    }

LLVM vectorizes innermost loops, and only those whose loads and stores are contiguous pay. One
parallel dimension moves innermost; the others keep their order, the reductions among themselves
above all: every element of the result is computed in the same order as before, to the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.symbolic.affine import AffineDim, AffineMap, factor_of
from linalg_ext.transforms.ir_utils.arithmetic import strides_of
from linalg_ext.transforms.ir_utils.generics import (
    extents_of,
    input_count,
    loop_of,
    maps_of,
    parallel_loops,
)
from linalg_ext.transforms.ir_utils.walking import operations

NAME = "linalg-ext-order-loops"

STRIDED = 4
"""The weight of an access with a stride other than 1, against one of unit stride."""

SHORT = 4
"""A parallel loop of fewer rounds than this is innermost only where none is worth more."""

SHORTEST = 2
"""A loop of fewer rounds than this is none."""

_ORDERLESS = (
    "arith.",
    "math.",
    "complex.",
    "linalg.index",
    "linalg.yield",
    "memref.load",
    "cf.assert",
)
"""Beginnings of the names of operations that do not care when they run."""


@module_pass(NAME, on="linalg.generic")
def order_loops(module: ir.Operation) -> Report:
    """Interchange the loops of linalg.generic on buffers for a contiguous innermost loop."""
    report = Report(NAME)
    for op in operations(module, {"linalg.generic"}):
        if len(op.results) or not len(op.operands):
            continue
        report.matched[op.name] += 1
        maps = indexing_maps(op)
        innermost = _best_innermost(op, maps)
        if innermost is None:
            continue
        report.changed[op.name] += 1
        count = len(maps[0].dims)
        _interchange(
            op, maps_of(op), [*(dim for dim in range(count) if dim != innermost), innermost]
        )
    return report


def _best_innermost(op: Any, maps: Sequence[AffineMap]) -> int | None:
    """Return the dimension that should be innermost; None where the order stays as it is."""
    if not _may_reorder(op, maps):
        return None
    is_parallel = parallel_loops(op)
    outputs = maps[input_count(op) :]
    last = len(is_parallel) - 1
    best, best_score = last, _score(op, maps, last)
    for dim in range(last):
        if not is_parallel[dim] or _extent(op, dim) < SHORTEST:
            continue
        if not all(AffineDim(f"d{dim}") in map_.results for map_ in outputs):
            continue  # several rounds write one element: the last one must stay the last
        score = _score(op, maps, dim)
        if score > best_score:
            best, best_score = dim, score
    return None if best == last else best


def _may_reorder(op: Any, maps: Sequence[AffineMap]) -> bool:
    if not maps[0].dims:
        return False
    outputs = {number: op.operands[number] for number in range(input_count(op), len(op.operands))}
    for number, operand in enumerate(op.operands):
        # An input that is also the output may be read before it is written, or after.
        for other, output in outputs.items():
            if number != other and operand == output and maps[number] != maps[other]:
                return False
    return all(
        inner.operation.name.startswith(_ORDERLESS) and not len(inner.operation.regions)
        for inner in op.regions[0].blocks[0].operations
    )


def _score(op: Any, maps: Sequence[AffineMap], dim: int) -> int:
    """Return the score of `dim` as the innermost loop.

    Accesses of unit stride count for it, those of other strides against it.
    """
    score = 0
    for number, (operand, map_) in enumerate(zip(op.operands, maps, strict=True)):
        step = _step(operand.type, map_, dim)
        weight = 2 if number >= input_count(op) else 1
        if step != 0:
            score += weight if step == 1 else -STRIDED * weight
    if _extent(op, dim) >= SHORT:
        return score
    # Rows of a few elements are better than steps from one to the other.
    return -len(maps) + (score > 0 and parallel_loops(op)[dim])


def _step(type_: Any, map_: AffineMap, dim: int) -> int | None:
    """Return the stride of an access along `dim`, in elements; None if unknown."""
    if not isinstance(type_, ir.MemRefType):
        return 0
    strides = strides_of(type_)
    if strides is None:
        return None
    step = 0
    for index, stride in zip(map_.results, strides, strict=True):
        factor = factor_of(index, f"d{dim}")
        if factor == 0:
            continue
        if factor is None or type_.is_dynamic_stride_or_offset(stride):
            return None
        step += factor * stride
    return step


def _extent(op: Any, dim: int) -> int:
    """Return the trip count of a loop; a large number if it is known only at run time."""
    return extents_of(op).get(dim) or 1 << 30


def _interchange(op: Any, maps: Sequence[Any], order: Sequence[int]) -> None:
    """Make dimension `order[i]` the new dimension `i`."""
    count = len(order)
    place = {old: new for new, old in enumerate(order)}
    moved = ir.AffineMap.get(count, 0, [ir.AffineExpr.get_dim(place[dim]) for dim in range(count)])
    new_maps = [
        ir.AffineMap.get(count, 0, [expression.compose(moved) for expression in map_.results])
        for map_ in maps
    ]
    iterators = list(ir.ArrayAttr(op.attributes["iterator_types"]))
    op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in new_maps])
    op.attributes["iterator_types"] = ir.ArrayAttr.get([iterators[old] for old in order])
    for index in operations(op, {"linalg.index"}):
        new = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), place[loop_of(index)])
        index.attributes["dim"] = new
