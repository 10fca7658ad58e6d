"""The compilation of the native code of this room, which is written in MLIR."""

from __future__ import annotations

from pathlib import Path

from linalg_ext.bindings import ir, passmanager
from linalg_ext.ir.context import new_context
from linalg_ext.runtime.engine import Engine

_PASSES = (
    "convert-scf-to-cf",
    "convert-arith-to-llvm",
    "convert-func-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)


def compiled_file(name: str, *more: str, inline: bool = False) -> Engine:
    """The functions of a file that stands beside this one, for this machine.

    Args:
        name: of the file.
        more: further functions, as text: what differs between systems and processors.
        inline: whether private functions become part of those that call them. What they take of
            the stack then stays taken until the caller returns.
    """
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    passes = ("inline", *_PASSES) if inline else _PASSES
    with new_context() as context:
        module = ir.Module.parse("\n".join((text, *more)), context)
        pipeline = f"builtin.module({','.join(passes)})"
        passmanager.PassManager.parse(pipeline, context).run(module.operation)
        # Optimizing takes 40 ms, and makes a call shorter by none that can be measured.
        return Engine(module, opt_level=0)
