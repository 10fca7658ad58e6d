"""`linalg-ext explain`: the way of a module to machine code, as a text or a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from linalg_ext.cli._files import (
    AsJson,
    display_name,
    explanation_data,
    load_arrays,
    parsed_module,
    typed,
    waiting,
    write_drawn,
    write_json,
)
from linalg_ext.cli._options import (
    Entry,
    Libraries,
    OptLevel,
    Target,
    Trusted,
    Unchecked,
    compile_options,
    using_target,
)
from linalg_ext.errors import ArgumentError, LinalgExtError

if TYPE_CHECKING:
    from linalg_ext.compiler import Kernel
    from linalg_ext.executable.worker_process import IsolatedKernel
    from linalg_ext.explain import Measured
    from linalg_ext.transforms.schedules.schedule import Schedule

EXAMPLES = (
    "linalg-ext explain FILE.mlir",
    "linalg-ext explain FILE.mlir --html page.html",
    "linalg-ext explain FILE.mlir --html page.html --measure --threads 2",
    "linalg-ext explain FILE.mlir --search greedy --html page.html",
    "linalg-ext explain FILE.mlir --schedule steps.json --html page.html",
)


class _Explained(NamedTuple):
    """A kernel with the text of its module, and the schedule that the module went through.

    `isolated` compiles the module in a worker process; None for trusted modules.
    """

    kernel: Kernel
    source: str | bytes
    schedule: Schedule | None
    isolated: Callable[[], IsolatedKernel] | None


def explain(
    file: Annotated[
        str,
        typer.Argument(
            help="An .mlir file, - for standard input, or the folder of an exported kernel."
        ),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", help="Write all of it to a page for a browser.")
    ] = None,
    entry: Entry = None,
    schedule: Annotated[
        Path | None,
        typer.Option("--schedule", help="Take the steps of a file of Schedule.to_json first."),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option("--search", help="Search for groups of ops first: greedy, beam or anneal."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Call it, and show the time of a call.")
    ] = False,
    inputs: Annotated[
        Path | None,
        typer.Option("--inputs", "-i", help="Measure with the arrays of an .npz (or .npy) file."),
    ] = None,
    threads: Annotated[
        int, typer.Option("--threads", min=1, help="Threads of the calls to explain.")
    ] = 1,
    target: Target = None,
    libraries: Libraries = None,
    opt_level: OptLevel = None,
    unchecked: Unchecked = False,
    trusted: Trusted = False,
    as_json: AsJson = False,
) -> None:
    """Explain the compilation of a module: the plans of its ops with reasons, and its loops.

    With --html all of it is a page, in one file: every stage beside the one before, with the line
    that an op came of and the ops that it became. The page has the dataflow graph with its groups
    and their search, the schedule, and the machine code with its hot loop.
    """
    if html is not None and as_json:
        raise typer.BadParameter("--html and --json at once: give one of them")
    options = compile_options(trusted, unchecked, opt_level, libraries)
    if Path(file).is_dir():
        _refuse_of_folder(
            {
                "--entry": entry,
                "--schedule": schedule,
                "--search": search,
                "--target": target,
                "--library": libraries,
                "-O": opt_level,
                "--unchecked": unchecked or None,
            }
        )
        from linalg_ext.executable.loading import load

        explained = _Explained(load(file), "", None, None)
    else:
        with waiting(f"compiling {display_name(file)}"):
            explained = _compiled(file, entry, schedule, target, options, search or False)
    measured = None
    if measure or inputs is not None:
        measured = _measured(explained, inputs, threads)
    if html is not None:
        _write_page(explained, display_name(file), measured, threads, html)
    elif as_json:
        write_json(_data(explained.kernel, measured, threads))
    else:
        _show(explained.kernel, measured, threads)


def _compiled(
    file: str,
    entry: str | None,
    steps: Path | None,
    target: str | None,
    options: dict[str, Any],
    search: bool | str,
) -> _Explained:
    from linalg_ext.compiler import compile
    from linalg_ext.compiler.source import as_source
    from linalg_ext.executable.worker_process import Limits, isolate
    from linalg_ext.transforms.schedules.schedule import Schedule

    module, text = parsed_module(file, trusted=options["trusted"])
    schedule = None
    if steps is not None:
        schedule = Schedule.from_json(steps.read_text(encoding="utf-8"), module)
    with using_target(target):
        kernel = compile(module, entry, search=search, **options)
    content = as_source(module)

    def isolated() -> IsolatedKernel:
        return isolate(content, entry, limits=Limits(), search=search, **options)

    return _Explained(kernel, text, schedule, None if options["trusted"] else isolated)


def _refuse_of_folder(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(
                f"{name} and the folder of a kernel that is compiled already",
                hint="leave it out, or name the module that the kernel was made of",
            )


def _measured(
    explained: _Explained,
    inputs: Path | None,
    threads: int,
) -> Measured:
    from linalg_ext.explain.measuring import arguments_for, measure

    kernel = explained.kernel
    try:
        arguments = arguments_for(kernel) if inputs is None else typed(load_arrays(inputs), kernel)
        with waiting(f"running {kernel.signature.name}"):
            # Neither a crash nor writes of an untrusted kernel may reach this process.
            measured = kernel if explained.isolated is None else explained.isolated()
            return measure(measured, arguments, threads=threads)
    except LinalgExtError as error:
        # The caller's line is in this file.
        error.where = str(inputs) if inputs else "no --inputs were given"
        raise


def _write_page(
    explained: _Explained, name: str, measured: Measured | None, threads: int, html: Path
) -> None:
    from linalg_ext.dialects.asm import translated
    from linalg_ext.explain.pages import page

    source = explained.source if isinstance(explained.source, str) else ""
    translation = translated(source, name) if source else None
    if translation is not None:
        # Locations are those of the text that MLIR read.
        source, name = translation.text, f"{name}, as MLIR reads it"
    with waiting(f"writing {html}"):
        written = page(
            explained.kernel,
            source=source,
            filename=name,
            schedule=explained.schedule,
            measured=measured,
            threads=threads,
        ).write(html)
    typer.echo(str(written))


def _show(kernel: Kernel, measured: Measured | None, threads: int) -> None:
    from linalg_ext.explain.nests import loop_nests

    typer.echo(repr(kernel))
    if kernel.explanation is not None:
        write_drawn(kernel.explain(threads))
    write_drawn(loop_nests(kernel))
    for name, text in measured.rows() if measured is not None else ():
        typer.echo(f"{name:9} {text}")


def _data(kernel: Kernel, measured: Measured | None, threads: int) -> dict[str, Any]:
    from linalg_ext.explain.nests import loop_nests

    return {
        "signature": str(kernel.signature),
        "target": kernel.target.name,
        "stages": [
            {"name": stage.name, "ops": stage.operations, "seconds": stage.seconds}
            for stage in kernel.steps
        ],
        "sections": [] if kernel.explanation is None else explanation_data(kernel.explain(threads)),
        "loops": str(loop_nests(kernel)).splitlines(),
        "measured": None if measured is None else asdict(measured),
    }
