"""`linalg-ext write`: the ops of a file in a notation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linalg_ext.cli._files import AsJson, write_json, write_text
from linalg_ext.cli._ops_of_file import ops_of_file
from linalg_ext.cli._options import Names, Output, Types, parse_types

EXAMPLES = (
    "linalg-ext write FILE.py --to mlir --type f32",
    "linalg-ext write FILE.tc --to formula",
    "linalg-ext write --list",
)


def _notations() -> list[str]:
    from linalg_ext.notations import notations

    return [name for name, notation in notations().items() if notation.write is not None]


def write(
    file: Annotated[
        Path | None, typer.Argument(help="A file of OpDSL (.py), or of a notation that is read.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", help="The notation; --list names all.", autocompletion=_notations),
    ] = None,
    types: Types = None,
    output: Output = None,
    names: Names = None,
    list_notations: Annotated[
        bool, typer.Option("--list", help="Name all notations, and say which are read.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print every op of a file in a notation: tc, einsum, yaml, mlir, formula, ..."""
    if list_notations:
        _list(as_json=as_json)
        return
    if as_json:
        raise typer.BadParameter("--json goes with --list: ops are printed in their notation")
    if file is None:
        raise typer.BadParameter("name a file, or give --list")
    if to is None:
        raise typer.BadParameter(f"name a notation: --to {', --to '.join(_notations())}")
    from linalg_ext.notations import notation
    from linalg_ext.notations import write as written

    chosen = parse_types(types)
    if chosen is not None and "types" not in notation(to).options("write"):
        raise typer.BadParameter(f"--type goes with notations of one type: not with --to {to}")
    options = {} if chosen is None else {"types": chosen}
    write_text(written(ops_of_file(file, names), to, **options), output)


def _list(*, as_json: bool) -> None:
    from linalg_ext.notations import notations

    rows = [
        {
            "name": name,
            "summary": notation.summary,
            "read": notation.read is not None,
            "written": notation.write is not None,
            "suffixes": list(notation.suffixes),
        }
        for name, notation in notations().items()
    ]
    if as_json:
        write_json(rows)
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        ways = " and ".join(use for use in ("read", "written") if row[use])
        typer.echo(f"{row['name']:{width}}  {row['summary']} ({ways})")
