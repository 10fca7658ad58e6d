"""Tile ops into loops over subsets, and fuse their producers into the loops.

before:
    %d = tensor.empty() : tensor<80x60xf32>
    %e = linalg.exp ins(%x : tensor<80x60xf32>) outs(%d : tensor<80x60xf32>) -> tensor<80x60xf32>
    %r = linalg.reduce {arith.addf} ins(%e : tensor<80x60xf32>) outs(%y : tensor<80xf32>)
         dimensions = [1]
after, with tile_sizes=[4] and as_scf=True:
    %r = scf.forall (%i) = (0) to (80) step (4) shared_outs(%o = %y) -> (tensor<80xf32>) {
      %xs = tensor.extract_slice %x[%i, 0] [4, 60] [1, 1]
            : tensor<80x60xf32> to tensor<4x60xf32>
      %n = tensor.empty() : tensor<4x60xf32>
      %es = linalg.exp ins(%xs : tensor<4x60xf32>) outs(%n : tensor<4x60xf32>)
            -> tensor<4x60xf32>
      %ys = tensor.extract_slice %o[%i] [4] [1] : tensor<80xf32> to tensor<4xf32>
      %s = linalg.reduce {arith.addf} ins(%es : tensor<4x60xf32>) outs(%ys : tensor<4xf32>)
           dimensions = [1]
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %s into %o[%i] [4] [1] : tensor<4xf32> into tensor<80xf32>
      }
    }

Parts of an element-wise producer that overlap, those that a stencil reads, are one part with a rim:
it is computed once, and sliced.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass

from .cleanup import resolve_dims, tidy
from .fuse_into_subset_loops import fuse_all
from .lower_subset_loops import lower_subset_loops
from .op_tiling import Choice, Request, Tiled, requested_ops
from .producer_fusion import Fusion
from .tile_into_subset_loops import tile_one

NAME = "linalg-ext-tile-and-fuse"


@module_pass(NAME)
def tile_and_fuse(
    module: ir.Operation,
    *,
    tile_sizes: tuple[tuple[int, ...], ...] = (),
    op: str = "",
    form: str = "parallel",
    points: bool = False,
    accumulate: bool = False,
    distribution: tuple[str, ...] = (),
    producers: tuple[str, ...] = (),
    as_scf: bool = False,
) -> Report:
    """Tile ops into loops over subsets, and fuse their producers into these.

        >>> lx.transforms.tile_and_fuse(module, tile_sizes=[64, 64])
        >>> lx.transforms.tile_and_fuse(module, tile_sizes=[[64], [8]], op="linalg.softmax")

    Args:
        module: a module, or another op with regions.
        tile_sizes, op, form, points, accumulate, distribution: as of `tile_into_subset_loops`.
        producers: names or labels of the ops that are fused; left out, all that are worth it, as
            of `fuse_into_subset_loops`.
        as_scf: end with scf loops and slices instead of ops of `gml_st`.

    Raises:
        ArgumentError: sizes are negative or too many, or no op is so called.
    """
    request = Request.of(tile_sizes, op, form, points, accumulate, distribution)
    report = Report(NAME)
    choice = Choice(producers)
    resolve_dims(module)

    def fuse(tiled: Tiled) -> None:
        fusion = Fusion(tiled.loops[0], choice, report)
        fusion.run()
        fuse_all(fusion.loop, choice, report)

    for target in requested_ops(module, request):
        tile_one(target, request, report, fuse)
    tidy(module)
    if as_scf:
        lower_subset_loops.apply(module)
    return report
