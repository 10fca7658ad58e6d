"""`linalg-ext ods`: ODS records and C++ of the ops of a file, as `mlir-linalg-ods-gen` printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from linalg_ext.cli._files import write_text
from linalg_ext.cli._ops_of_file import ops_of_file
from linalg_ext.cli._options import Names, Output, Types, parse_types
from linalg_ext.errors import ArgumentError

EXAMPLES = (
    "linalg-ext ods FILE.tc --gen-ods-decl",
    "linalg-ext ods FILE.tc --gen-ods-decl --gen-impl --style 2020",
)

_TOOL_OPTIONS = ("gen-ods-decl", "gen-impl")


def prepare(arguments: list[str]) -> list[str]:
    """The tool's own spelling, `-gen-impl=1`, as `--gen-impl`."""
    spelled = {f"{dash}{name}=1": f"--{name}" for name in _TOOL_OPTIONS for dash in ("-", "--")}
    spelled |= {f"-{name}": f"--{name}" for name in _TOOL_OPTIONS}
    return [spelled.get(argument, argument) for argument in arguments]


def ods(
    file: Annotated[Path, typer.Argument(help="A file of TC (.tc) or of OpDSL (.py).")],
    gen_ods_decl: Annotated[
        bool, typer.Option("--gen-ods-decl", help="Print the ODS record of each op.")
    ] = False,
    gen_impl: Annotated[bool, typer.Option("--gen-impl", help="Print the C++ of each op.")] = False,
    style: Annotated[
        Literal["2020", "2024"], typer.Option(help="The document whose spelling it has.")
    ] = "2024",
    types: Types = None,
    output: Output = None,
    names: Names = None,
) -> None:
    """Print the documented output of `mlir-linalg-ods-gen` for every op of a file."""
    from linalg_ext.notations.ods import to_cpp, to_ods

    if not (gen_ods_decl or gen_impl):
        raise ArgumentError(
            "declarations and implementations are both left out",
            hint="give --gen-ods-decl, --gen-impl, or both of them",
        )
    chosen = parse_types(types)
    parts = []
    for op in ops_of_file(file, names):
        if gen_ods_decl:
            parts.append(to_ods(op, style))
        if gen_impl:
            parts.append(to_cpp(op, style, chosen))
    text = "\n".join(parts)
    write_text(text, output)
