"""Lower `tensor.gather` and `tensor.scatter`, which upstream cannot bufferize.

before:
    %r = tensor.gather %a[%i] gather_dims([0])
           : (tensor<4x5xf32>, tensor<3x1xindex>) -> tensor<3x5xf32>
after:
    %e = tensor.empty() : tensor<3x5xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(b, d) -> (b, d)>],
                         iterator_types = ["parallel", "parallel"]}
           outs(%e : tensor<3x5xf32>) {
    ^bb0(%out: f32):
      %b = linalg.index 0 : index
      %d = linalg.index 1 : index
      %c = tensor.extract %i[%b, %c0] : tensor<3x1xindex>
      %v = tensor.extract %a[%c, %d] : tensor<4x5xf32>
      linalg.yield %v : f32
    } -> tensor<3x5xf32>

A scatter becomes loops (scf.for) over the elements of its source that insert one each: the rows
that the coordinates name are disjoint (`unique`), but nothing says so to a structured op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.tensor_loops import as_index, nest, parallel_generic
from linalg_ext.transforms.ir_utils.walking import lowering_pass

NAME = "linalg-ext-lower-gather-scatter"


@lowering_pass(NAME, "tensor.gather", "tensor.scatter")
def lower_gather_scatter(op: Any) -> Any:
    """Lower tensor.gather to linalg.generic, tensor.scatter to loops."""
    return (_gather if op.name == "tensor.gather" else _scatter)(op)


def _gather(op: Any) -> Any:
    source, indices = op.operands
    type_ = op.results[0].type
    dims = list(ir.DenseI64ArrayAttr(op.attributes["gather_dims"]))
    batch = indices.type.rank - 1
    kept = _slice_positions(source.type.rank, dims, type_.rank - batch)
    sizes = [
        tensor.dim(indices, index(at))
        if at < batch
        else tensor.dim(source, index(kept[at - batch]))
        for at in range(type_.rank)
        if type_.is_dynamic_dim(at)
    ]
    shape = [_size(type_, at) for at in range(type_.rank)]
    dynamic = iter(sizes)
    empty = tensor.empty(
        [next(dynamic) if one is None else one for one in shape], type_.element_type
    )

    def body(_: Any) -> Any:
        at = [linalg.IndexOp(dim).result for dim in range(type_.rank)]
        return tensor.extract(source, _coordinates(indices, dims, kept, at, source.type.rank))

    return parallel_generic([], empty, [], body)


def _scatter(op: Any) -> Any:
    source, target, indices = op.operands
    dims = list(ir.DenseI64ArrayAttr(op.attributes["scatter_dims"]))
    batch = indices.type.rank - 1
    rank = target.type.rank
    kept = _slice_positions(rank, dims, source.type.rank - batch)

    def insert(at: Sequence[Any], into: Sequence[Any]) -> list[Any]:
        where = _coordinates(indices, dims, kept, at, rank)
        return [tensor.insert(tensor.extract(source, at), into[0], where)]

    bounds = [tensor.dim(source, index(at)) for at in range(source.type.rank)]
    return nest(bounds, [target], insert)[0]


def _slice_positions(rank: int, dims: Sequence[int], slice_rank: int) -> list[int]:
    """For each dimension of a slice, the dimension of the whole that it is."""
    if slice_rank == rank:
        return list(range(rank))  # the indexed dimensions stay, with size 1
    return [dim for dim in range(rank) if dim not in dims]


def _coordinates(
    indices: Any, dims: Sequence[int], kept: Sequence[int], at: Sequence[Any], rank: int
) -> list[Any]:
    """Return the position in the whole of the element at `at` of the gathered or scattered one."""
    batch = list(at[: indices.type.rank - 1])
    where: list[Any] = [None] * rank
    for dim, place in zip(kept, at[len(batch) :], strict=True):
        where[dim] = place
    for position, dim in enumerate(dims):
        where[dim] = as_index(tensor.extract(indices, [*batch, index(position)]))
    return where


def _size(type_: Any, at: int) -> int | None:
    return None if type_.is_dynamic_dim(at) else type_.get_dim_size(at)
