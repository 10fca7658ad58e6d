"""`compile`: a module in, a kernel out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.calling.kernel import Kernel
from linalg_ext.calling.recipe import Recipe
from linalg_ext.calling.shared_work import SharedWork
from linalg_ext.compiler.duration import is_open_ended
from linalg_ext.compiler.effects import written_arguments
from linalg_ext.compiler.entry import find_entry, wrap_entry
from linalg_ext.compiler.explaining import WrittenPlan, explained, written_plans
from linalg_ext.compiler.signature import read_signature
from linalg_ext.compiler.slicing import shared_work
from linalg_ext.compiler.source import own_copy
from linalg_ext.compiler.stages import LARGE_BYTES, Clock, Stage
from linalg_ext.compiler.tuned import tuned
from linalg_ext.context import Borrowed, borrowed_context
from linalg_ext.errors import ArgumentError
from linalg_ext.module import Module, ModuleLike
from linalg_ext.rewriting import run_in_place
from linalg_ext.runtime.foreign import engine_for
from linalg_ext.runtime.libraries import is_provided, load_libraries
from linalg_ext.target import current, host, override, using
from linalg_ext.transforms.lowering.refuse_recursion import refuse_recursion
from linalg_ext.transforms.lowering.refuse_unsupported import refuse_unsupported
from linalg_ext.transforms.lowering.refuse_untrusted import check_trust
from linalg_ext.transforms.pipelines import CHECKS, lower_to_llvm
from linalg_ext.tuning import Tuning

if TYPE_CHECKING:
    from linalg_ext.compiler.isolated import IsolatedKernel, Limits


@overload
def compile(
    module: ModuleLike | bytes,
    entry: str | None = None,
    *,
    trusted: bool = False,
    checked: bool = True,
    opt_level: int | None = None,
    libraries: Sequence[str | Path] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
    tune: bool | float | Tuning = False,
    isolated: Literal[False] = False,
) -> Kernel: ...


@overload
def compile(
    module: ModuleLike | bytes,
    entry: str | None = None,
    *,
    trusted: bool = False,
    checked: bool = True,
    opt_level: int | None = None,
    libraries: Sequence[str | Path] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
    isolated: Literal[True] | Limits,
) -> IsolatedKernel: ...


def compile(
    module: ModuleLike | bytes,
    entry: str | None = None,
    *,
    trusted: bool = False,
    checked: bool = True,
    opt_level: int | None = None,
    libraries: Sequence[str | Path] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
    tune: bool | float | Tuning = False,
    isolated: bool | Limits = False,
) -> Kernel | IsolatedKernel:
    """Compile one function of a module for the target in force: this machine, if none is named.

        kernel = compile(text, entry="main")
        y = kernel(x)

    Args:
        module: MLIR text or bytecode, a `Module`, or upstream's `ir.Module` (or its operation):
            linalg on tensors or memrefs, with what stands around it. It is not changed.
        entry: the function to call; not needed where only one is public. It may take and give
            ranked tensors, ranked memrefs and scalars.
        trusted: whether you vouch for the module's author. Otherwise it must not reach beyond
            itself: it may declare functions of mathematics, of memory allocation and of
            `libraries`, but no others, and hold no assembly and no pointers made of integers. A
            text that is trusted is parsed without the guard process: some texts kill MLIR's parser,
            and with it this process.
        checked: have the code itself check what only the run can tell: that open dimensions agree,
            and that indices and slices are in bounds. A failed check is an `ExecutionError`;
            without the checks it is a wrong number or the end of the process. Checks of whole
            tensors cost nothing to speak of; those of single loads are in the loops.
        opt_level: LLVM's, 0 to 3; None chooses by the size of the code.
        libraries: shared libraries that have the functions which the module only declares.
        result_dtypes: for each result the dtype to hand it back as, or None for the usual one.
            Integers of MLIR have no sign; a result is signed unless this says otherwise.
        tune: measure other plans than the model's, for so many seconds (True: 10), and take the
            fastest; what is found is remembered: see `linalg_ext.tuning`. `kernel.explain()` says
            by how much it is better.
        isolated: compile and run in a process apart, within `Limits` of time, memory and stack: a
            crash, a loop without end or a hunger for memory is a `CrashError` here, and no more.

    Raises:
        ParseError, VerificationError, CrashError: the text is not a valid module.
        SignatureError: no such function, or it takes or gives what arrays cannot stand for.
        UntrustedError: nobody vouches for it, and it reaches beyond itself.
        LoweringError, PipelineError: something in it cannot be compiled.
        UnresolvedSymbolError: it calls a function that nobody provides.
        TargetError: the target is of another architecture, and no LLVM for it is installed.
    """
    if opt_level not in (None, 0, 1, 2, 3):
        raise ArgumentError(f"opt_level is {opt_level!r}", expected="0, 1, 2, 3 or None")
    if isinstance(libraries, str | Path):
        libraries = [libraries]
    if isolated is not False:
        # Only now: the worker, which imports it, imports this.
        from linalg_ext.compiler.isolated import Limits, isolate

        if tune is not False:
            raise ArgumentError("tune= and isolated= at once", cure="leave one of them out")
        if isolated is not True and not isinstance(isolated, Limits):
            raise ArgumentError(
                f"isolated is {isolated!r}", expected="True, False or lx.Limits(...)"
            )
        return isolate(
            module,
            entry,
            limits=Limits() if isolated is True else isolated,
            libraries=libraries,
            result_dtypes=result_dtypes,
            trusted=trusted,
            checked=checked,
            opt_level=opt_level,
        )
    tuning = Tuning.of(tune)
    if tuning is not None and isinstance(module, str | bytes):
        module = Module.parse(module, trusted=trusted)

    def make() -> Kernel:
        with borrowed_context() as loan:
            own = own_copy(module, trusted=trusted, context=loan.context)
            if not trusted:
                handles = load_libraries([str(library) for library in libraries])
                check_trust(own.ir.operation, provided=lambda name: is_provided(name, handles))
            return compile_in_place(
                own,
                entry,
                loan=loan,
                trusted=trusted,
                checked=checked,
                opt_level=opt_level,
                libraries=libraries,
                result_dtypes=result_dtypes,
            )

    return make() if tuning is None else tuned(make, tuning)


def compile_in_place(
    own: Module,
    entry: str | None = None,
    *,
    loan: Borrowed,
    trusted: bool = True,
    checked: bool = False,
    opt_level: int | None = None,
    libraries: Sequence[str | Path] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
) -> Kernel:
    """`compile` of a module that nobody else has, in a context on loan: it is used up.

    Args:
        trusted: whether it need not be checked where the kernel is sent to: it is our own, or
            somebody vouched for it.
    """
    target = current()
    clock = Clock()
    first = Stage("module", own.ir, clock, keep=True)
    stages = [first]
    loan.keep = first.nbytes <= LARGE_BYTES
    # Before the entry is wrapped: errors then show the names that the user wrote.
    refuse_unsupported.apply(own.ir.operation)
    refuse_recursion.apply(own.ir.operation)
    with own.context:
        function = find_entry(own.ir, entry)
        signature = read_signature(
            function, written=written_arguments(function), result_dtypes=result_dtypes
        )
        open_ended = is_open_ended(own.ir)
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
        if name == "loops":
            written.extend(written_plans(module))

    written: list[WrittenPlan] = []
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
        open_ended=open_ended,
        codegen_seconds=clock.lap(),
        target=target,
        explanation=explained(
            str(signature), target, info.reports, written, is_shared=shared is not None
        ),
        recipe=Recipe(
            first.bytecode,
            entry,
            trusted,
            checked,
            opt_level,
            tuple(map(str, libraries)),
            tuple(result.dtype for result in signature.results),
            override(),
        ),
    )


def compile_recipe(recipe: Recipe) -> Kernel:
    """The kernel that a recipe says, for this machine where it names no other."""
    with using(recipe.target or host()):
        return compile(
            recipe.module,
            recipe.entry,
            trusted=recipe.trusted,
            checked=recipe.checked,
            opt_level=recipe.opt_level,
            libraries=recipe.libraries,
            result_dtypes=recipe.result_dtypes,
        )
