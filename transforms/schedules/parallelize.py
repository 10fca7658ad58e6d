"""Map an op to parallel workers: `scf.forall` over tiles, with hardware names if wanted.

before:
    %r = linalg.abs ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
after `match("abs").parallelize([4]).simplify()`:
    %r = scf.forall (%i) in (2) shared_outs(%o = %c) -> (tensor<8xf32>) {
      %1 = affine.apply affine_map<(d0) -> (d0 * 4)>(%i)
      %slice = tensor.extract_slice %a[%1] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %slice_0 = tensor.extract_slice %o[%1] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %2 = linalg.abs ins(%slice : tensor<4xf32>) outs(%slice_0 : tensor<4xf32>) -> tensor<4xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %2 into %o[%1] [4] [1] : tensor<4xf32> into tensor<8xf32>
      }
    }

Source: "Map to Parallel and Reduction Loops and Hardware" of MLIR's linalg document;
`transform.structured.tile_using_forall`. Reductions: `tile_reduction` and `split_reduction`.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir

from ._checks import (
    DYNAMIC,
    check_parallel,
    check_parts,
    check_rows,
    check_sizes,
    refusal,
    structured_loops,
)
from .step import Script, integers, line, schedule_step

_UNITS = ("block", "thread", "warp", "warpgroup")


@schedule_step("linalg-ext-parallelize")
def parallelize(
    op: ir.Operation,
    *,
    sizes: tuple[int, ...] = (),
    threads: tuple[int, ...] = (),
    mapping: tuple[str, ...] = (),
) -> Script:
    """Put an op into one `scf.forall`, whose iterations may run at the same time.

    Args:
        op: a structured op.
        sizes: of a tile along each loop; 0 leaves a loop alone. Either these or `threads`.
        threads: how many workers share each loop; 0 leaves a loop alone.
        mapping: the unit that runs each of the new loops: "block_x", "thread_y", "warp_z", ...

    Raises:
        ScheduleError: a loop is a reduction, whose iterations depend on each other, workers would
            have nothing to do, or an argument does not fit the op.
    """
    loops = structured_loops(op, "parallelize")
    if bool(sizes) == bool(threads):
        raise refusal(
            op,
            "parallelize takes either sizes or threads"
            + (", not both" if sizes else "; it got neither"),
        )
    name, numbers = ("sizes", sizes) if sizes else ("threads", threads)
    check_sizes(op, name, numbers, loops)
    check_parts(op, "parallelize", sizes or _tiles(threads, loops.ranges))
    check_rows(op, name, numbers)
    _check_busy(op, threads, loops.ranges)
    hint = "tile_reduction(...) or split_reduction(...) makes parallel work of it"
    check_parallel(op, name, numbers, loops, hint)
    mapped = ""
    if mapping:
        count = sum(size > 0 for size in numbers)
        if len(mapping) != count or len(set(mapping)) != count:
            raise refusal(
                op, f"mapping {list(mapping)} is for {count} loops", expected=f"{count} names"
            )
        mapped = f" (mapping = [{', '.join(_attribute(op, name) for name in mapping)}])"
    attribute = "tile_sizes" if sizes else "num_threads"
    text = f"structured.tile_using_forall %target {attribute} {integers(numbers)}{mapped}"
    return Script(line("%tiled, %loop", text, results=2), focus="%tiled")


def _attribute(op: ir.Operation, name: str) -> str:
    unit, _, axis = name.partition("_")
    if unit not in _UNITS or axis not in ("x", "y", "z"):
        raise refusal(
            op,
            f"mapping has {name!r}",
            expected=f"one of {', '.join(_UNITS)}, then _x, _y or _z",
        )
    return f"#gpu.{unit}<{axis}>"


def _check_busy(op: ir.Operation, threads: Sequence[int], ranges: Sequence[int]) -> None:
    """Refuse workers with nothing to do: upstream lets them begin behind the end of operands."""
    for loop, (size, count) in enumerate(zip(_tiles(threads, ranges), threads, strict=False)):
        busy = -(-ranges[loop] // size) if size else count
        if busy < count:
            raise refusal(
                op,
                f"threads[{loop}] is {count}, but {busy} of them, with {size} rounds each, do all "
                f"{ranges[loop]} of loop {loop}",
                expected=f"{busy}, or another number that leaves none idle",
            )


def _tiles(threads: Sequence[int], ranges: Sequence[int]) -> list[int]:
    return [
        -(-range_ // count) if count and range_ != DYNAMIC else 0
        for count, range_ in zip(threads, ranges, strict=False)
    ]
