"""`linalg-ext yaml`: the YAML op definitions of a file of OpDSL or TC."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linalg_ext.cli._files import write_text
from linalg_ext.cli._ops_of_file import ops_of_file
from linalg_ext.cli._options import Names, Output
from linalg_ext.errors import LinalgExtError, NotationError, SourceLocation

EXAMPLES = (
    "linalg-ext yaml FILE.py",
    "linalg-ext yaml FILE.py --op copy_ -o OUT.yaml",
)


def yaml(
    file: Annotated[Path, typer.Argument(help="A file of OpDSL (.py) or of TC (.tc).")],
    output: Output = None,
    names: Names = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial", help="Leave out ops that the YAML cannot hold; say which and why."
        ),
    ] = False,
) -> None:
    """Print the YAML of every op that a file defines, as upstream's generator reads it.

    A file of Python is executed. One that is part of a package is imported by its full name, so
    that its relative imports work.
    """
    from linalg_ext.notations.yaml import to_yaml

    ops = ops_of_file(file, names)
    if partial:
        write_text(to_yaml(*ops, partial=True), output)
        return
    documents = []
    for op in ops:
        try:
            documents.append(to_yaml(op))
        except LinalgExtError as error:
            if error.where is None and (function := getattr(op, "__wrapped__", None)):
                code = function.__code__
                error.where = SourceLocation(code.co_filename, code.co_firstlineno, code.co_name)
            if isinstance(error, NotationError):
                error.notes = (*error.notes, "--partial leaves out ops that the YAML cannot hold")
            raise
    write_text("".join(documents), output)
