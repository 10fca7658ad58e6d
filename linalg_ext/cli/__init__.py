"""The command `linalg-ext`.

A new command is a file here with a function of the same name and `EXAMPLES` for the end of its
help, and that name in `COMMANDS`. Modules that load slowly (MLIR, NumPy) are imported inside the
function, so that `--help` stays quick.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.main import get_command

COMMANDS = (
    "demo",
    "opt",
    "run",
    "explain",
    "export",
    "yaml",
    "ods",
    "tc",
    "write",
    "target",
    "cache",
)
"""The commands, in the order of the help."""

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit codes; the last two are those of a shell for SIGINT and SIGPIPE."""

_EXIT_CODES = (
    "Exit codes: 0 done, 1 an error, told on standard error, 2 a wrong call, 130 interrupted, "
    "141 the reader of a pipe had seen enough."
)

# Typer exports this one kind of wrong call; its base stands for all of them.
_UsageError: Any = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="linalg-ext",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(is_asked_for: bool) -> None:
    if is_asked_for:
        import linalg_ext

        typer.echo(f"linalg-ext {linalg_ext.__version__}")
        raise typer.Exit


@app.callback(epilog=_EXIT_CODES)
def _root(
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    version: bool = typer.Option(
        False, "--version", help="Show the version.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Declare a tensor operation once; write it down, rewrite it on real MLIR, run it."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns its exit code: 0, or one of those above."""
    if arguments is None:
        arguments = sys.argv[1:]
    debug = "--debug" in arguments
    arguments = _prepared([argument for argument in arguments if argument != "--debug"])
    try:
        result = get_command(app).main(arguments, prog_name="linalg-ext", standalone_mode=False)
    except _UsageError as error:
        error.show()
        return USAGE
    except typer.Exit as error:
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _report_error("interrupted", INTERRUPTED)
    except SystemExit as stopped:
        # Typer ends the program when the reader of a pipe, `head` for example, closes it.
        if not isinstance(stopped.__context__, BrokenPipeError):
            raise
        # Python would complain at its end about output that cannot be written.
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if debug:
            raise
        return _report_error(_text_of(error))
    return result if isinstance(result, int) else 0


def _prepared(arguments: list[str]) -> list[str]:
    """Return the arguments as typer reads them, by `prepare` of the command's file."""
    if not arguments or arguments[0] not in COMMANDS:
        return arguments
    prepare = getattr(_module(arguments[0]), "prepare", None)
    return arguments if prepare is None else [arguments[0], *prepare(arguments[1:])]


def _module(command: str) -> Any:
    return importlib.import_module(f"linalg_ext.cli.{command}")


def _text_of(error: Exception) -> str:
    """Return an error as text for users, with its class if it is not of this library."""
    from linalg_ext.errors import LinalgExtError

    notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
    if isinstance(error, LinalgExtError):
        message = f"{error}{notes}"
        for keyword, option in _OPTIONS.items():
            message = re.sub(keyword, option, message)
        return message
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}{notes}\n  --debug shows the traceback"


_OPTIONS = {
    r"lx\.parse\(text, allow_unregistered=True\)": "--allow-unregistered-dialect",
    r"as libraries=\[\.\.\.\]": "with --library FILE",
    r"trusted=True": "--trusted",
    r"checked=False": "--unchecked",
    r"entry=\.\.\.": "--entry NAME",
}
"""Keywords of Python, as messages have them, and the options in their place."""


def _report_error(message: str, code: int = FAILURE) -> int:
    first, _, rest = message.partition("\n")
    colour = False if os.environ.get("NO_COLOR") else None  # None: where a terminal shows it
    typer.echo(typer.style(f"error: {first}", fg="red", bold=True), err=True, color=colour)
    if rest:
        typer.echo(typer.style(rest, fg="red"), err=True, color=colour)
    return code


def _flowing(command: Callable[..., object]) -> str:
    """Return the documentation of a command, a line a paragraph: the terminal breaks them."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


for _name in COMMANDS:
    _file = _module(_name)
    app.command(
        _name,
        help=_flowing(getattr(_file, _name)),
        epilog="\n  ".join(["Examples:", *_file.EXAMPLES]),
        context_settings=getattr(_file, "CONTEXT_SETTINGS", None),
    )(getattr(_file, _name))
