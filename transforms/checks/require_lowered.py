"""Refuse modules that LLVM cannot compile: foreign operations, and instructions that the target
lacks.

An intrinsic that the target in force has no instruction for would end the process: `Cannot select`.
An error names the first, its place and the feature that the target lacks.

refused:
    llvm.func @f(%a: f32) -> f32 {
      %0 = arith.addf %a, %a : f32
      llvm.return %0 : f32
    }

refused, for a target without AVX-512:
    llvm.func @f(%x: vector<16xf32>, %y: vector<32xbf16>) -> vector<16xf32> {
      %z = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%x, %y, %y)
        : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
      llvm.return %z : vector<16xf32>
    }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError, TargetError
from linalg_ext.rewriting import module_pass
from linalg_ext.rewriting.transformation import op_names
from linalg_ext.target import current, missing_for, named
from linalg_ext.transforms.ir_utils.walking import operations, place

from .refuse_unsupported import hint_of

NAME = "linalg-ext-require-lowered"

# LLVM takes a call of a function with an intrinsic's name for the intrinsic.
_CALLS = {"llvm.call_intrinsic": "intrin", "llvm.call": "callee"}

_LEGAL_DIALECTS = frozenset({"llvm", "builtin"})

_HINTS: Mapping[str, str] = {
    "arith": "the types have no lowering: use floats of 8 bits or more, and f32 in place of tf32",
    "builtin.unrealized_conversion_cast": "a type on the two sides of it has no LLVM counterpart",
    "vector.contract": "write other kinds than <add> as linalg.generic",
}
"""The hint for an operation, or else for a dialect, that upstream leaves here."""


@module_pass(NAME, on=lambda name: name in _CALLS or not _is_legal(name))
def require_lowered(module: ir.Operation, *, name: str = "") -> None:
    """Refuse a module that holds anything but the LLVM dialect, or needs more than a target has.

    Args:
        name: of the target; the one in force where it is empty.

    Raises:
        LoweringError: an operation is of another dialect; names the first and counts the others.
        TargetError: an intrinsic has no instruction there, or there is no target of that name.
    """
    names = [name for name in op_names(module) if name in _CALLS or not _is_legal(name)]
    ops = operations(module, names)
    _require_dialect([op for op in ops if not _is_legal(op.name)])
    target = named(name) if name else current()
    for op in ops:
        intrinsic = _intrinsic(op)
        if missing := missing_for(intrinsic, target):
            raise TargetError(
                f"{intrinsic} needs {', '.join(missing)}, which {target.name} lacks",
                where=place(op),
                hint="leave the choice of instructions to LLVM, or ask target.current() first",
            )


def _require_dialect(illegal: list[Any]) -> None:
    if not illegal:
        return
    # Casts remain because of other operations: those are named first.
    illegal.sort(key=lambda op: op.name == "builtin.unrealized_conversion_cast")
    first = illegal[0]
    counts = Counter(op.name for op in illegal)
    counted = ", ".join(f"{count} x {name}" for name, count in counts.items())
    raise LoweringError(
        f"{first.name} has no known lowering to LLVM",
        where=place(first),
        hint=hint_of(first.name) or _HINTS.get(first.name) or _HINTS.get(_dialect(first.name)),
        diagnostics=[f"left in all: {counted}"] if len(illegal) > 1 else (),
    )


def _is_legal(name: str) -> bool:
    if name == "builtin.unrealized_conversion_cast":
        return False
    return _dialect(name) in _LEGAL_DIALECTS


def _dialect(name: str) -> str:
    return name.partition(".")[0]


def _intrinsic(op: Any) -> str:
    attribute = _CALLS[op.name]
    if attribute not in op.attributes:
        return ""  # a call through a pointer
    value = op.attributes[attribute]
    kind = ir.StringAttr if op.name == "llvm.call_intrinsic" else ir.FlatSymbolRefAttr
    return str(kind(value).value)
