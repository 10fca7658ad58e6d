"""Refuse operations that cannot be lowered to LLVM, by name and place.

refused:
    llvm.func @f(%a: f32) -> f32 {
      %0 = arith.addf %a, %a : f32
      llvm.return %0 : f32
    }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import module_pass
from linalg_ext.transforms.ir_utils.unsupported import cure_of
from linalg_ext.transforms.ir_utils.walking import place, select

NAME = "linalg-ext-require-lowered"

_LEGAL_DIALECTS = frozenset({"llvm", "builtin"})

_CURES: Mapping[str, str] = {
    "arith": "the types have no lowering: use floats of 8 bits or more, and f32 in place of tf32",
    "builtin.unrealized_conversion_cast": "a type on the two sides of it has no LLVM counterpart",
    "vector.contract": "write other kinds than <add> as linalg.generic",
}
"""The hint for an operation, or else for a dialect, that upstream leaves here."""


@module_pass(NAME, on=lambda name: not _is_legal(name))
def require_lowered(module: ir.Operation) -> None:
    """Refuse a module that holds anything but the LLVM dialect.

    Raises:
        LoweringError: something is not; names the first such operation and counts the others.
    """
    left = select(module, lambda op: not _is_legal(op.name))
    if not left:
        return
    # Casts come of other operations that could not be lowered: name those first.
    left.sort(key=lambda op: op.name == "builtin.unrealized_conversion_cast")
    first = left[0]
    counts = Counter(op.name for op in left)
    others = ", ".join(f"{count} x {name}" for name, count in counts.items())
    raise LoweringError(
        f"{first.name} has no known lowering to LLVM",
        where=place(first),
        hint=cure_of(first.name) or _CURES.get(first.name) or _CURES.get(_dialect(first.name)),
        diagnostics=[f"left in all: {others}"] if len(left) > 1 else (),
    )


def _is_legal(name: str) -> bool:
    if name == "builtin.unrealized_conversion_cast":
        return False
    return _dialect(name) in _LEGAL_DIALECTS


def _dialect(name: str) -> str:
    return name.partition(".")[0]
