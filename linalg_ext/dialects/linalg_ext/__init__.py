"""The dialect `linalg_ext`: structured and destination-style ops that upstream lacks.

    linalg_ext.contract      an n-ary contraction in a semiring (an einsum), by its maps
    linalg_ext.elementwise   a function at every element, by its kind, with maps or their sugar
    linalg_ext.concatenate   tensors one after another along a dimension
    linalg_ext.reverse       a tensor with some dimensions backwards
    linalg_ext.dynamic_broadcast_in_dim   a tensor repeated along dimensions, which the run tells
    linalg_ext.gather        windows of a tensor, at places that indices name
    linalg_ext.scatter       windows combined into a tensor, at places that indices name
    linalg_ext.scan          tensors gone through along a dimension, with a value that is carried on
    linalg_ext.sort          tensors put in order along a dimension, by a comparator
    linalg_ext.slice         a view at an index or a range along each dimension
    linalg_ext.range         a range, of type !linalg_ext.index_range
    linalg_ext.tile          one of the tiles that a view is cut into
    linalg_ext.intersection  the overlap of two views of one buffer, as a view
    linalg_ext.convex_union  the smallest view around two views
    linalg_ext.difference    the elements in one view and not in another, as views, two a dimension
    linalg_ext.group         ops that belong together, in destination style
    linalg_ext.isolated_group   the same, of ops that use nothing else from above
    linalg_ext.group_yield   ends a group
    linalg_ext.yield         ends a region of any other op of this dialect

They are ops without side effects, on tensors; those on views are on memrefs. They leave as ops of
linalg, tensor, memref and scf before bufferization. The meaning of those that move elements is in
`structured/destination_ops.py`, a class for each. MLIR's generic form is their only one so far:

    %r = "linalg_ext.reverse"(%a, %o) {dimensions = array<i64: 1>}
           : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
    %s = "linalg_ext.scatter"(%indices, %updates, %o) ({
         ^bb0(%new: f32, %old: f32):
           %sum = arith.addf %new, %old : f32
           "linalg_ext.yield"(%sum) : (f32) -> ()
         }) : (tensor<9x1xindex>, tensor<9x5xf32>, tensor<7x5xf32>) -> tensor<7x5xf32>

The structured ones and groups `lx.parse` reads, and `Module.to_text(sugar=True)` prints:

    %r = linalg_ext.contract
           ins(%a, %b, %c : tensor<2x3xf32>, tensor<3x4xf32>, tensor<4x5xf32>)
           outs(%o : tensor<2x5xf32>)
           indexing_maps = [
             affine_map<(i, l, j, k) -> (i, j)>, affine_map<(i, l, j, k) -> (j, k)>,
             affine_map<(i, l, j, k) -> (k, l)>, affine_map<(i, l, j, k) -> (i, l)>]
           kind = "+*" -> tensor<2x5xf32>
    %s = linalg_ext.elementwise ins(%x, %y : tensor<16xf32>, tensor<16x64xf32>)
           outs(%p : tensor<16x64xf32>) kind = #linalg.elementwise_kind<add> broadcast_a = [1]
           -> tensor<16x64xf32>
    %t = linalg_ext.group "rows" tiling [4] preserve
           ins(%in = %x: tensor<16xf32>) outs(%out = %q: tensor<16xf32>) {
      %h = linalg.exp ins(%in : tensor<16xf32>) outs(%out : tensor<16xf32>) -> tensor<16xf32>
      linalg_ext.group_yield %h : tensor<16xf32>
    }

In the generic form, which MLIR itself reads and prints, `operandSegmentSizes` counts the inputs,
each an operand of its own: array<i32: 1, 1, 1, 0, ..., 0, 1>, 25 inputs and the destination.
A sort has 8 inputs and as many destinations, and `resultSegmentSizes` for its 8 results; a scan has
8 inputs, a destination and an initial value, and 2 results; a group has 64 inputs, 16 destinations
and 16 results.

The last operand of a structured op is the destination. A contract adds to its destination, unless
it has the attribute `overwrite`; `kind` is one of the semirings of `lx.einsum`, `"+*"` where it is
left out. `cast = #linalg.type_fn<cast_unsigned>` casts the inputs to the type of the result as
unsigned integers, and `linalg_ext.compute_type = f32` is the type that the op computes in.
"""

from linalg_ext.dialects.linalg_ext.destination_style import (
    ConcatenateOp,
    DynamicBroadcastInDimOp,
    GatherOp,
    ReverseOp,
    ScanOp,
    ScatterOp,
    SortOp,
    concatenate,
    dynamic_broadcast_in_dim,
    gather,
    reverse,
    scan,
    scatter,
    sort,
)
from linalg_ext.dialects.linalg_ext.dialect import LinalgExt, YieldOp
from linalg_ext.dialects.linalg_ext.grouping import (
    GroupOp,
    GroupYieldOp,
    IsolatedGroupOp,
    group,
)
from linalg_ext.dialects.linalg_ext.structured import (
    ContractOp,
    ElementwiseOp,
    SpelledOp,
    contract,
    elementwise,
)
from linalg_ext.dialects.linalg_ext.views import (
    ConvexUnionOp,
    DifferenceOp,
    IndexRangeType,
    IntersectionOp,
    RangeOp,
    SliceOp,
    TileOp,
    convex_union,
    difference,
    intersection,
    range_,
    slice,
    tile,
)

__all__ = [
    "ConcatenateOp",
    "ContractOp",
    "ConvexUnionOp",
    "DifferenceOp",
    "DynamicBroadcastInDimOp",
    "ElementwiseOp",
    "GatherOp",
    "GroupOp",
    "GroupYieldOp",
    "IndexRangeType",
    "IntersectionOp",
    "IsolatedGroupOp",
    "LinalgExt",
    "RangeOp",
    "ReverseOp",
    "ScanOp",
    "ScatterOp",
    "SliceOp",
    "SortOp",
    "SpelledOp",
    "TileOp",
    "YieldOp",
    "concatenate",
    "contract",
    "convex_union",
    "difference",
    "dynamic_broadcast_in_dim",
    "elementwise",
    "gather",
    "group",
    "intersection",
    "range_",
    "reverse",
    "scan",
    "scatter",
    "slice",
    "sort",
    "tile",
]
