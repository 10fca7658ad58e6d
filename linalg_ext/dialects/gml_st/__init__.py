"""The dialect `gml_st`: loops over parts of tensors and memrefs.

It separates the *part* of a tensor from the *computation* on it. A set names a part, and
`gml_st.materialize` takes it; a loop gives values for sets, and puts them in place.

    gml_st.space             an index space, the root of sets of no tensor
    gml_st.full              all of a tensor or memref
    gml_st.tile              a rectangle: offsets, sizes and strides relative to a superset
    gml_st.filter            the elements at the indices of a tensor
    gml_st.point             one element
    gml_st.drop_dims         some dimensions of a set, in the space of those alone
    gml_st.transpose_dims    its dimensions in another order
    gml_st.offset, size, stride          numbers of a set, relative to its root
    gml_st.intersection, convex_union    a box of two sets
    gml_st.difference                    disjoint boxes of two sets, two a dimension
    gml_st.contains, is_empty            questions, answered by an i1
    gml_st.materialize       the elements of a set: a tensor, a view of a memref, or a scalar

    gml_st.loop              iterators of several types, inputs and outputs; ends in gml_st.yield
    gml_st.for               a sequential nest with outputs; ends in gml_st.set_yield
    gml_st.parallel          a nest in no order; ends in gml_st.set_yield, which names the outputs

Sets are of type `!gml_st.subset<"4x?xf32">`, points of type `!gml_st.element`. The origin is the
document "Google ML Structured Dialect", and the dialect of that name in tensorflow/mlir-hlo. The
`subset.full`, `subset.tile`, `subset.filter` and `subset.point` of the document are the ops of
those names here, its `linalg.tiled_loop` is `gml_st.loop`. `!gml_st.tile<4x?>` and `!gml_st.point`
of the history are the types `!gml_st.subset<"4x?">` and `!gml_st.element`: an op and a type cannot
share a name.

    from linalg_ext.dialects import gml_st

    with gml_st.loop([0, 0], [80, 60], [4, 4], ins=[x], outs=[y],
                     iterators=["parallel", "reduction"]) as loop:
        i, j = loop.ivs
        part = gml_st.materialize(loop.ins[0], gml_st.tile(loop.ins[0], [i, j], [4, 4]))
        rows = gml_st.tile(loop.outs[0], [i], [4])
        sums = ...  # of `part`, added to gml_st.materialize(loop.outs[0], rows)
        gml_st.yield_([sums], to=[rows])
    loop.results

An accumulator combines a value with its destination's, in any order of the iterations:

        gml_st.set_yield([element], into=[y], at=[point],
                         accumulate=lambda new, old: arith.addf(new, old))

`lx.parse` reads these ops as the document and the history write them, and
`Module.to_text(sugar=True)` prints them so: `linalg_ext.dialects.gml_st.asm` shows how.

The ops leave as scf, tensor, memref and arith: `linalg-ext-lower-subset-loops`.
"""

from __future__ import annotations

from linalg_ext.dialects.gml_st.builders import (
    BuiltLoop,
    contains,
    convex_union,
    difference,
    drop_dims,
    filter,
    for_,
    full,
    intersection,
    is_empty,
    loop,
    materialize,
    offset,
    parallel,
    point,
    set_yield,
    size,
    space,
    stride,
    tile,
    transpose_dims,
    yield_,
)
from linalg_ext.dialects.gml_st.definitions import GmlSt

__all__ = [
    "BuiltLoop",
    "GmlSt",
    "contains",
    "convex_union",
    "difference",
    "drop_dims",
    "filter",
    "for_",
    "full",
    "intersection",
    "is_empty",
    "loop",
    "materialize",
    "offset",
    "parallel",
    "point",
    "set_yield",
    "size",
    "space",
    "stride",
    "tile",
    "transpose_dims",
    "yield_",
]
