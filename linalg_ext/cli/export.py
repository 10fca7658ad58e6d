"""`linalg-ext export`: compile a module into a folder that C, Python and this library can load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linalg_ext.cli._files import AsJson, display_name, parsed_module, waiting, write_json
from linalg_ext.cli._options import (
    Entry,
    File,
    Libraries,
    OptLevel,
    Target,
    Trusted,
    Unchecked,
    compile_options,
    using_target,
)

EXAMPLES = (
    "linalg-ext export FILE.mlir -o layer",
    "linalg-ext export FILE.mlir -o layer --target avx2 --no-link",
)


def export(
    file: File,
    output: Annotated[Path, typer.Option("-o", help="The folder: a new one, or an older export.")],
    entry: Entry = None,
    target: Target = None,
    libraries: Libraries = None,
    opt_level: OptLevel = None,
    unchecked: Unchecked = False,
    trusted: Trusted = False,
    link: Annotated[
        bool | None,
        typer.Option("--link/--no-link", help="Make the shared library; if a linker is there."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile a function of a module and write it to a folder, to be shipped.

    In the folder: an object file, a shared library, a C header, a Python loader that needs NumPy
    alone, the module at each stage, and kernel.json, for `linalg_ext.load`.
    """
    from linalg_ext.compiler import compile

    options = compile_options(trusted, unchecked, opt_level, libraries)
    with using_target(target), waiting(f"compiling {display_name(file)}"):
        module, _ = parsed_module(file, trusted=trusted)
        kernel = compile(module, entry, **options)
    typer.echo(repr(kernel), err=True)
    folder = kernel.export(output, library=link)
    if as_json:
        files = sorted(str(path) for path in folder.rglob("*") if path.is_file())
        write_json({"folder": str(folder), "signature": str(kernel.signature), "files": files})
        return
    for path in sorted(folder.iterdir()):
        typer.echo(f"{path}/" if path.is_dir() else str(path))
