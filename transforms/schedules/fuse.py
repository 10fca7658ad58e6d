"""Tile an op and fuse the ops that make its operands into the loops over its tiles.

before:
    %e = linalg.exp ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
    %r = linalg.abs ins(%e : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
after `match("abs").fuse([4]).simplify()`:
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c4 = arith.constant 4 : index
    %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%o = %c) -> (tensor<8xf32>) {
      %slice = tensor.extract_slice %a[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %slice_0 = tensor.extract_slice %c[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %1 = linalg.exp ins(%slice : tensor<4xf32>) outs(%slice_0 : tensor<4xf32>) -> tensor<4xf32>
      %slice_1 = tensor.extract_slice %o[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %2 = linalg.abs ins(%1 : tensor<4xf32>) outs(%slice_1 : tensor<4xf32>) -> tensor<4xf32>
      %inserted = tensor.insert_slice %2 into %o[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
      scf.yield %inserted : tensor<8xf32>
    }

Source: "Tiled Producer-Consumer Fusion with Parametric Tile-And-Fuse" of MLIR's linalg document;
`transform.structured.fuse`. On subsets instead: the pass `linalg-ext-tile-and-fuse`, by `run`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from linalg_ext.bindings import ir
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.structured.structured_interface import is_structured
from linalg_ext.symbolic.affine import AffineDim
from linalg_ext.transforms.ir_utils.walking import producer

from ._checks import (
    DYNAMIC,
    check_parallel,
    check_parts,
    check_permutation,
    check_repeatable,
    check_rows,
    check_sizes,
    check_tensors,
    has_maps,
    structured_loops,
)
from .step import ANY, Script, integers, line, schedule_step


@schedule_step("linalg-ext-fuse")
def fuse(
    op: ir.Operation,
    *,
    sizes: tuple[int, ...],
    interchange: tuple[int, ...] = (),
    parallel: bool = False,
) -> Script:
    """Tile an op, and compute its producers, and theirs, tile by tile inside the loops.

    Args:
        op: a structured op on tensors.
        sizes: of a tile, as for `tile`; 0 at reductions.
        interchange: the order of the new loops, as for `tile`.
        parallel: make one `scf.forall` and not `scf.for` loops.

    Raises:
        ScheduleError: the sizes do not fit the op, or tile a reduction, or the op is on buffers, or
            a producer reaches memory that is not an operand.
    """
    loops = structured_loops(op, "fuse")
    check_tensors(op, "fuse")
    check_sizes(op, "sizes", sizes, loops)
    check_parts(op, "fuse", sizes)
    for maker, part in _computed_from(op, sizes):
        check_parts(maker, "fuse", part)
        check_repeatable(maker, "fuse", by=f", which {op.name} is computed from")
    check_rows(op, "sizes", sizes)
    order, kind = "", ""
    if interchange:
        check_permutation(op, "interchange", interchange, len(sizes))
        order = f" interchange {integers(interchange)}"
    count = sum(size > 0 for size in sizes)
    # The fill of the destination would be fused too, and be done again in every tile.
    hint = "tile(...) the reduction in a step of its own, after this one"
    check_parallel(op, "sizes", sizes, loops, hint)
    if parallel:
        kind, count = " {use_forall}", 1
    text = f"structured.fuse %target tile_sizes {integers(sizes)}{order}{kind}"
    return Script(
        line(f"%fused, %loops:{count}", text, results=1 + count),
        # Fused ops without other readers remain, and are dead.
        line("%function", "get_parent_op %fused {isolated_from_above}"),
        f"transform.apply_dce to %function : {ANY}",
        focus="%fused",
    )


def _computed_from(
    op: ir.Operation, sizes: tuple[int, ...]
) -> Iterator[tuple[ir.Operation, tuple[int, ...]]]:
    """Yield the structured ops that an op is computed from, with the sizes of their tiles.

    One that is reached by several ways has as many tiles.
    """
    open_ = [(op, sizes)]
    visited = set(open_)
    while open_:
        reader, tile = open_.pop()
        for number, value in enumerate(reader.operands):
            maker = producer(value)
            if maker is None or not is_structured(maker):
                continue
            part = (maker, _sizes_in(maker, ir.OpResult(value), _sizes_read(reader, number, tile)))
            if part not in visited:
                visited.add(part)
                open_.append(part)
                yield part


def _sizes_read(reader: ir.Operation, number: int, tile: Sequence[int]) -> list[int]:
    """Return the size of the part of an operand that a tile reads, along each axis.

    0 stands for the whole axis, `DYNAMIC` for an unknown size.
    """
    if not has_maps(reader):
        return [DYNAMIC] * ir.ShapedType(reader.operands[number].type).rank
    map_ = indexing_maps(reader)[number]
    sizes = dict(itertools.zip_longest(map_.dims, tile, fillvalue=0))
    return [
        sizes[index.name] if isinstance(index, AffineDim) else DYNAMIC for index in map_.results
    ]


def _sizes_in(maker: ir.Operation, result: ir.OpResult, read: Sequence[int]) -> tuple[int, ...]:
    """Return the tile of an op that computes this part of a result, by its loops."""
    if not has_maps(maker):
        return ()
    map_ = indexing_maps(maker)[len(maker.operands) - len(maker.results) + result.result_number]
    sizes = dict.fromkeys(map_.dims, 0)
    for index, size in zip(map_.results, read, strict=True):
        is_known = isinstance(index, AffineDim) or not size
        sizes.update((dim, size if is_known else DYNAMIC) for dim in index.dims)
    return tuple(sizes.values())
