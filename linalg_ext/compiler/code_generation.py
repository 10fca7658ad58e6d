"""Machine code of a module on buffers: for one thread, and for several that share its work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from linalg_ext.bindings import ir
from linalg_ext.compiler.explaining import explained, written_plans
from linalg_ext.compiler.stages import LARGE_BYTES, Clock, showing_progress, stage
from linalg_ext.executable.code_variants import Shared, Whole, Work
from linalg_ext.executable.explanation import ExplainedDecision, Explanation, Stage
from linalg_ext.ir.bytecode import to_bytecode
from linalg_ext.ir.context import borrowed_context
from linalg_ext.module import Module
from linalg_ext.runtime.engine import Engine, engine_for
from linalg_ext.runtime.machine_code import PORTABLE
from linalg_ext.target import Target, current, host
from linalg_ext.transforms.llvm.set_target import confine
from linalg_ext.transforms.parallel.share_work import Sharing, share_work, sharing_of, slices_of
from linalg_ext.transforms.pipelines import lower_to_llvm

TO_CODE = ("loops", "llvm")
"""The stages after the buffers, where code for several threads becomes another."""


def work_to_share(module: ir.Module, bytecode: bytes, work: Work) -> Work | None:
    """Return the work of an entry on buffers that threads can share; None where none is worth it.

    The result is also None where this machine lacks features that the target needs.

    Args:
        module: as it is after the stage `buffers`; read, not changed.
        bytecode: of the module; empty where it is not written yet.
        work: its name and options.
    """
    target = current()
    if target.missing_on(host()):
        return None  # code to look at
    sharing = sharing_of(module.operation)
    if sharing is Sharing.NONE:
        return None
    bytecode = bytecode or to_bytecode(module.operation)
    return work._replace(bytecode=bytecode, is_open=sharing is Sharing.BY_SIZES)


def cut(work: Work, threads: int) -> Shared | None:
    """Return the code for this many threads; None where nothing can be shared.

    Raises:
        LinalgExtError: it cannot be compiled.
    """
    with _on_buffers(work) as module:
        clock = Clock()
        report = share_work.apply(module.ir.operation, threads=threads)
        if not report:
            return None
        module.verify(after=share_work.pass_name)
        slices = slices_of(module.ir.operation)
        stages: list[Stage] = []
        info = lower_to_llvm(
            module.ir,
            stages=TO_CODE,
            on_stage=lambda name, _: stages.append(Stage(name, clock.lap())),
        )
        for recorded in stages:
            recorded.passes = info.passes[recorded.name]
        level = info.suggested_opt_level if work.opt_level is None else work.opt_level
        engine = Engine(module.ir, opt_level=level, libraries=work.libraries)
        # The look-up of the entry makes LLVM generate the code, functions of its own included.
        engine.function(work.symbol)
        decisions = [decision for report in info.reports for decision in report.decisions]
        steps = (*stages, Stage("code", clock.lap()))
        return Shared(work, engine, slices, info.assertions, decisions, steps)


@showing_progress
def whole(work: Work, explanation: Explanation) -> Whole:
    """Return the code for one thread of work that is also shared; `explanation` is as of `code_of`.

    Raises:
        LinalgExtError: it cannot be compiled.
    """
    with _on_buffers(work) as module:
        return code_of(module.ir, work, explanation, Clock())


def code_of(module: ir.Module, work: Work, explanation: Explanation, clock: Clock) -> Whole:
    """Lower a module on buffers and make its code, for one thread; the module is used up.

    `explanation` is of the passes before, since the end of which the clock has run.

    Raises:
        LinalgExtError: it cannot be compiled.
    """
    target = explanation.target
    stages: list[Stage] = []
    written: list[ExplainedDecision] = []

    def on_stage(name: str, module: ir.Module) -> None:
        stages.append(stage(name, module, clock))
        if name == "loops":
            written.extend(written_plans(module))

    info = lower_to_llvm(module, stages=TO_CODE, on_stage=on_stage)
    for recorded in stages:
        recorded.passes = info.passes[recorded.name]
    level = info.suggested_opt_level if work.opt_level is None else work.opt_level
    if target != host():
        add_portable_call(module, work.symbol, target)
    engine = engine_for(target, module, opt_level=level, libraries=work.libraries)
    # The look-up of the entry makes LLVM generate the code.
    engine.function(work.symbol)
    return Whole(
        engine,
        info.assertions,
        tuple(stages),
        clock.lap(),
        explained(explanation, info.reports, written),
    )


@contextmanager
def _on_buffers(work: Work) -> Iterator[Module]:
    """Yield the module of some work, in a context on loan."""
    with borrowed_context() as loan:
        loan.keep = len(work.bytecode) <= LARGE_BYTES
        yield Module.parse(work.bytecode, trusted=True, context=loan.context)


def add_portable_call(module: ir.Module, symbol: str, target: Target) -> None:
    """Add the packed form of the function `symbol` to a module in the LLVM dialect, in place.

        llvm.func @lx_call_lx_entry_f(%table: !llvm.ptr) {
          %0 = llvm.load %table : !llvm.ptr -> !llvm.ptr        // where the first argument is
          %1 = llvm.load %0 : !llvm.ptr -> f32                  // the first argument
          ...
          llvm.call @_mlir_ciface_lx_entry_f(%1, ...) : (f32, ...) -> ()
          llvm.return
        }

    The engine makes such a function too, but for the machine that it runs on, with instructions
    that the target may lack; and a compilation for another architecture makes none.
    """
    callee = f"_mlir_ciface_{symbol}"
    function = ir.SymbolTable(module.operation)[callee].operation
    types = [str(argument.type) for argument in function.regions[0].blocks[0].arguments]
    lines = [
        f"""
        %place{index} = llvm.getelementptr %table[{index}]
            : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
        %at{index} = llvm.load %place{index} : !llvm.ptr -> !llvm.ptr
        %value{index} = llvm.load %at{index} : !llvm.ptr -> {type_}"""
        for index, type_ in enumerate(types)
    ]
    values = ", ".join(f"%value{index}" for index in range(len(types)))
    listed = ", ".join(types)
    text = f"""
      llvm.func @{callee}({listed})
      llvm.func @{PORTABLE}{symbol}(%table: !llvm.ptr) {{{"".join(lines)}
        llvm.call @{callee}({values}) : ({listed}) -> ()
        llvm.return
      }}"""
    parsed = ir.Module.parse(text, module.context)  # must outlive the ops that are read of it
    with module.context, ir.InsertionPoint(module.body):
        confine(list(parsed.body.operations)[1].operation.clone(), target)
