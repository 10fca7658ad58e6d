"""Lower an op partially: to loops over a finer-grained op of linalg.

before:
    %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
        outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
after `match("matmul").finer([4, 0, 8]).simplify()`:
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c4 = arith.constant 4 : index
    %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%o = %c) -> (tensor<8x12xf32>) {
      %1 = scf.for %j = %c0 to %c16 step %c8 iter_args(%p = %o) -> (tensor<8x12xf32>) {
        %slice = tensor.extract_slice %a[%i, %j] [4, 8] [1, 1]
            : tensor<8x16xf32> to tensor<4x8xf32>
        %slice_0 = tensor.extract_slice %b[%j, 0] [8, 12] [1, 1]
            : tensor<16x12xf32> to tensor<8x12xf32>
        %slice_1 = tensor.extract_slice %p[%i, 0] [4, 12] [1, 1]
            : tensor<8x12xf32> to tensor<4x12xf32>
        %2 = linalg.matmul ins(%slice, %slice_0 : tensor<4x8xf32>, tensor<8x12xf32>)
            outs(%slice_1 : tensor<4x12xf32>) -> tensor<4x12xf32>
        %inserted = tensor.insert_slice %2 into %p[%i, 0] [4, 12] [1, 1]
            : tensor<4x12xf32> into tensor<8x12xf32>
        scf.yield %inserted : tensor<8x12xf32>
      }
      scf.yield %1 : tensor<8x12xf32>
    }

Source: "Partially Lower to Iterations Over a Finer-Grained Linalg Op" of MLIR's linalg document;
`linalg-block-pack-matmul` for `linalg.mmt4d`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.ir_utils.walking import operations
from linalg_ext.transforms.rewrites.specialize import specialize

from ._checks import check_maps, check_parts, check_sizes, check_tensors, refusal
from ._run_alone import run_alone
from .step import ANY, Script, integers, line, schedule_step


@schedule_step("linalg-ext-finer")
def finer(
    op: ir.Operation, *, sizes: tuple[int, ...], name: str = "", library_call: str = ""
) -> Script | list[ir.Operation]:
    """Compute an op by iterations over small ones of one shape, such as a register tile's.

    Args:
        op: a structured op.
        sizes: of the small op along each loop. For "mmt4d": of its blocks, M, N and K.
        name: the kind of the small op, such as "matmul" or "mmt4d"; "": whatever `op` is.
        library_call: the function of a library, or of the user's own, that stands for the small op:
            `call_library` then calls it.

    Raises:
        ScheduleError: sizes do not divide the loops, so that not all tiles are the same op, or the
            small op is another one than `name`.
    """
    loops = check_maps(op, "finer")
    check_parts(op, "finer")
    if name == "mmt4d":
        return _mmt4d(op, sizes)
    check_sizes(op, "sizes", sizes, loops)
    for loop, size in enumerate(sizes):
        if size and loops.ranges[loop] % size:
            extent = loops.ranges[loop]
            shown = extent if extent >= 0 else "an unknown number of"
            raise refusal(
                op,
                f"sizes[{loop}] is {size}; loop {loop} runs {shown} times",
                expected="a number that divides it, so that all tiles are the same op",
                hint="pad(...) it first",
            )
    if name and op.name.removeprefix("linalg.") != name.removeprefix("linalg."):
        raise refusal(
            op,
            f"tiles of {op.name} are {op.name}, not linalg.{name.removeprefix('linalg.')}",
            hint="specialize() or generalize() first may make it one",
        )
    count = sum(size > 0 for size in sizes)
    text = f"structured.tile_using_for %target tile_sizes {integers(sizes)}"
    lines = [line(f"%tiled, %loops:{count}", text, results=1 + count)]
    if library_call:
        if not library_call.replace("_", "a").replace(".", "a").isalnum():
            raise refusal(op, f"library_call is {library_call!r}", expected="a name of a function")
        lines += [
            f'%name = transform.param.constant "{library_call}" -> !transform.any_param',
            f'transform.annotate %tiled "library_call" = %name : {ANY}, !transform.any_param',
        ]
    return Script(*lines, focus="%tiled")


def _mmt4d(op: ir.Operation, sizes: tuple[int, ...]) -> list[ir.Operation]:
    if op.name != "linalg.matmul":
        raise refusal(
            op, f"mmt4d is for linalg.matmul, not {op.name}", hint="specialize() it first"
        )
    check_tensors(op, "finer")
    if len(sizes) != 3 or min(sizes) < 1:
        raise refusal(op, f"sizes is {list(sizes)}", expected="three numbers, M, N and K, above 0")
    factors = ",".join(map(str, sizes))
    replacement = run_alone(
        op,
        f"func.func(linalg-block-pack-matmul{{block-factors={factors} allow-padding=true}})",
        lambda function: specialize.apply(function),
    )
    blocks = [block for top in replacement for block in operations(top, {"linalg.mmt4d"})]
    if not blocks:
        raise refusal(replacement[-1], "the blocks are not linalg.mmt4d")
    return blocks
