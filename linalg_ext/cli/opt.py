"""`linalg-ext opt`: run passes on a module, as mlir-opt does, ours among them.

A file may expect diagnostics in comments, which `--verify-diagnostics` compares:

    // expected-error @below {{does not fit}}
    // expected-warning @+2 {{...}}      // @-1, @above, @unknown; the same line if none
    // expected-note-re {{of {{[0-9]+}} elements}}    // with a pattern inside

Source: "Diagnostic Infrastructure" of MLIR's documentation.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linalg_ext.cli._files import STDIN, AsJson, read_module, waiting, write_json, write_text
from linalg_ext.cli._ops_of_file import execute
from linalg_ext.cli._options import File, Output
from linalg_ext.errors import ArgumentError, LinalgExtError
from linalg_ext.utils import other_libraries

if TYPE_CHECKING:
    from linalg_ext.runtime.passes import IRPrinting


_COMMENT = re.compile(
    r"expected-(error|warning|remark|note)(-re)?\s*"
    r"(?:@(above|below|unknown|[+-]\d+))?\s*\{\{(.*)\}\}\s*$"
)
_HEAD = re.compile(r"^ *(?:(.+?):(\d+):(\d+)|(loc\(.*\)|\S+)): (error|warning|remark|note): ", re.M)


@dataclass(frozen=True)
class Expected:
    """A diagnostic that a comment, at a line and column, expects; line 0 is an unknown place."""

    severity: str
    line: int
    text: str
    is_pattern: bool
    comment: str

    def matches(self, diagnostic: Produced) -> bool:
        """Return whether a diagnostic is the expected one."""
        if (self.severity, self.line) != (diagnostic.severity, diagnostic.line):
            return False
        if not self.is_pattern:
            return self.text in diagnostic.message
        parts = re.split(r"\{\{(.*?)\}\}", self.text)  # literal text and patterns in turn
        pattern = "".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts))
        return re.search(pattern, diagnostic.message) is not None


@dataclass(frozen=True)
class Produced:
    """A diagnostic of the passes; `line` is 0 if its place is unknown."""

    severity: str
    line: int
    message: str


def expected(text: str) -> list[Expected]:
    """Return the diagnostics that the comments of a text expect, in its order."""
    lines = text.splitlines()
    expectations = []
    for number, line in enumerate(lines, start=1):
        comment = _COMMENT.search(line)
        if comment is None:
            continue
        severity, pattern, line_text, words = comment.groups()
        if line_text in ("above", "below"):
            target = _beyond(lines, number, 1 if line_text == "below" else -1)
        else:
            target = 0 if line_text == "unknown" else number + int(line_text or 0)
        where = f"{number}:{comment.start() + 1}"
        expectations.append(Expected(severity, target, words, pattern is not None, where))
    return expectations


def produced(shown: Sequence[str]) -> list[Produced]:
    """Return the diagnostics of texts as `Diagnostic.shown` writes them, notes among them."""
    diagnostics = []
    for text in shown:
        heads = list(_HEAD.finditer(text))
        ends = [head.start() for head in heads[1:]] + [len(text)]
        for head, end in zip(heads, ends, strict=True):
            message = text[head.end() : end].strip()
            # Like mlir-opt, which does not print ops where it verifies diagnostics.
            if not message.startswith("see current operation"):
                diagnostics.append(Produced(head[5], int(head[2] or 0), message))
    return diagnostics


def differences(text: str, diagnostics: Sequence[Produced], filename: str) -> list[str]:
    """Return an error for each expectation that is not met, and each diagnostic beyond them.

    Notes without an expectation are left out.
    """
    extra = list(diagnostics)
    missing = []
    for comment in expected(text):
        match = next((diagnostic for diagnostic in extra if comment.matches(diagnostic)), None)
        if match is not None:
            extra.remove(match)
            continue
        missing.append(
            f'{filename}:{comment.comment}: error: expected {comment.severity} "{comment.text}" '
            "was not produced"
        )
    unexpected = [
        f"{filename}:{diagnostic.line}: error: unexpected {diagnostic.severity}: "
        f"{diagnostic.message}"
        for diagnostic in extra
        if diagnostic.severity != "note"
    ]
    return unexpected + missing


def _beyond(lines: Sequence[str], number: int, step: int) -> int:
    """Return the next line without an expectation of its own, as upstream counts them."""
    number += step
    while 1 <= number <= len(lines) and _COMMENT.search(lines[number - 1]):
        number += step
    return number


EXAMPLES = (
    "linalg-ext opt FILE.mlir -canonicalize -cse",
    'linalg-ext opt FILE.mlir -p "linalg-ext-fold-transposes,canonicalize"',
    "linalg-ext opt FILE.mlir -cse --mlir-print-ir-after-all --mlir-timing",
    "linalg-ext opt FILE.mlir --split-input-file --verify-diagnostics",
    "linalg-ext opt FILE.mlir -cse --sugar -o OUT.mlir",
    "linalg-ext opt --list --json",
)

_SPLIT = re.compile(r"^// -----\s*$", re.MULTILINE)
"""The line between the modules of a file, for `--split-input-file`."""


def _completed(incomplete: str) -> list[str]:
    """Return pipelines with the last pass of an incomplete one completed."""
    from linalg_ext.rewriting.registry import all_passes

    last = re.split(r"[,( ]", incomplete)[-1]
    before = incomplete[: len(incomplete) - len(last)]
    return [before + name for name in all_passes() if name.startswith(last)]


@dataclass
class _Run:
    """The settings of a call, and the seconds of its parts, in their order."""

    passes: str | Sequence[str]
    name: str
    trusted: bool
    unregistered: bool
    sugar: bool
    timing: bool
    printing: IRPrinting
    seconds: dict[str, float] = field(default_factory=dict)

    def text_of(self, text: str | bytes) -> tuple[str, list[str]]:
        """Return a module's text after the passes, and the warnings of the passes."""
        from linalg_ext.module import Module
        from linalg_ext.rewriting import run_pipeline

        started = time.perf_counter()
        module = Module.parse(
            text, trusted=self.trusted, allow_unregistered=self.unregistered, filename=self.name
        )
        self._add("Parser", time.perf_counter() - started)
        shown = self.printing if self.printing.before_all or self.printing.after_all else None
        run = run_pipeline(
            module, self.passes, trusted=self.trusted, printing=shown, one_by_one=self.timing
        )
        for name, seconds in run.seconds:
            self._add(name, seconds)
        if run.output:
            typer.echo(run.output.rstrip(), err=True)
        started = time.perf_counter()
        printed = module.to_text(
            sugar=self.sugar,
            locations=self.printing.locations,
            elide=self.printing.elide,
            generic=self.printing.generic,
        )
        self._add("Output", time.perf_counter() - started)
        return printed, run.diagnostics

    def _add(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def verified(self, text: str) -> tuple[str, list[str]]:
        """Return the text after the passes, empty if they fail, and unmet expectations."""
        printed = ""
        try:
            printed, shown = self.text_of(text)
        except LinalgExtError as error:
            shown = list(getattr(error, "diagnostics", ())) or [
                f"{error.where}: error: {error.what}"
            ]
        return printed, differences(text, produced(shown), self.name)


def opt(
    context: typer.Context,
    file: File = STDIN,
    pipeline: Annotated[
        str | None,
        typer.Option(
            "-p",
            "--pass-pipeline",
            help="The passes, as one text.",
            autocompletion=_completed,
        ),
    ] = None,
    output: Output = None,
    unregistered: Annotated[
        bool, typer.Option("--allow-unregistered-dialect", help="Let unknown ops pass.")
    ] = False,
    load: Annotated[
        list[Path] | None,
        typer.Option("--load", help="A file of Python with rewrites, passes, dialects; it is run."),
    ] = None,
    before_all: Annotated[
        bool, typer.Option("--mlir-print-ir-before-all", help="Show the IR before each pass.")
    ] = False,
    after_all: Annotated[
        bool,
        typer.Option(
            "--mlir-print-ir-after-all", "--print-after-all", help="Show the IR after each pass."
        ),
    ] = False,
    after: Annotated[
        list[str] | None,
        typer.Option("--mlir-print-ir-after", help="Show the IR after these passes alone."),
    ] = None,
    after_change: Annotated[
        bool,
        typer.Option(
            "--mlir-print-ir-after-change", help="With ...-after-all: only ops that a pass changed."
        ),
    ] = False,
    module_scope: Annotated[
        bool,
        typer.Option("--mlir-print-ir-module-scope", help="Show the module, not the pass's op."),
    ] = False,
    locations: Annotated[
        bool, typer.Option("--mlir-print-debuginfo", help="Print locations.")
    ] = False,
    generic: Annotated[
        bool, typer.Option("--mlir-print-op-generic", help="Print the generic form.")
    ] = False,
    elide: Annotated[
        int | None,
        typer.Option(
            "--mlir-elide-elementsattrs-if-larger", min=0, help="Elide constants of more elements."
        ),
    ] = None,
    timing: Annotated[
        bool, typer.Option("--mlir-timing", help="Show how long each pass took.")
    ] = False,
    split: Annotated[
        bool,
        typer.Option("--split-input-file", help="Take the parts between lines `// -----` apart."),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify-diagnostics", help="Compare diagnostics with `// expected-error {{...}}`."
        ),
    ] = False,
    sugar: Annotated[
        bool,
        typer.Option(
            "--sugar",
            help="Print transposes, broadcasts and compute types beside the operands, groups with "
            "their annotations in their heads, and the ops of gml_st as their document does.",
        ),
    ] = False,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Run in this process: quicker, but it may crash.")
    ] = False,
    list_passes: Annotated[
        bool,
        typer.Option("--list", help="Name all passes of this library; with --json, all of it."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run passes on a module and print it.

    Passes are given as -p "func.func(canonicalize),linalg-ext-x{option=value}", or one argument a
    pass in mlir-opt's spelling: -canonicalize --linalg-ext-x=option=value. The options of mlir-opt
    that stand here have the same meaning.
    """
    # The parser process does not know the dialects of a file that this process has run.
    trusted = _load(load or ()) or trusted
    if list_passes:
        _list(as_json=as_json)
        return
    if as_json:
        raise typer.BadParameter("--json goes with --list: a module is printed as MLIR")
    if sugar and (locations or generic or elide is not None):
        raise typer.BadParameter("--sugar writes a form of its own: not with --mlir-print ones")
    file, passes = _file_and_passes(file, context.args)
    passes = list(_without_options(passes))
    if pipeline is not None and passes:
        raise typer.BadParameter(f"give the passes with -p or as {passes[0]}, not both")
    from linalg_ext.runtime.passes import IRPrinting

    started = time.perf_counter()
    text, name = read_module(file)
    names = tuple(name for option in after or () for name in option.split(","))
    run = _Run(
        passes if pipeline is None else pipeline,
        name,
        trusted,
        unregistered,
        sugar,
        timing,
        IRPrinting(
            before_all,
            after_all or bool(names),
            after_change,
            module_scope,
            locations,
            elide,
            generic,
            () if after_all else names,
        ),
    )
    with nullcontext() if run.printing.after_all else waiting(f"passes on {name}"):
        printed, errors = _processed(run, text, split=split, verify=verify)
    write_text(printed, output)
    if timing:
        typer.echo(_timing_report(run.seconds, time.perf_counter() - started), err=True)
    if errors:
        _echo(errors)
        raise typer.Exit(1)


def _processed(run: _Run, text: str | bytes, *, split: bool, verify: bool) -> tuple[str, list[str]]:
    """Return the text of all modules of a file, and the errors to end with."""
    if isinstance(text, bytes):
        if split or verify:
            option = "--split-input-file" if split else "--verify-diagnostics"
            raise ArgumentError(f"{option} is for text", where=run.name, expected="MLIR's text")
        printed, warnings = run.text_of(text)
        _echo(warnings)
        return printed, []
    modules: list[str] = []
    errors: list[str] = []
    for part in _parts(text) if split else [text]:
        if verify:
            printed, unmet = run.verified(part)
            errors += unmet
        else:
            try:
                printed, warnings = run.text_of(part)
                _echo(warnings)
            except LinalgExtError as error:
                if not split:
                    raise
                printed = ""
                errors.append(f"error: {error}")
        modules.append(printed and printed.rstrip("\n") + "\n\n")
    if not split:
        return modules[0].rstrip("\n"), errors
    return "// -----\n".join(modules), errors


def _echo(messages: Sequence[str]) -> None:
    for message in messages:
        typer.echo(message, err=True)


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a text, each with its line numbers in the whole."""
    start = 0
    for match in [*_SPLIT.finditer(text), None]:
        end = len(text) if match is None else match.start()
        yield "\n" * text.count("\n", 0, start) + text[start:end]
        start = end if match is None else match.end()


def _timing_report(seconds: dict[str, float], total: float) -> str:
    line = f"===-{'-' * 73}-==="
    rest = max(0.0, total - sum(seconds.values()))
    rows = [*seconds.items(), ("Rest", rest), ("Total", total)]
    return "\n".join(
        [
            line,
            f"{'... Execution time report ...':^79}".rstrip(),
            line,
            f"  Total Execution Time: {total:.4f} seconds\n",
            "  ----Wall Time----  ----Name----",
            *(f"  {spent:8.4f} ({100 * spent / total:5.1f}%)  {name}" for name, spent in rows),
        ]
    )


def _load(files: Sequence[Path]) -> bool:
    """Run files of Python, which register passes; return whether they register dialects."""
    if not files:
        return False
    from linalg_ext.ir.context import dialect_modules
    from linalg_ext.module import Module  # noqa: F401  # registers the dialects of this library

    modules = dialect_modules()
    for file in files:
        execute(file)
    return dialect_modules() != modules


CONTEXT_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Passes may be given as arguments of their own."""


def prepare(arguments: list[str]) -> list[str]:
    """Write `-canonicalize` as `--canonicalize`, because one dash begins one-letter options."""
    spelled = []
    for argument in arguments:
        if argument.startswith("-p="):
            spelled.append("--pass-pipeline=" + argument[3:])
        elif len(argument) > 2 and argument[0] == "-" and argument[1].isalpha():
            spelled.append("-" + argument)
        else:
            spelled.append(argument)
    return spelled


def _list(*, as_json: bool) -> None:
    from linalg_ext.rewriting.registry import all_passes

    passes = all_passes()
    if as_json:
        write_json(
            [
                {
                    "name": name,
                    "summary": entry.summary,
                    "options": [str(option) for option in getattr(entry, "options", {}).values()],
                }
                for name, entry in passes.items()
            ]
        )
        return
    width = max(map(len, passes), default=0)
    for name, entry in passes.items():
        typer.echo(f"{name:{width}}  {entry.summary}".rstrip())


def _without_options(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the passes among arguments with dashes; the other ones are options of mlir-opt.

    Raises:
        BadParameter: an option of mlir-opt has another form here.
    """
    for argument in arguments:
        name = argument.lstrip("-").partition("=")[0]
        if name in other_libraries.MLIR_OPT:
            instead = other_libraries.MLIR_OPT[name]
            raise typer.BadParameter(f"mlir-opt's --{name} is not here: {instead}")
        if name not in _WITHOUT_EFFECT:
            yield argument


_WITHOUT_EFFECT = frozenset(
    {"verify-each", "mlir-disable-threading", "mlir-very-unsafe-disable-verifier-on-parsing"}
)
"""Options of mlir-opt that are accepted without effect: every pass is verified."""


def _file_and_passes(file: str, extra: list[str]) -> tuple[str, list[str]]:
    """Separate the file from the passes, which mlir-opt takes in any order."""
    arguments = [file, *extra]
    passes = [argument for argument in arguments if argument.startswith("-") and argument != STDIN]
    files = [argument for argument in arguments if argument not in passes]
    named = [argument for argument in files if argument != STDIN]
    if len(named) > 1:
        raise typer.BadParameter(f"one file at a time, got {' and '.join(named)}")
    return (named or [STDIN])[0], passes
