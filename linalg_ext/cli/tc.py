"""`linalg-ext tc`: the ops of a file as texts of TC."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linalg_ext.cli._files import write_text
from linalg_ext.cli._ops_of_file import ops_of_file
from linalg_ext.cli._options import Names, Output, Types, parse_types

EXAMPLES = (
    "linalg-ext tc FILE.py --type f32",
    "linalg-ext tc FILE.py --op copy_ --type T=f32 -o OUT.tc",
)


def tc(
    file: Annotated[Path, typer.Argument(help="A file of OpDSL (.py) or of TC (.tc).")],
    types: Types = None,
    output: Output = None,
    names: Names = None,
) -> None:
    """Print every op of a file in TC, the notation of `mlir-linalg-ods-gen`."""
    from linalg_ext.notations.tc import to_tc

    chosen = parse_types(types)
    text = "\n".join(to_tc(op, chosen) for op in ops_of_file(file, names))
    write_text(text, output)
