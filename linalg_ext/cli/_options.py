"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Output: TypeAlias = Annotated[
    Path | None, typer.Option("-o", help="Where to write; standard output if not given.")
]
Names: TypeAlias = Annotated[
    list[str] | None, typer.Option("--op", help="This op alone; may be given several times.")
]
Types: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--type", help="Type variable and element type, `U=f32`; `f32` for all."),
]
