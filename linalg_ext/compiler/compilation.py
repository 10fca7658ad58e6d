"""`compile`: a module in, a kernel out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.compiler.effects import written_arguments
from linalg_ext.compiler.entry import find_entry, wrap_entry
from linalg_ext.compiler.kernel import Kernel
from linalg_ext.compiler.shared_work import SharedWork, shared_work
from linalg_ext.compiler.signature import read_signature
from linalg_ext.compiler.source import own_copy
from linalg_ext.compiler.stages import LARGE_BYTES, Clock, Stage
from linalg_ext.context import Borrowed, borrowed_context
from linalg_ext.errors import ArgumentError
from linalg_ext.module import Module, ModuleLike
from linalg_ext.rewriting import run_in_place
from linalg_ext.runtime.foreign import engine_for
from linalg_ext.target import current
from linalg_ext.transforms.lowering.refuse_recursion import refuse_recursion
from linalg_ext.transforms.lowering.refuse_unsupported import refuse_unsupported
from linalg_ext.transforms.pipelines import CHECKS, lower_to_llvm


def compile(
    module: ModuleLike | bytes,
    entry: str | None = None,
    *,
    trusted: bool = False,
    checked: bool = True,
    opt_level: int | None = None,
    libraries: Sequence[str | Path] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
) -> Kernel:
    """Compile one function of a module for the target in force: this machine, if none is named.

        kernel = compile(text, entry="main")
        y = kernel(x)

    Args:
        module: MLIR text or bytecode, a `Module`, or upstream's `ir.Module` (or its operation):
            linalg on tensors or memrefs, with what stands around it. It is not changed.
        entry: the function to call; not needed where only one is public. It may take and give
            ranked tensors, ranked memrefs and scalars.
        trusted: parse a text without the guard process. Some texts kill MLIR's parser, and with it
            this process: only for text that MLIR itself has printed.
        checked: have the code itself check what only the run can tell: that open dimensions agree,
            and that indices and slices are in bounds. A failed check is an `ExecutionError`;
            without the checks it is a wrong number or the end of the process. Checks of whole
            tensors cost nothing to speak of; those of single loads are in the loops.
        opt_level: LLVM's, 0 to 3; None chooses by the size of the code.
        libraries: shared libraries that have the functions which the module only declares.
        result_dtypes: for each result the dtype to hand it back as, or None for the usual one.
            Integers of MLIR have no sign; a result is signed unless this says otherwise.

    Raises:
        ParseError, VerificationError, CrashError: the text is not a valid module.
        SignatureError: no such function, or it takes or gives what arrays cannot stand for.
        LoweringError, PipelineError: something in it cannot be compiled.
        UnresolvedSymbolError: it calls a function that nobody provides.
        TargetError: the target is of another architecture, and no LLVM for it is installed.
    """
    if opt_level not in (None, 0, 1, 2, 3):
        raise ArgumentError(f"opt_level is {opt_level!r}", expected="0, 1, 2, 3 or None")
    if isinstance(libraries, str | Path):
        libraries = [libraries]
    with borrowed_context() as loan:
        own = own_copy(module, trusted=trusted, context=loan.context)
        return compile_in_place(
            own,
            entry,
            loan=loan,
            checked=checked,
            opt_level=opt_level,
            libraries=libraries,
            result_dtypes=result_dtypes,
        )


def compile_in_place(
    own: Module,
    entry: str | None = None,
    *,
    loan: Borrowed,
    checked: bool = False,
    opt_level: int | None = None,
    libraries: Sequence[str | Path] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
) -> Kernel:
    """`compile` of a module that nobody else has, in a context on loan: it is used up."""
    target = current()
    clock = Clock()
    stages = [Stage("module", own.ir, clock)]
    loan.keep = stages[0].nbytes <= LARGE_BYTES
    # Before the entry is wrapped: errors then show the names that the user wrote.
    refuse_unsupported.apply(own.ir.operation)
    refuse_recursion.apply(own.ir.operation)
    with own.context:
        function = find_entry(own.ir, entry)
        signature = read_signature(
            function, written=written_arguments(function), result_dtypes=result_dtypes
        )
        wrapped = wrap_entry(own.ir, function, signature)
    own.verify(after="its entry was wrapped")
    stages.append(Stage("entry", own.ir, clock))
    if checked:
        run_in_place(own, ",".join(CHECKS))
        stages.append(Stage("checks", own.ir, clock))
    work = own.ir
    shared: SharedWork | None = None

    def on_stage(name: str, module: ir.Module) -> None:
        nonlocal shared
        stages.append(Stage(name, module, clock))
        if name == "buffers":
            shared = shared_work(work, signature.name, wrapped.symbol, opt_level, libraries)

    info = lower_to_llvm(work, on_stage=on_stage)
    level = info.suggested_opt_level if opt_level is None else opt_level
    engine = engine_for(target, work, opt_level=level, libraries=libraries)
    # Looking the entry up is what makes LLVM generate the code.
    engine.function(wrapped.symbol)
    return Kernel(
        signature,
        wrapped,
        engine,
        stages=stages,
        assertions=info.assertions,
        shared=shared,
        codegen_seconds=clock.lap(),
        target=target,
    )
