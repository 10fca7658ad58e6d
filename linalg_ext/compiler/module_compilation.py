"""The compilation of a module without other owners, from its first stage to machine code."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from linalg_ext.bindings import ir
from linalg_ext.compiler.code_generation import add_portable_call, code_of, work_to_share
from linalg_ext.compiler.effects import written_arguments
from linalg_ext.compiler.entry import find_entry, is_declaration, wrap_entry
from linalg_ext.compiler.explaining import beginning, explained
from linalg_ext.compiler.searching import in_force as asked_in_force
from linalg_ext.compiler.searching import not_searching
from linalg_ext.compiler.signature import read_signature
from linalg_ext.compiler.source import own_copy
from linalg_ext.compiler.stages import Clock, showing_progress, stage
from linalg_ext.executable import disk_cache
from linalg_ext.executable.code_variants import Shared, SharedWork, Work
from linalg_ext.executable.explanation import CompileTimes
from linalg_ext.executable.kernel import CompilerOptions, Kernel, Recipe
from linalg_ext.executable.libraries import in_force
from linalg_ext.ir.context import Borrowed, borrowed_context
from linalg_ext.module import Module, ModuleLike
from linalg_ext.rewriting import Report, run_in_place
from linalg_ext.runtime import threads
from linalg_ext.runtime.engine import Engine
from linalg_ext.runtime.libraries import is_provided, load_libraries
from linalg_ext.target import Target, current, host, override
from linalg_ext.transforms.checks.refuse_unsupported import refuse_unsupported
from linalg_ext.transforms.checks.refuse_untrusted import check_trust
from linalg_ext.transforms.ir_utils.module_functions import calls_python
from linalg_ext.transforms.ir_utils.walking import name_of, operations
from linalg_ext.transforms.pipelines import CHECKS, lower_to_llvm
from linalg_ext.transforms.rewrites.call_libraries import NAME as CALLS_LIBRARIES
from linalg_ext.utils.logs import logger

DEFAULTS = CompilerOptions()
"""The options of a call that names none."""


def compile_copy(
    module: ModuleLike | bytes,
    entry: str | None,
    options: CompilerOptions = DEFAULTS,
    *,
    trusted: bool,
    key: str | None = None,
) -> Kernel:
    """`compile` of a copy of a module; `key` is the kernel's key in the cache, if known."""
    with borrowed_context() as loan:
        own = own_copy(module, trusted=trusted, context=loan.context)
        if not trusted:
            handles = load_libraries(list(map(str, options.libraries)))
            check_trust(
                own.ir.operation,
                provided=lambda name: (
                    any(library.declared(name) for library in in_force())
                    or is_provided(name, handles)
                ),
            )
        return compile_in_place(own, entry, options, loan=loan, trusted=trusted, key=key)


def compile_built(
    name: str,
    build: Callable[[], None],
    options: CompilerOptions = DEFAULTS,
    *,
    key: str | None,
) -> Kernel:
    """`compile` a new module with one function, which is built at the insertion point.

    Args:
        name: of the function, and the location of its ops.
        build: builds it.
        options: as of `compile`.
        key: of the kernel in the cache, if it is kept.
    """
    with borrowed_context() as loan:
        with loan.context, ir.Location.name(name):
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                build()
        return compile_in_place(Module(module), name, options, loan=loan, key=key)


@showing_progress
def compile_in_place(
    own: Module,
    entry: str | None = None,
    options: CompilerOptions = DEFAULTS,
    *,
    loan: Borrowed,
    trusted: bool = True,
    key: str | None = None,
) -> Kernel:
    """`compile` a module without other owners, in a context on loan. The module is used up.

    Args:
        own: the module.
        entry, options: as of `compile`.
        loan: its context.
        trusted: True where the module is not checked at the kernel's destination: it is this
            library's own, or trusted.
        key: the key of the kernel where the caller has looked there already; else the key is made
            from the module.
    """
    target = current()
    clock = Clock()
    stages = [stage("module", own.ir, clock)]
    loan.keep = bool(stages[0].bytecode)
    bytecode = stages[0].bytecode or own.bytecode()
    if calls_python(own.ir):
        key = None
        logger("cache").info("`%s` is not kept: it calls functions of Python", entry)
    elif key is None:
        key = disk_cache.key_of_module("module", bytecode, entry, options)
        if (cached := disk_cache.find(key)) is not None:
            if cached.recipe is not None:
                cached.recipe = cached.recipe._replace(trusted=trusted)
            return cached
    # Before the entry is wrapped: errors then show the names that the user wrote.
    refuse_unsupported.apply(own.ir.operation)
    reports = _group_entry(own, entry, trusted=trusted)
    with own.context:
        function = find_entry(own.ir, entry)
        signature = read_signature(
            function, written=written_arguments(function), result_dtypes=options.result_dtypes
        )
        calls_others = any(is_declaration(op.operation) for op in own.ir.body.operations)
        open_ended = bool(operations(own.ir, _OF_OPEN_LENGTH))
        wrapped = wrap_entry(own.ir, function, signature)
    own.verify(after="the entry was wrapped")
    stages.append(stage("entry", own.ir, clock))
    if options.checked:
        reports += run_in_place(own, ",".join(CHECKS)).reports
        stages.append(stage("checks", own.ir, clock))
    info = lower_to_llvm(
        own.ir,
        stages=("linalg", "buffers"),
        on_stage=lambda name, module: stages.append(stage(name, module, clock)),
        checked=options.checked,
    )
    reports += info.reports
    for recorded in stages:
        recorded.passes = info.passes.get(recorded.name, ())
    # A library's function may wait, even for this interpreter.
    calls_others |= any(report and report.pass_name == CALLS_LIBRARIES for report in reports)
    work = Work(
        b"",
        signature.name,
        wrapped.symbol,
        options.opt_level,
        tuple(options.libraries),
        is_open=False,
    )
    share = work_to_share(own.ir, stages[-1].bytecode, work)
    explanation = explained(beginning(str(signature), target, is_shared=share is not None), reports)
    shared = None if share is None else SharedWork(share, explanation, key)
    variant: Shared | None = None
    if shared is not None and not shared.work.is_open and not calls_others:
        # Else code for one thread must be made now: functions of others may go.
        variant = shared.for_threads(threads.current())
    code = code_of(own.ir, work, explanation, clock) if variant is None else None
    kernel = Kernel(
        signature,
        wrapped,
        code,
        stages=stages,
        times=None if variant is None else CompileTimes.of_steps((*stages, *variant.steps)),
        shared=shared,
        open_ended=open_ended or calls_others,
        target=target,
        recipe=Recipe(
            bytecode,
            entry,
            trusted,
            options._replace(
                libraries=tuple(map(str, options.libraries)),
                result_dtypes=tuple(result.dtype for result in signature.results),
            ),
            override(),
        ),
    )
    _log(kernel)
    disk_cache.keep(key, kernel)
    return kernel


def _log(kernel: Kernel) -> None:
    """Log the kernel, and the parts of it that take a slower way."""
    compiled = logger("compile")
    if compiled.isEnabledFor(logging.INFO):
        compiled.info("%s", repr(kernel))
    fallbacks = logger("fallbacks")
    if fallbacks.isEnabledFor(logging.INFO):
        for name, reason in kernel.explain(1).left:
            fallbacks.info("%s: %s left %s", kernel.signature.name, name, reason)


def _group_entry(module: Module, entry: str | None, *, trusted: bool) -> list[Report]:
    """Give the entry of a module the groups that are searched for; the result.

    Raises:
        ArgumentError: it cannot be searched.
        UntrustedError: it is to be measured, and untrusted.
    """
    chosen_search = asked_in_force()
    if chosen_search is None:
        return []
    from linalg_ext.transforms.grouping import search

    with module.context:
        name = name_of(find_entry(module.ir, entry))
    with not_searching():
        grouping = search(module, chosen_search, function=name, trusted=trusted)
    report = Report("linalg-ext-search", decisions=[grouping])
    if grouping.is_worth_it:
        grouping.realize(module)
    else:
        report.leave(grouping.title, "the groups that pipelines fuse by default cost hardly more")
    return [report]


_OF_OPEN_LENGTH = frozenset(
    {
        *("scf.for", "scf.forall", "scf.parallel", "scf.while", "affine.for"),
        *("cf.assert", "cf.br", "cf.cond_br", "cf.switch"),
        *("func.call_indirect", "llvm.call"),
    }
)
"""Ops for whose sake calls may differ greatly in time.

Ops on whole arrays take about the same time at every call, for all shapes are known.
"""


def position_independent(
    bytecode: bytes, symbol: str, opt_level: int, libraries: Sequence[str], target: Target
) -> bytes:
    """Return the object code of a module in the LLVM dialect, without absolute addresses in it.

    Args:
        bytecode: the last stage of a kernel.
        symbol: the entry of it.
        opt_level, libraries, target: as of the kernel.

    Raises:
        IRError, UnresolvedSymbolError: as of `Engine`.
    """
    module = Module.parse(bytecode, trusted=True).ir
    if target != host():
        add_portable_call(module, symbol, target)
    engine = Engine(module, opt_level=opt_level, libraries=libraries, position_independent=True)
    engine.function(symbol)  # which makes the code
    return engine.object_code()
