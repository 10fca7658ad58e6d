"""Read windows through views that overlap, so that each axis is indexed by one loop.

before:
    linalg.generic {indexing_maps = [affine_map<(n, w, f, k, c) -> (n, w * 3 + k * 2, c)>,
                                     affine_map<(n, w, f, k, c) -> (k, c, f)>,
                                     affine_map<(n, w, f, k, c) -> (n, w, f)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%i, %k : memref<2x21x8xf32>, memref<3x8x16xf32>) outs(%o : memref<2x6x16xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %z, %p : f32
      linalg.yield %s : f32
    }
after:
    %v = memref.reinterpret_cast %i to offset: [0], sizes: [2, 6, 3, 8], strides: [168, 24, 16, 1]
        : memref<2x21x8xf32> to memref<2x6x3x8xf32, strided<[168, 24, 16, 1]>>
    linalg.generic {indexing_maps = [affine_map<(n, w, f, k, c) -> (n, w, k, c)>,
                                     affine_map<(n, w, f, k, c) -> (k, c, f)>,
                                     affine_map<(n, w, f, k, c) -> (n, w, f)>],
                    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%v, %k : memref<2x6x3x8xf32, strided<[168, 24, 16, 1]>>, memref<3x8x16xf32>)
        outs(%o : memref<2x6x16xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %z, %p : f32
      linalg.yield %s : f32
    }

An axis of the input that a window slides along, `stride * w + dilation * k`, becomes two: w steps
over `stride` elements, k over `dilation`. No element moves. A convolution is then a contraction of
strided operands, a pooling a reduction, and the passes for these apply to it. Destinations stay as
they are: none of their elements may be seen twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.structured.maps import INDEXING_MAPS, indexing_maps, maps_attribute, split_operands
from linalg_ext.structured.mixed import mixed_operands, type_shape
from linalg_ext.symbolic.affine import AffineDim, AffineMap, linear_terms
from linalg_ext.transforms.ir_utils.arithmetic import layout_of, size_of, strides_of, times
from linalg_ext.transforms.ir_utils.walking import select

NAME = "linalg-ext-view-windows"


@module_pass(NAME, on="linalg.generic")
def view_windows(module: ir.Operation) -> Report:
    """Give the inputs of generics on buffers one axis for each loop that reaches them."""
    report = Report(NAME)
    for op in select(module, _slides):
        report.matched[op.name] += 1
        report.record(op.name, _rewrite(op))
    return report


def _slides(op: Any) -> bool:
    """Return whether a generic on buffers has an index that is not a loop, or a loop twice."""
    if op.name != "linalg.generic" or len(op.results):
        return False
    inputs, _ = split_operands(op)
    pairs = zip(inputs, indexing_maps(op), strict=False)
    return any(isinstance(v.type, ir.MemRefType) and not _is_plain(map_) for v, map_ in pairs)


def _is_plain(map_: AffineMap) -> bool:
    names = [expr.name for expr in map_.results if isinstance(expr, AffineDim)]
    return len(names) == len(set(names)) == len(map_.results)


_Steps = Mapping[str, Mapping[int, int]]
"""For each loop, along which axes of an operand it steps, and over how many elements."""


def _rewrite(op: Any) -> str | None:
    inputs, _ = split_operands(op)
    maps = indexing_maps(op)
    lengths = _lengths(list(op.operands), maps)
    reached: dict[int, tuple[_Steps, Mapping[int, int]]] = {}
    for number, (value, map_) in enumerate(zip(inputs, maps, strict=False)):
        if _is_plain(map_) or not isinstance(value.type, ir.MemRefType):
            continue
        reach = _reach(value.type, map_)
        if isinstance(reach, str):
            return reach
        if not lengths.keys() >= reach[0].keys():
            return "a loop is the size of no operand"
        reached[number] = reach
    with op.location, ir.InsertionPoint(op):
        sizes: dict[str, Any] = {}
        for number, (steps, first) in reached.items():
            for dim in steps:
                if dim not in sizes:
                    sizes[dim] = size_of(*lengths[dim])
            op.operands[number] = _view(inputs[number], steps, first, sizes)
            dims = tuple(AffineDim(dim) for dim in steps)
            maps[number] = AffineMap(maps[number].dims, maps[number].symbols, dims)
        op.attributes[INDEXING_MAPS] = maps_attribute(maps)
    return None


def _lengths(operands: Sequence[Any], maps: Sequence[AffineMap]) -> dict[str, tuple[Any, int]]:
    """Return for each loop an operand and an axis of its length, a static one if there is one."""
    lengths: dict[str, tuple[Any, int]] = {}
    for value, map_ in zip(operands, maps, strict=True):
        if not isinstance(value.type, ir.MemRefType):
            continue
        for axis, expr in enumerate(map_.results):
            if isinstance(expr, AffineDim) and (
                expr.name not in lengths or not value.type.is_dynamic_dim(axis)
            ):
                lengths[expr.name] = value, axis
    return lengths


def _reach(type_: ir.MemRefType, map_: AffineMap) -> tuple[_Steps, Mapping[int, int]] | str:
    """Return the steps of the loops in an operand, and the constant of the index of each axis."""
    if type_.memory_space is not None:
        return "an input is in a memory space of its own"
    if strides_of(type_) is None:
        return f"{type_} has no strides"
    steps: dict[str, dict[int, int]] = {}
    first: dict[int, int] = {}
    for axis, expr in enumerate(map_.results):
        linear = linear_terms(expr)
        if linear is None:
            return f"an index is not a sum of loops: {expr}"
        factors, constant = linear
        if constant:
            first[axis] = constant
        if any(factor < 0 for factor in factors.values()):
            return f"a loop runs backwards: {expr}"
        for dim, factor in factors.items():
            if factor:
                steps.setdefault(dim, {})[axis] = factor
    return steps, first


def _view(value: Any, reached: _Steps, first: Mapping[int, int], sizes: Mapping[str, Any]) -> Any:
    """Return the operand with an axis for each loop, in the order of the loops."""
    strides, offset = layout_of(value)
    start = _sum([offset, *(times(strides[axis], by) for axis, by in first.items())])
    steps = [
        _sum([times(strides[axis], by) for axis, by in axes.items()]) for axes in reached.values()
    ]
    lengths = [sizes[dim] for dim in reached]
    offset, *strides = type_shape([start, *steps])
    layout = ir.StridedLayoutAttr.get(offset, strides)
    type_ = ir.MemRefType.get(type_shape(lengths), value.type.element_type, layout)
    geometry = mixed_operands([start], lengths, steps)
    return memref.ReinterpretCastOp(type_, value, *geometry).result


def _sum(terms: Sequence[Any]) -> Any:
    known = sum(term for term in terms if isinstance(term, int))
    values = [term for term in terms if not isinstance(term, int)]
    if values and known:
        values.append(index(known))
    return list(itertools.accumulate(values, arith.addi))[-1] if values else known
