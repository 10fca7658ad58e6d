"""`linalg-ext opt`: run passes on a module, as mlir-opt does, ours among them."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Annotated

import typer

from linalg_ext.cli._json import AsJson, write_json
from linalg_ext.cli._options import File, Output
from linalg_ext.cli._progress import waiting
from linalg_ext.cli.files import STDIN, read_module, write_text

EXAMPLES = (
    "linalg-ext opt FILE.mlir -canonicalize -cse",
    'linalg-ext opt FILE.mlir -p "linalg-ext-fold-transposes,canonicalize"',
    "linalg-ext opt FILE.mlir -cse --sugar -o OUT.mlir",
    "linalg-ext opt --list --json",
)
"""Examples at the end of the command's help."""


def _completed(incomplete: str) -> list[str]:
    """Pipelines that go on where one ends: its last pass, completed."""
    from linalg_ext.rewriting.registry import all_passes

    last = re.split(r"[,( ]", incomplete)[-1]
    before = incomplete[: len(incomplete) - len(last)]
    return [before + name for name in all_passes() if name.startswith(last)]


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
    print_after_all: Annotated[
        bool, typer.Option("--print-after-all", help="Show the module after each pass.")
    ] = False,
    sugar: Annotated[
        bool,
        typer.Option(
            "--sugar",
            help="Print transposes, broadcasts and compute types beside the operands, groups with "
            "what they say in their heads, and the ops of gml_st as their document does.",
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
    pass in mlir-opt's spelling: -canonicalize --linalg-ext-x=option=value
    """
    from linalg_ext.module import Module
    from linalg_ext.rewriting import run_pipeline

    if list_passes:
        _list(as_json=as_json)
        return
    if as_json:
        raise typer.BadParameter("--json goes with --list: a module is printed as MLIR")
    file, passes = _file_and_passes(file, context.args)
    if pipeline is not None and passes:
        raise typer.BadParameter(f"give the passes with -p or as {passes[0]}, not both")
    text, name = read_module(file)
    with nullcontext() if print_after_all else waiting(f"passes on {name}"):
        module = Module.parse(text, trusted=trusted, allow_unregistered=unregistered, filename=name)
        run = run_pipeline(
            module,
            passes if pipeline is None else pipeline,
            trusted=trusted,
            on_stage=_print_stage if print_after_all else None,
        )
    for message in (*run.diagnostics, run.output.rstrip()):
        if message:
            typer.echo(message, err=True)
    write_text(module.to_text(sugar=sugar), output)


CONTEXT_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Passes may be given as arguments of their own."""


def prepare(arguments: list[str]) -> list[str]:
    """Spell `-canonicalize` as `--canonicalize`: one dash and a word means one-letter options."""
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
                    "options": [str(each) for each in getattr(entry, "options", {}).values()],
                }
                for name, entry in passes.items()
            ]
        )
        return
    width = max(map(len, passes), default=0)
    for name, entry in passes.items():
        typer.echo(f"{name:{width}}  {entry.summary}".rstrip())


def _file_and_passes(file: str, extra: list[str]) -> tuple[str, list[str]]:
    """Tell the file from the passes: mlir-opt takes them in any order."""
    given = [file, *extra]
    passes = [argument for argument in given if argument.startswith("-") and argument != STDIN]
    files = [argument for argument in given if argument not in passes]
    named = [argument for argument in files if argument != STDIN]
    if len(named) > 1:
        raise typer.BadParameter(f"one file at a time, got {' and '.join(named)}")
    return (named or [STDIN])[0], passes


def _print_stage(name: str, text: str) -> None:
    typer.echo(f"// -----// after {name} //----- //\n{text}", err=True)
