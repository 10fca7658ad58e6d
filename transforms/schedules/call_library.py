"""Let an op call a function of a registered library; see `linalg_ext.library`.

before:
    %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x12xf32>)
        outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
after `match("matmul").call_library()`, where OpenBLAS is in force:
    %r = call @lx.library.call0.stub(%a, %b, %c)
        : (tensor<8x16xf32>, tensor<16x12xf32>, tensor<8x12xf32>) -> tensor<8x12xf32>

Source: "Lower to Library Calls or Special Instructions, Intrinsics or ISA" of MLIR's linalg
document. On all ops of a module: `call_libraries`.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.libraries import in_force
from linalg_ext.transforms.rewrites.library_choice import Chosen, asked_names, choose
from linalg_ext.transforms.rewrites.library_functions import LibraryFunctions

from ._checks import check_maps, refusal
from .step import schedule_step


@schedule_step("linalg-ext-call-library")
def call_library(op: ir.Operation) -> list[ir.Operation]:
    """Replace an op by a call of the library in force.

    Raises:
        ScheduleError: no library is in force, or none has a function for the op.
    """
    check_maps(op, "call_library")
    libraries = in_force()
    if not libraries:
        raise refusal(
            op,
            "the step has no library to call",
            hint="take the step inside `with lx.library(...):`",
        )
    found = choose(op, libraries, asked_names(_module_of(op)))
    if not isinstance(found, Chosen):
        raise refusal(
            op, f"the libraries have no function for this {op.name}: {found or 'none fits'}"
        )
    LibraryFunctions(_module_of(op)).replace(op, found)
    return []


def _module_of(op: ir.Operation) -> ir.Operation:
    parent: Any = op
    while parent.parent is not None:
        parent = parent.parent.operation
    return parent  # type: ignore[no-any-return]
