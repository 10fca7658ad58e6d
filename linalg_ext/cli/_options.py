"""Options that several commands have."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from linalg_ext.errors import ArgumentError


def compile_options(
    trusted: bool, unchecked: bool, opt_level: int | None, libraries: list[str] | None
) -> dict[str, Any]:
    """Return the keywords of `linalg_ext.compile` for options that several commands have."""
    return {
        "trusted": trusted,
        "checked": not unchecked,
        "opt_level": opt_level,
        "libraries": libraries or (),
    }


def using_target(name: str | None) -> AbstractContextManager[object]:
    """Compile for a machine inside the `with` block, if one is named."""
    from linalg_ext.target import using

    return using(name) if name else nullcontext()


def _targets() -> list[str]:
    from linalg_ext.target import names

    return list(names())


Output: TypeAlias = Annotated[
    Path | None, typer.Option("-o", help="The file to write; standard output if not given.")
]
Names: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--op", help="An op to take; may be given several times. All ops if not given."),
]
Types: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--type", help="Type variable and element type, `U=f32`; `f32` for all."),
]
File: TypeAlias = Annotated[str, typer.Argument(help="An .mlir file, or - for standard input.")]
Entry: TypeAlias = Annotated[
    str | None, typer.Option("--entry", "-e", help="The function; not needed if there is one.")
]
Libraries: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--library", "-l", help="A shared library that the module calls."),
]
OptLevel: TypeAlias = Annotated[
    int | None, typer.Option("-O", min=0, max=3, help="LLVM's optimization level.")
]
Unchecked: TypeAlias = Annotated[
    bool, typer.Option("--unchecked", help="Leave out the checks of shapes and bounds.")
]
Trusted: TypeAlias = Annotated[
    bool, typer.Option("--trusted", help="Trust its author: it may call any function.")
]
Target: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="A machine by name, as avx2; this one if none.",
        autocompletion=_targets,
    ),
]


def parse_types(options: list[str] | None) -> dict[str, str] | str | None:
    """Return element types by type variable, from `U=f32` each; or one for all, from `f32`."""
    if not options:
        return None
    if len(options) == 1 and "=" not in options[0]:
        return options[0]
    types = {}
    for option in options:
        name, separator, element = option.partition("=")
        if not separator:
            raise ArgumentError(
                f"--type {option} stands beside others",
                expected="--type NAME=TYPE for each of them",
            )
        types[name] = element
    return types
