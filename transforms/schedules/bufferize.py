"""Take a module from tensors to buffers.

Source: "Progressive Buffer Allocation" of MLIR's linalg document, its last step;
`one-shot-bufferize`, with functions and their calls.
"""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._step import Passes, schedule_step

_PASS = (
    "one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map}"
)


@schedule_step("linalg-ext-bufferize", whole=True)
def bufferize(module: ir.Operation) -> Passes:
    """Put a buffer in the place of every tensor, in place where nothing reads the old value.

    Raises:
        ScheduleError: an op cannot be bufferized, such as ones of this library's dialects.
    """
    return Passes(f"eliminate-empty-tensors,{_PASS},canonicalize,cse")
