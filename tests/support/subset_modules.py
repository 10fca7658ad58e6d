"""Modules with ops of `gml_st`, built by a function of the arguments of their entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import linalg_ext as lx
from linalg_ext.bindings import arith, func, ir, linalg, tensor
from linalg_ext.dialects import gml_st
from linalg_ext.ir.context import new_context

Body = Callable[..., Any]


def subset_module(types: Sequence[str], body: Body) -> lx.Module:
    """A module with the entry `main`, of arguments of these types, verified."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            func.FuncOp.from_py_func(*map(ir.Type.parse, types), name="main")(body)
        assert module.operation.verify()
        return lx.Module.of(module)


def kernel_of(types: Sequence[str], body: Body, **options: Any) -> Any:
    """The entry of such a module, compiled."""
    return lx.compile(subset_module(types, body), entry="main", **options)


def numbers(types: Sequence[str], body: Body, *arrays: Any, threads: int = 1) -> Any:
    """What the entry of such a module gives for arrays."""
    with lx.options(threads=threads):
        return kernel_of(types, body)(*arrays)


def add(new: ir.Value, old: ir.Value) -> ir.Value:
    """The sum of two scalars, or of two tensors element by element."""
    if isinstance(new.type, ir.RankedTensorType):
        sums: ir.Value = linalg.add(new, old, outs=[old])
        return sums
    return arith.AddFOp(new, old).result


def row_sums(part: ir.Value, init: ir.Value) -> ir.Value:
    """Sums along the last dimension, added to `init`."""
    rank = ir.RankedTensorType(part.type).rank
    op = linalg.ReduceOp(result=[init.type], inputs=[part], inits=[init], dimensions=[rank - 1])
    element = ir.RankedTensorType(init.type).element_type
    block = op.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        linalg.YieldOp([arith.AddFOp(*block.arguments).result])
    result: ir.Value = op.results[0]
    return result


def doubled(part: ir.Value) -> ir.Value:
    """Twice a scalar, or a tensor of static shape."""
    if not isinstance(part.type, ir.RankedTensorType):
        return arith.AddFOp(part, part).result
    type_ = ir.RankedTensorType(part.type)
    sizes = [
        tensor.DimOp(part, arith.ConstantOp(ir.IndexType.get(), dim).result).result
        if type_.is_dynamic_dim(dim)
        else type_.get_dim_size(dim)
        for dim in range(type_.rank)
    ]
    empty = tensor.EmptyOp(sizes, type_.element_type).result
    twice: ir.Value = linalg.add(part, part, outs=[empty])
    return twice


def row_sum_loop(x: ir.Value, y: ir.Value) -> ir.Value:
    """Sums of the rows of 80x60 numbers, added to `y`, by tiles of 4x4."""
    with gml_st.loop(
        [0, 0], [80, 60], [4, 4], ins=[x], outs=[y], iterators=["parallel", "reduction"]
    ) as loop:
        i, j = loop.ivs
        part = gml_st.materialize(loop.ins[0], gml_st.tile(loop.ins[0], [i, j], [4, 4]))
        rows = gml_st.tile(loop.outs[0], [i], [4])
        sums = row_sums(part, gml_st.materialize(loop.outs[0], rows))
        gml_st.yield_([sums], to=[rows])
    return loop.results[0]


def zeros_like(tile: ir.Value) -> ir.Value:
    """Zeros of the static shape of a tensor."""
    type_ = ir.RankedTensorType(tile.type)
    empty = tensor.EmptyOp(list(type_.shape), type_.element_type).result
    zeros: ir.Value = linalg.fill(arith.ConstantOp(type_.element_type, 0.0).result, outs=[empty])
    return zeros


def reduce_tiles(x: ir.Value, y: ir.Value) -> Any:
    """Sums of the rows of 8x12 numbers, added to `y` by tiles that are accumulated."""
    with gml_st.parallel([0, 0], [8, 12], [4, 4]) as loop:
        i, j = loop.ivs
        part = gml_st.materialize(x, gml_st.tile(x, [i, j], [4, 4]))
        rows = gml_st.tile(y, [i], [4])
        sums = row_sums(part, zeros_like(gml_st.materialize(y, rows)))
        gml_st.set_yield([sums], into=[y], at=[rows], accumulate=add)
    return loop.results[0]


def reduce_points(x: ir.Value, y: ir.Value) -> Any:
    """The same by single elements."""
    with gml_st.parallel([0, 0], [8, 12], [1, 1]) as loop:
        i, j = loop.ivs
        value = gml_st.materialize(x, gml_st.point(x, [i, j]))
        gml_st.set_yield([value], into=[y], at=[gml_st.point(y, [i])], accumulate=add)
    return loop.results[0]
