"""The command `linalg-ext`.

A new command is a file here with a function of the same name, and that name in `COMMANDS`. What is
slow to import (MLIR, NumPy) is imported inside the function, so that `--help` stays quick.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import typer
from typer.main import get_command

COMMANDS = ("demo", "opt", "run", "export", "yaml", "ods", "tc", "cache")
"""The commands, in the order of the help."""

FAILURE = 1
USAGE = 2

# Typer exports this one kind of wrong call; its base stands for all of them.
_UsageError: Any = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="linalg-ext",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        import linalg_ext

        typer.echo(f"linalg-ext {linalg_ext.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    version: bool = typer.Option(
        False, "--version", help="Show the version.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Say once what a tensor operation is; write it down, rewrite it on real MLIR, run it."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; its exit code: 0, 1 (an error), 2 (a wrong call)."""
    given = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in given
    given = _prepared([argument for argument in given if argument != "--debug"])
    try:
        result = get_command(app).main(given, prog_name="linalg-ext", standalone_mode=False)
    except _UsageError as error:
        error.show()
        return USAGE
    except typer.Exit as error:
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _say("interrupted")
    except BrokenPipeError:
        # The reader of a pipe, `head` for example, has seen enough.
        sys.stderr.close()
        return FAILURE
    except Exception as error:
        if debug:
            raise
        return _say(_letter(error))
    return result if isinstance(result, int) else 0


def _prepared(given: list[str]) -> list[str]:
    """Let the command's file spell its arguments in the way that typer reads."""
    if not given or given[0] not in COMMANDS:
        return given
    prepare = getattr(_module(given[0]), "prepare", None)
    return given if prepare is None else [given[0], *prepare(given[1:])]


def _module(command: str) -> Any:
    return importlib.import_module(f"linalg_ext.cli.{command}")


def _letter(error: Exception) -> str:
    """What a user reads of an error: ours as they are, others with their kind."""
    from linalg_ext.errors import LinalgExtError

    notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
    if isinstance(error, LinalgExtError):
        return f"{error}{notes}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}{notes}\n  --debug shows the traceback"


def _say(message: str) -> int:
    first, _, rest = message.partition("\n")
    typer.echo(typer.style(f"error: {first}", fg="red", bold=True), err=True)
    if rest:
        typer.echo(typer.style(rest, fg="red"), err=True)
    return FAILURE


for _name in COMMANDS:
    _file = _module(_name)
    app.command(_name, context_settings=getattr(_file, "CONTEXT_SETTINGS", None))(
        getattr(_file, _name)
    )
