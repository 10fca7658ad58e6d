"""Run a textual pipeline of upstream's passes and ours.

Upstream's pipeline parser cannot name a pass written in Python. A pipeline is read here, its runs
of upstream's passes go to upstream's pass manager (in the guard process, unless trusted), and ours
run in between, on the ops that they are nested in.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path

from linalg_ext.bindings import ir
from linalg_ext.cache.checked import Rule, open_folder
from linalg_ext.cache.keys import digest
from linalg_ext.errors import ArgumentError, CrashError, PipelineError, VerificationError
from linalg_ext.ir.diagnostics import Diagnostic, collected, joined, of_error
from linalg_ext.module import Module, ModuleLike, as_module, with_filename
from linalg_ext.rewriting.pipeline_text import MODULE, Step, resolve, split_options
from linalg_ext.rewriting.report import Report
from linalg_ext.rewriting.transformation import ModulePass, Transformation
from linalg_ext.runtime import parser_process
from linalg_ext.runtime.passes import IRPrinting, pass_manager, without_own_options
from linalg_ext.utils.scopes import holding

OnStage = Callable[[str, str], None]

_VERIFY = "LINALG_EXT_VERIFY"

_SAVED = 32
"""Number of files that hold modules on which passes failed."""


@dataclass
class PipelineRun:
    """The result of a pipeline.

    Attributes:
        module: the module after it.
        reports: of this library's passes, in the order in which they ran.
        diagnostics: warnings and remarks of upstream's.
        output: the text that upstream's passes printed (`print-op-stats`, for example).
        seconds: the processor time of each pass, or of neighbours of upstream's that ran together.
    """

    module: Module
    reports: list[Report] = field(default_factory=list)
    diagnostics: list[str] = field(default_factory=list)
    output: str = ""
    seconds: list[tuple[str, float]] = field(default_factory=list)

    def __repr__(self) -> str:
        rows = [repr(report) for report in self.reports] or ["no pass of this library ran"]
        return "\n".join([*rows, *self.diagnostics])


def run_pipeline(
    module: ModuleLike,
    text: str | Sequence[str],
    *,
    trusted: bool = False,
    on_stage: OnStage | None = None,
    printing: IRPrinting | None = None,
    one_by_one: bool = False,
) -> PipelineRun:
    """Run a pipeline on a module: all of it, or, where a pass fails, nothing.

    Args:
        module: a module of any kind.
        text: `builtin.module(func.func(a,b{x=1}),c)`, the bare `a,c`, or mlir-opt's `-a --c=x=1`
            (as one text or as a list of arguments).
        trusted: run upstream's passes in this process. Some options and some IR kill it.
        on_stage: called with each pass and the module's text after it.
        printing: the IR to print on standard error meanwhile, as mlir-opt prints it.
        one_by_one: run each pass by itself, so that each has its `seconds`.

    Raises:
        ArgumentError: `printing` names a pass that is not in the pipeline.
        PipelineError: the pipeline cannot be read, or a pass failed. It names the pass, and holds
            upstream's diagnostics, the module as that pass got it, and a command that repeats it.
        CrashError: one of upstream's passes died.
    """
    target = as_module(module)
    steps = resolve(text, target.context, trusted=trusted)
    current = target.clone()
    run = PipelineRun(target)
    finished = 0
    one_each = on_stage is not None or one_by_one
    if printing is not None:
        _check_names(printing, steps)
        one_each = one_each or bool(printing.names)
    for group in [[step] for step in steps] if one_each else _groups(steps):
        try:
            current = _run_group(current, group, run, trusted=trusted, printing=printing)
        except (_Failure, CrashError) as failure:
            raise _located(target, steps[:finished], group, failure, trusted=trusted) from None
        except Exception as error:
            error.add_note(_note(target, steps[:finished], group[0], trusted=trusted))
            raise
        finished += len(group)
        if on_stage:
            on_stage(group[0].nested, str(current))
    target.swap(current)
    target.applied |= {
        split_options(step.options or "").get("entry-point") or "__transform_main"
        for step in steps
        if step.name == "transform-interpreter"
    }
    return run


def _check_names(printing: IRPrinting, steps: Sequence[Step]) -> None:
    names = dict.fromkeys(step.name for step in steps)
    for name in printing.names:
        if name not in names:
            raise ArgumentError(
                f"the IR is to be printed around {name}, which is not in the pipeline",
                expected=f"one of {', '.join(names)}",
            )


def run_in_place(module: ModuleLike, text: str) -> PipelineRun:
    """Run a trusted pipeline on a module that no other code holds: a faster `run_pipeline`.

    The module is verified in the end, not after every pass: the verifier takes longer than most of
    them. `LINALG_EXT_VERIFY=1` has it verified before upstream's passes, too. A pass of ours does
    not run without any of its ops in the module. On failure the module is restored, and the
    pipeline runs again with every check, to name the pass.

    Args:
        module: a module of any kind; handles into it go stale.
        text: as for `run_pipeline`.

    Raises:
        PipelineError: as of `run_pipeline`.
    """
    target = as_module(module)
    before = target.clone()
    run = PipelineRun(target)
    try:
        _run_sparingly(target, _steps(text, target), run)
    except Exception:
        target.swap(before)
        return run_pipeline(target, text, trusted=True)
    return run


def timed_passes() -> contextlib.AbstractContextManager[list[tuple[str, float]]]:
    """Yield the `PipelineRun.seconds` of all calls of `run_in_place`; each pass runs by itself."""
    return holding(_timing, [])


_timing: ContextVar[list[tuple[str, float]] | None] = ContextVar(
    "linalg_ext.pass_seconds", default=None
)


def _run_sparingly(target: Module, steps: Sequence[Step], run: PipelineRun) -> None:
    verifies, is_changed = os.environ.get(_VERIFY) == "1", False
    timing = _timing.get()
    present: set[str] = set()
    for group in _groups(steps) if timing is None else [[step] for step in steps]:
        ours = group[0].transformation
        if ours is None and is_changed and verifies:
            _require_valid(target)
        is_whole = not group[0].anchors
        if ours is not None and is_whole and not ours.has_work(target.ir.operation, present):
            continue
        _run_group(target, group, run, trusted=True, verify_each=False)
        # A rewrite may fold ops and report no change.
        if isinstance(ours, ModulePass) and not run.reports[-1]:
            continue
        is_changed = ours is not None
    _require_valid(target)
    if timing is not None:
        timing += run.seconds


def _require_valid(module: Module) -> None:
    if not module.ir.operation.verify():
        raise _Failure("the module is invalid", ())


def _steps(text: str, target: Module) -> Sequence[Step]:
    if text not in _resolutions:
        _resolutions[text] = tuple(resolve(text, target.context, trusted=True))
    return _resolutions[text]


_resolutions: dict[str, tuple[Step, ...]] = {}


class _Failure(Exception):
    """The failure of a pass, one of a group that ran together."""

    def __init__(self, message: str, diagnostics: Sequence[str]) -> None:
        super().__init__(message)
        self.message = message
        self.diagnostics = diagnostics


def _groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    for is_upstream, group in groupby(steps, key=lambda step: step.transformation is None):
        if is_upstream:
            yield list(group)
        else:
            yield from ([step] for step in group)


def _run_group(
    module: Module,
    group: Sequence[Step],
    run: PipelineRun,
    *,
    trusted: bool,
    verify_each: bool = True,
    printing: IRPrinting | None = None,
) -> Module:
    first = group[0]
    if printing is not None and not printing.concerns(first.name) and printing.names:
        printing = None
    if first.transformation is not None:
        return _run_ours(
            module, first, first.transformation, run, verify_each=verify_each, printing=printing
        )
    pipeline = ",".join(step.nested for step in group)
    if trusted:
        return _run_here(module, pipeline, run, verify_each=verify_each, printing=printing)
    return _run_apart(module, pipeline, run, printing)


def _run_ours(
    module: Module,
    step: Step,
    transformation: Transformation,
    run: PipelineRun,
    *,
    verify_each: bool,
    printing: IRPrinting | None = None,
) -> Module:
    before = module.ir.operation.clone() if verify_each else None
    started = time.process_time()
    reports = []
    for op in _anchored(module.ir.operation, step.anchors):
        with _printed(op, step.text, transformation.function.__name__, printing):
            try:
                reports.append(transformation.apply(op, **step.values))
            except ir.MLIRError as error:  # a pass of upstream's that it runs has failed
                diagnostics = joined(of_error(error))
                raise _Failure(_summary(diagnostics), _shown(diagnostics, module)) from None
    report = reports[0] if reports else Report(transformation.pass_name)
    for further in reports[1:]:
        report.merge(further)
    run.seconds.append((step.name, time.process_time() - started))
    run.reports.append(report)
    if not verify_each:
        return module
    try:
        module.verify(after=step.text)
    except VerificationError as error:
        raise _Failure(error.what, error.diagnostics) from None
    if before is not None:

        def fold(root: ir.Operation) -> None:
            for op in _anchored(root, step.anchors):
                transformation.fold(op)

        transformation.account(report, before.operation, module.ir.operation, fold)
    return module


@contextlib.contextmanager
def _printed(
    op: ir.Operation, step: str, function: str, printing: IRPrinting | None
) -> Iterator[None]:
    """Print an op around a pass of ours, as upstream's pass manager prints around its own."""
    if printing is None:
        yield
        return
    name = f"{''.join(word.capitalize() for word in function.split('_'))}Pass: {step}"
    if printing.before_all:
        sys.stderr.write(printing.dump(op, "Before", name))
    before = str(op) if printing.after_change else None
    yield
    if printing.after_all and str(op) != before:
        sys.stderr.write(printing.dump(op, "After", name))


def _anchored(root: ir.Operation, anchors: Sequence[str]) -> list[ir.Operation]:
    """Return the ops that a pass nested in `anchors` runs on, chosen as upstream chooses them."""
    ops = [root]
    for anchor in anchors:
        ops = [
            child.operation
            for op in ops
            for region in op.regions
            for block in region
            for child in block
            if child.operation.name == anchor
            or (anchor == "any" and child.operation.has_trait(ir.IsIsolatedFromAboveTrait))
        ]
    return ops


def _run_here(
    module: Module,
    pipeline: str,
    run: PipelineRun,
    *,
    verify_each: bool,
    printing: IRPrinting | None = None,
) -> Module:
    with collected(module.context) as emitted:
        try:
            manager = pass_manager(MODULE, module.context, pipeline)
            manager.enable_verifier(verify_each)
            if printing is not None:
                sys.stderr.flush()  # upstream writes to the file behind it
                printing.enable(manager)
            started = time.process_time()
            manager.run(module.ir.operation)
            run.seconds.append((pipeline, time.process_time() - started))
        except ir.MLIRError as error:
            diagnostics = joined(of_error(error), emitted)
            raise _Failure(_summary(diagnostics), _shown(diagnostics, module)) from None
    run.diagnostics += _shown(emitted, module)
    return module


def _run_apart(
    module: Module, pipeline: str, run: PipelineRun, printing: IRPrinting | None
) -> Module:
    result = parser_process.run_passes(
        module.bytecode(),
        pipeline,
        allow_unregistered=module.context.allow_unregistered_dialects,
        printing=None if printing is None else asdict(printing),
    )
    if printing is not None:  # printed where a pass fails, too
        sys.stderr.write(with_filename(without_own_options(result.output), module.filename))
    if isinstance(result, parser_process.Refusal):
        raise _Failure(
            _summary(result.diagnostics, result.output), _shown(result.diagnostics, module)
        )
    run.diagnostics += _shown(result.diagnostics, module)
    if printing is None:
        run.output += result.output
    run.seconds.append((pipeline, result.seconds))
    return module.successor(result.bytecode)


def _shown(diagnostics: Sequence[Diagnostic], module: Module) -> list[str]:
    return [diagnostic.shown(module.filename) for diagnostic in diagnostics]


def _summary(diagnostics: Sequence[Diagnostic], otherwise: str = "") -> str:
    errors = [diagnostic.message for diagnostic in diagnostics if diagnostic.severity == "error"]
    first = (errors or [otherwise.strip() or "the pass gave no reason"])[0]
    # The rest, which may be a whole function, is in the diagnostics.
    return first.strip().partition("\n")[0]


def _replayed(target: Module, steps: Sequence[Step], *, trusted: bool) -> Module:
    """Return the module after the steps that succeeded, which keep no copies: they run again."""
    current = target.clone()
    for group in _groups(steps):
        current = _run_group(current, group, PipelineRun(target), trusted=trusted)
    return current


def _located(
    target: Module,
    done: Sequence[Step],
    group: Sequence[Step],
    failure: _Failure | CrashError,
    *,
    trusted: bool,
) -> PipelineError | CrashError:
    """Find which pass of a group fails, by running them one at a time."""
    current = _replayed(target, done, trusted=trusted)
    if len(group) == 1:  # it may have taken minutes to fail, and is not run again
        return _reported(group[0].text, group[0].nested, current, failure)
    for step in group:
        before = current.clone()
        try:
            current = _run_group(current, [step], PipelineRun(target), trusted=trusted)
        except (_Failure, CrashError) as failed:
            return _reported(step.text, step.nested, before, failed)
    together = ",".join(step.nested for step in group)
    return _reported(together, together, _replayed(target, done, trusted=trusted), failure)


def _reported(
    name: str, pipeline: str, before: Module, failure: _Failure | CrashError
) -> PipelineError | CrashError:
    file = _saved(before, name)
    command = _command(file, pipeline, before)
    if isinstance(failure, CrashError):
        return CrashError(
            failure.what.replace(f"the pipeline {pipeline}", f"the pass {name}"),
            hint=f"{failure.hint}\nrepeat it with: {command}",
            notes=failure.notes,
        )
    hint = f"repeat it with: {command}"
    if "unable to schedule pass" in failure.message:
        hint = f"nest it in an op that it runs on: func.func({name})\n{hint}"
    return PipelineError(
        f"the pass {name} failed: {failure.message}",
        pass_name=name,
        module_file=file,
        command=command,
        hint=hint,
        diagnostics=failure.diagnostics,
    )


def _note(target: Module, done: Sequence[Step], step: Step, *, trusted: bool) -> str:
    before = _replayed(target, done, trusted=trusted)
    file = _saved(before, step.name)
    return f"in the pass {step.text}; repeat it with: {_command(file, step.nested, before)}"


def _saved(module: Module, name: str) -> Path:
    """Write the module to a file that outlives this process, until newer ones push it out.

    A user's files are in one folder, among the temporary ones.
    """
    text = str(module).encode()
    words = name.partition("{")[0].replace(",", "-")[:80]
    file = f"before-{words}-{digest(text)[:8]}.mlir"
    folder = Path(tempfile.gettempdir()) / f"linalg-ext-{os.geteuid()}"
    try:
        with open_folder(folder, Rule("of failed passes", ""), make=True) as opened:
            descriptor = opened.descriptor
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file, dir_fd=descriptor)
            opened.write(file, text)
            names = os.listdir(descriptor)
            ages = {name: os.stat(name, dir_fd=descriptor).st_mtime for name in names}
            for old in sorted(names, key=lambda name: ages[name])[:-_SAVED]:
                os.unlink(old, dir_fd=descriptor)
    except OSError:  # the folder belongs to another user, or another process removed the file
        folder = Path(tempfile.mkdtemp(prefix="linalg-ext-"))
        (folder / file).write_bytes(text)
    return folder / file


def _command(file: Path, pipeline: str, module: Module) -> str:
    unregistered = module.context.allow_unregistered_dialects
    flag = " --allow-unregistered-dialect" if unregistered else ""
    return (
        f"linalg-ext opt {shlex.quote(str(file))}{flag} -p {shlex.quote(f'{MODULE}({pipeline})')}"
    )
