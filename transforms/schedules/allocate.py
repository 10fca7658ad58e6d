"""Give single ops buffers, while those around them stay on tensors.

before:
    %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
        outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
after `match("matmul").allocate("stack").simplify()`:
    %alloca = memref.alloca() : memref<8x12xf32>
    bufferization.materialize_in_destination %c in writable %alloca
        : (tensor<8x12xf32>, memref<8x12xf32>) -> ()
    %0 = bufferization.to_tensor %alloca restrict writable : memref<8x12xf32> to tensor<8x12xf32>
    %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
        outs(%0 : tensor<8x12xf32>) -> tensor<8x12xf32>

Source: "Progressive Buffer Allocation" of MLIR's linalg document;
`transform.structured.bufferize_to_allocation`. The rest, at once: `bufferize`.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._checks import check_choice, check_least, check_tensors, refusal, structured_loops
from ._script import ANY, Doubt, Script
from .step import schedule_step

_ALLOCATIONS = {"heap": "memref.alloc", "stack": "memref.alloca"}


@schedule_step("linalg-ext-allocate")
def allocate(op: ir.Operation, *, memory: str = "heap", memory_space: int = 0) -> Script:
    """Allocate a buffer for what an op writes; the op itself stays on tensors.

    Args:
        op: a structured op on tensors.
        memory: "heap" or "stack".
        memory_space: of the new buffer, a number that the target knows.

    Raises:
        ScheduleError: the op is on buffers already, or an argument is wrong.
    """
    structured_loops(op, "allocate")
    check_tensors(op, "allocate")
    if op.name == "tensor.pad" and not ir.ShapedType(op.results[0].type).has_static_shape:
        raise refusal(
            op,
            "allocate needs the size of a padded tensor, which only the running program knows",
            hint="take this step before the pad is tiled, or bufferize()",
        )
    check_choice(op, "memory", memory, tuple(_ALLOCATIONS))
    check_least(op, "memory_space", memory_space, 0)
    space = f"memory_space = {memory_space}, " if memory_space else ""
    return Script(
        (
            "%buffer, %made = transform.structured.bufferize_to_allocation %target "
            f'{{{space}alloc_op = "{_ALLOCATIONS[memory]}", bufferize_destination_only}} : {ANY}',
        ),
        doubt=Doubt(
            f"upstream cannot put the {len(op.results)} results of this {op.name} into buffers of "
            "its own",
            "bufferize() puts the whole module on buffers",
        ),
    )
