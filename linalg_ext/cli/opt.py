"""`linalg-ext opt`: run passes on a module, as mlir-opt does, ours among them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from linalg_ext.errors import ArgumentError

_STDIN = "-"


def opt(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="An .mlir file, or - for standard input.")] = _STDIN,
    pipeline: Annotated[
        str | None, typer.Option("-p", "--pass-pipeline", help="The passes, as one text.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", help="Where to write; standard output if not given.")
    ] = None,
    unregistered: Annotated[
        bool, typer.Option("--allow-unregistered-dialect", help="Let unknown ops pass.")
    ] = False,
    print_after_all: Annotated[
        bool, typer.Option("--print-after-all", help="Show the module after each pass.")
    ] = False,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Run in this process: quicker, but it may crash.")
    ] = False,
    list_passes: Annotated[
        bool, typer.Option("--list", help="Name all passes of this library, a line each.")
    ] = False,
) -> None:
    """Run passes on a module and print it.

    Passes are given as -p "func.func(canonicalize),linalg-ext-x{option=value}", or one argument a
    pass in mlir-opt's spelling: -canonicalize --linalg-ext-x=option=value
    """
    from linalg_ext.module import Module
    from linalg_ext.rewriting import run_pipeline

    if list_passes:
        _list()
        return
    file, passes = _file_and_passes(file, context.args)
    if pipeline is not None and passes:
        raise typer.BadParameter(f"give the passes with -p or as {passes[0]}, not both")
    text, name = _read(file)
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
    _write(str(module), output)


opt.context_settings = {  # type: ignore[attr-defined]
    "allow_extra_args": True,
    "ignore_unknown_options": True,
}


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


def _list() -> None:
    from linalg_ext.rewriting.registry import all_passes

    passes = all_passes()
    width = max(map(len, passes), default=0)
    for name, entry in passes.items():
        typer.echo(f"{name:{width}}  {entry.summary}".rstrip())


def _file_and_passes(file: str, extra: list[str]) -> tuple[str, list[str]]:
    """Tell the file from the passes: mlir-opt takes them in any order."""
    given = [file, *extra]
    passes = [argument for argument in given if argument.startswith("-") and argument != _STDIN]
    files = [argument for argument in given if argument not in passes]
    named = [argument for argument in files if argument != _STDIN]
    if len(named) > 1:
        raise typer.BadParameter(f"one file at a time, got {' and '.join(named)}")
    return (named or [_STDIN])[0], passes


def _read(file: str) -> tuple[str | bytes, str]:
    data = sys.stdin.buffer.read() if file == _STDIN else Path(file).read_bytes()
    name = "<stdin>" if file == _STDIN else file
    if data.startswith(b"ML\xefR"):
        return data, name
    try:
        return data.decode(), name
    except UnicodeDecodeError as error:
        raise ArgumentError(
            f"{name} is no text: byte {error.start} is not UTF-8",
            expected="MLIR's text or its bytecode",
        ) from None


def _print_stage(name: str, text: str) -> None:
    typer.echo(f"// -----// after {name} //----- //\n{text}", err=True)


def _write(text: str, output: Path | None) -> None:
    text = text if text.endswith("\n") else text + "\n"
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        output.write_text(text, encoding="utf-8")
