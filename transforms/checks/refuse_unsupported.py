"""Refuse operations without a lowering to LLVM, before the module is changed.

Upstream would find most of it half-way down, where the place and the name are no longer those that
the user wrote; scalable vectors end the process in LLVM's code generator, and vectors of a hundred
thousand elements keep it busy for minutes.

An error names the operation, its place and the hint; a module without such passes unchanged.

refused:
    func.func @f() -> index {
      %id = gpu.thread_id x
      return %id : index
    }
"""

from __future__ import annotations

import math
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import module_pass
from linalg_ext.transforms.ir_utils.unsupported import cure_of
from linalg_ext.transforms.ir_utils.walking import place, select

NAME = "linalg-ext-refuse-unsupported"

_MOST_LANES = 1 << 14
_ALLOCATIONS = frozenset({"memref.alloc", "memref.alloca"})


@module_pass(NAME)
def refuse_unsupported(module: ir.Operation) -> None:
    """Refuse operations, vectors and memory that have no way down to LLVM.

    Raises:
        LoweringError: there is such; names the first.
    """
    for op in select(module, lambda op: op != module):
        hint = cure_of(op.name)
        if hint is not None:
            raise LoweringError(
                f"{op.name} has no known lowering to LLVM", where=place(op), hint=hint
            )
        if op.name == "bufferization.to_tensor" and "restrict" not in op.attributes:
            raise LoweringError(
                "a tensor that is made of memory must be the only name of that memory",
                where=place(op),
                hint="write `bufferization.to_tensor %m restrict`",
            )
        _refuse_types(op)


def _refuse_types(op: Any) -> None:
    for result in op.results:
        type_ = result.type
        if _is_scalable(type_):
            raise LoweringError(
                f"scalable vectors cannot be compiled for this machine: {type_}",
                where=place(op),
                hint="use vectors of a fixed size",
            )
        if isinstance(type_, ir.VectorType) and math.prod(type_.shape) > _MOST_LANES:
            raise LoweringError(
                f"a vector of {math.prod(type_.shape)} elements takes LLVM minutes: {type_}",
                where=place(op),
                expected=f"{_MOST_LANES} elements at most",
                hint="loop over shorter vectors, or use tensors: they are cut into vectors that "
                "fit the machine",
            )
        if op.name in _ALLOCATIONS and str(type_.memory_space) not in ("None", "0", "0 : i64"):
            raise LoweringError(
                f"memory can only be allocated in the default memory space, not in {type_}",
                where=place(op),
                hint="drop the memory space from the type",
            )


def _is_scalable(type_: Any) -> bool:
    if isinstance(type_, ir.MemRefType | ir.RankedTensorType):
        type_ = type_.element_type
    return isinstance(type_, ir.VectorType) and bool(type_.scalable)
