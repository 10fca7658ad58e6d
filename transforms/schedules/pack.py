"""Pack the operands of an op into blocks, with `linalg.pack` before it and `linalg.unpack` behind.

Source: `transform.structured.pack`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_maps, check_sizes, check_tensors
from ._index_checks import check_blocks, check_separable
from ._script import ANY, Script, integers
from ._step import schedule_step


@schedule_step("linalg-ext-pack")
def pack(op: ir.Operation, *, sizes: tuple[int, ...]) -> Script:
    """Compute an op on blocks that lie next to each other in memory.

    Args:
        op: a structured op on tensors.
        sizes: of a block along each loop; 0 leaves a loop alone.

    Raises:
        ScheduleError: the sizes do not fit the loops, or the op is on buffers.
    """
    loops = check_maps(op, "pack")
    check_tensors(op, "pack")
    check_separable(op, "pack")
    check_sizes(op, "sizes", sizes, loops)
    check_blocks(op, "pack", sizes, loops.ranges)
    whole = (*sizes, *[0] * (loops.count - len(sizes)))
    return Script(
        (
            f"%packed = transform.structured.pack %target packed_sizes = {integers(whole)} : "
            f'({ANY}) -> (!transform.op<"linalg.generic">)',
            f'%any = transform.cast %packed : !transform.op<"linalg.generic"> to {ANY}',
        ),
        "%any",
        one_by_one=True,
    )
