"""`compile`: a module in, a kernel out.

A kernel that is kept on disk is called without MLIR, which is not loaded for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from linalg_ext.compiler.searching import asked_search, searching
from linalg_ext.errors import ArgumentError, LibraryError, UntrustedError, caller_location
from linalg_ext.executable import disk_cache
from linalg_ext.executable.kernel import CompilerOptions, Kernel, Recipe
from linalg_ext.settings import Options
from linalg_ext.target import host, using

if TYPE_CHECKING:
    from linalg_ext.compiler.tuning import Tuning
    from linalg_ext.executable.libraries.registry import Library
    from linalg_ext.executable.worker_process import IsolatedKernel, Limits
    from linalg_ext.module import ModuleLike
    from linalg_ext.transforms.grouping import Search


@overload
def compile(
    module: ModuleLike | bytes,
    entry: str | None = None,
    *,
    trusted: bool = False,
    checked: bool | None = None,
    opt_level: int | None = None,
    libraries: Sequence[str | Path | Library] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
    tune: bool | float | Tuning = False,
    search: bool | str | Search = False,
    isolated: Literal[False] = False,
) -> Kernel: ...


@overload
def compile(
    module: ModuleLike | bytes,
    entry: str | None = None,
    *,
    trusted: bool = False,
    checked: bool | None = None,
    opt_level: int | None = None,
    libraries: Sequence[str | Path | Library] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
    isolated: Literal[True] | Limits,
) -> IsolatedKernel: ...


def compile(
    module: ModuleLike | bytes,
    entry: str | None = None,
    *,
    trusted: bool = False,
    checked: bool | None = None,
    opt_level: int | None = None,
    libraries: Sequence[str | Path | Library] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
    tune: bool | float | Tuning = False,
    search: bool | str | Search = False,
    isolated: bool | Limits = False,
) -> Kernel | IsolatedKernel:
    """Compile one function of a module for the target in force: this machine, if none is named.

        kernel = compile(text, entry="main")
        y = kernel(x)

    Args:
        module: MLIR text or bytecode, a `Module`, or upstream's `ir.Module` (or its operation):
            linalg on tensors or memrefs, with ops of other dialects around it. It is not changed.
        entry: the function to call; not needed where only one is public. It may take and give
            ranked tensors, ranked memrefs and scalars.
        trusted: True where you trust the module's author. An untrusted module must not reach
            beyond itself: it may declare functions of mathematics, of `libraries` and of registered
            libraries, but no others, and hold no pointers and no ops of the `llvm` dialect but
            arithmetic. A text that is trusted is parsed without the guard process: some texts kill
            MLIR's parser, and with it this process.
        checked: have the code itself check conditions that only the run can tell: that open
            dimensions agree, and that indices and slices are in bounds; by default it does, unless
            `lx.options` says otherwise. A failed check is an `ExecutionError`; without the checks
            it is a wrong number or the end of the process. Checks of whole tensors cost nothing to
            speak of; those of single loads are in the loops.
        opt_level: LLVM's, 0 to 3; None chooses by the size of the code.
        libraries: shared libraries that have the functions which the module only declares: files,
            or objects that `lx.library` has registered.
        result_dtypes: for each result the dtype to hand it back as, or None for the usual one.
            Integers of MLIR have no sign; a result is signed unless this says otherwise.
        tune: measure other plans than the model's, for this many seconds (True: 10), and take the
            fastest; this runs the module here, and so needs `trusted=True`. The grouping is
            remembered: see `lx.tuning`. `kernel.explain()` says by how much it is better.
        search: look for the grouping of the module's ops that costs least, and lower each group
            apart: True for a small budget, the name of a strategy, or a
            `transforms.grouping.Search` that says more. `kernel.explain()` shows the result, and
            the kernel is kept with it.
        isolated: compile and run in a worker process, within `Limits` of time, memory and stack: a
            crash, an endless loop or too much memory is a `CrashError` here, and no more.

    Raises:
        ParseError, VerificationError, CrashError: the text is not a valid module.
        SignatureError: no such function, or it takes or gives values that arrays cannot represent.
        UntrustedError: it is untrusted, and it reaches beyond itself, or is to be measured.
        LoweringError, PipelineError: something in it cannot be compiled.
        UnresolvedSymbolError: it calls a function that no library provides.
        LibraryError: it calls one of a registered library with other types than that takes.
        TargetError: the target is of another architecture, and no LLVM for it is installed.
    """
    if opt_level not in (None, 0, 1, 2, 3):
        raise ArgumentError(f"opt_level is {opt_level!r}", expected="0, 1, 2, 3 or None")
    if not isinstance(checked, bool | None):
        raise ArgumentError(f"checked is {checked!r}", expected="True, False or None")
    is_checked = Options.current().checked if checked is None else checked
    options = CompilerOptions(is_checked, opt_level, _files(libraries), result_dtypes)
    if isolated is not False:
        from linalg_ext.executable.worker_process import Limits, isolate

        for name, option in (("tune", tune), ("search", search)):
            if option is not False:
                raise ArgumentError(f"{name}= and isolated= at once", hint="leave one of them out")
        if isolated is not True and not isinstance(isolated, Limits):
            raise ArgumentError(
                f"isolated is {isolated!r}", expected="True, False or lx.Limits(...)"
            )
        return isolate(
            module if isinstance(module, str | bytes) else _bytecode_of(module),
            entry,
            limits=Limits() if isolated is True else isolated,
            filename=getattr(module, "filename", "-"),
            trusted=trusted,
            **options._asdict(),
        )
    chosen_search = asked_search(search)
    with searching(chosen_search):
        return _compiled(module, entry, trusted, options, tune)


def _compiled(
    module: ModuleLike | bytes,
    entry: str | None,
    trusted: bool,
    options: CompilerOptions,
    tune: bool | float | Tuning,
) -> Kernel:
    # Imported only here, for it loads MLIR: a kernel that is kept does without.
    key: str | None = None
    if isinstance(module, str | bytes) and tune is False:
        kind = "trusted text" if trusted else "text"
        key = disk_cache.key_of_module(kind, module, entry, options)
        if (kernel := disk_cache.find(key)) is not None:
            return kernel
    from linalg_ext.compiler.module_compilation import compile_copy
    from linalg_ext.compiler.tuned import tuned
    from linalg_ext.compiler.tuning import Tuning
    from linalg_ext.module import Module

    tuning = Tuning.of(tune)
    if tuning is not None and not trusted:
        raise UntrustedError(
            "tune= runs the module in this process, and it is untrusted",
            where=caller_location(),
            hint="pass trusted=True for a module whose author you trust, or leave out tune=",
        )
    if tuning is not None and isinstance(module, str | bytes):
        module = Module.parse(module, trusted=trusted)

    def make() -> Kernel:
        return compile_copy(module, entry, options, trusted=trusted, key=key)

    return make() if tuning is None else tuned(make, tuning)


def _files(
    libraries: str | Path | Library | Sequence[str | Path | Library],
) -> tuple[str | Path, ...]:
    """Return the files of libraries but for registered ones, whose functions have addresses.

    A file that is opened for code gives its names to all that is opened later.

    Raises:
        ArgumentError: one is none.
        LibraryError: one is closed.
    """
    files: list[str | Path] = []
    for library in libraries if isinstance(libraries, list | tuple) else [libraries]:
        if isinstance(library, str | Path):
            files.append(library)
            continue
        from linalg_ext.executable.libraries.registry import Library

        if not isinstance(library, Library):
            raise ArgumentError(
                f"libraries has {library!r}", expected="files, or objects of lx.library"
            )
        if library.is_closed:
            raise LibraryError(
                f"the library `{library.name}` is closed",
                hint="compile inside its `with` block",
            )
    return tuple(files)


def _bytecode_of(module: ModuleLike) -> str | bytes:
    from linalg_ext.compiler.source import as_source

    return as_source(module)


def compile_recipe(recipe: Recipe) -> Kernel:
    """Return the kernel that a recipe says, for this machine where it names no other."""
    with using(recipe.target or host()):
        return compile(
            recipe.module,
            recipe.entry,
            trusted=recipe.trusted,
            **recipe.options._asdict(),
        )
