"""Refuse intrinsics that the target in force has no instruction for.

LLVM would end the process over one: `Cannot select`. An error names the first, its place and what
the target lacks; a module without such passes unchanged.

refused, for a target without AVX-512:
    llvm.func @f(%x: vector<16xf32>, %y: vector<32xbf16>) -> vector<16xf32> {
      %z = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%x, %y, %y)
        : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
      llvm.return %z : vector<16xf32>
    }
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import TargetError
from linalg_ext.rewriting import module_pass
from linalg_ext.target import current, missing_for, named
from linalg_ext.transforms.ir_utils.walking import operations, place

NAME = "linalg-ext-require-instructions"

# LLVM takes a call of a function with an intrinsic's name for the intrinsic.
_CALLS = {"llvm.call_intrinsic": "intrin", "llvm.call": "callee"}


@module_pass(NAME, on=_CALLS)
def require_instructions(module: ir.Operation, *, name: str = "") -> None:
    """Refuse a module in the LLVM dialect that needs more than a target has.

    Args:
        name: of the target; the one in force where it is empty.

    Raises:
        TargetError: an intrinsic has no instruction there, or there is no target of that name.
    """
    target = named(name) if name else current()
    for op in operations(module, _CALLS):
        intrinsic = _intrinsic(op)
        if missing := missing_for(intrinsic, target):
            raise TargetError(
                f"{intrinsic} needs {', '.join(missing)}, which {target.name} lacks",
                where=place(op),
                hint="leave the choice of instructions to LLVM, or ask target.current() first",
            )


def _intrinsic(op: Any) -> str:
    attribute = _CALLS[op.name]
    if attribute not in op.attributes:
        return ""  # a call through a pointer
    value = op.attributes[attribute]
    kind = ir.StringAttr if op.name == "llvm.call_intrinsic" else ir.FlatSymbolRefAttr
    return str(kind(value).value)
