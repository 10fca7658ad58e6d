"""The code for several threads: the work of an entry cut into slices, and lowered further."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.compiler.stages import LARGE_BYTES
from linalg_ext.executable.kernel import CompilerOptions
from linalg_ext.executable.parallel_variant import Cut, Work
from linalg_ext.ir.bytecode import to_bytecode
from linalg_ext.ir.context import borrowed_context
from linalg_ext.module import Module
from linalg_ext.runtime.engine import Engine
from linalg_ext.target import current, host
from linalg_ext.transforms.parallel.share_work import Sharing, share_work, sharing_of, slices_of
from linalg_ext.transforms.pipelines import lower_to_llvm


def work_to_share(
    module: ir.Module,
    bytecode: bytes,
    name: str,
    symbol: str,
    options: CompilerOptions,
) -> Work | None:
    """Return the work of an entry on buffers that threads can share; None where none is worth it.

    The result is also None where this machine lacks features that the target needs.

    Args:
        module: as it is after the stage `buffers`; read, not changed.
        bytecode: of the module; empty where it is not written yet.
        name, symbol, options: of the kernel.
    """
    target = current()
    if target.missing_on(host()):
        return None  # code to look at
    sharing = sharing_of(module.operation)
    if sharing is Sharing.NONE:
        return None
    return Work(
        bytecode or to_bytecode(module.operation),
        name,
        symbol,
        options.opt_level,
        tuple(options.libraries),
        is_open=sharing is Sharing.BY_SIZES,
    )


def cut(work: Work, threads: int) -> Cut | None:
    """Return the code for this many threads; None where nothing can be shared.

    Raises:
        LinalgExtError: it cannot be compiled.
    """
    with borrowed_context() as loan:
        loan.keep = len(work.bytecode) <= LARGE_BYTES
        module = Module.parse(work.bytecode, trusted=True, context=loan.context)
        report = share_work.apply(module.ir.operation, threads=threads)
        if not report:
            return None
        module.verify(after=share_work.pass_name)
        slices = slices_of(module.ir.operation)
        info = lower_to_llvm(module.ir, stages=("loops", "llvm"))
        level = info.suggested_opt_level if work.opt_level is None else work.opt_level
        engine = Engine(module.ir, opt_level=level, libraries=work.libraries)
        # The look-up of the entry makes LLVM generate the code, functions of its own included.
        engine.function(work.symbol)
        decisions = [decision for report in info.reports for decision in report.decisions]
        return Cut(engine, slices, info.assertions, tuple(decisions))
