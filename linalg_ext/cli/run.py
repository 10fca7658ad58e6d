"""`linalg-ext run`: compile a module and run one of its functions on arrays from a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linalg_ext.cli._files import (
    AsJson,
    array_data,
    display_name,
    explanation_data,
    load_arrays,
    parsed_module,
    read_module,
    typed,
    waiting,
    write_drawn,
    write_json,
)
from linalg_ext.cli._options import (
    Entry,
    File,
    Libraries,
    OptLevel,
    Trusted,
    Unchecked,
    compile_options,
)
from linalg_ext.errors import ArgumentError, ExecutionError

if TYPE_CHECKING:
    import numpy as np

    from linalg_ext.compiler import Kernel
    from linalg_ext.executable.worker_process import IsolatedKernel, Limits

    Array = np.ndarray[Any, Any]

EXAMPLES = (
    "linalg-ext run FILE.mlir --inputs x.npz --outputs y.npz",
    "linalg-ext run FILE.mlir --inputs x.npz --json",
    "linalg-ext run FILE.mlir --explain",
    "linalg-ext run FILE.mlir --time",
    "linalg-ext run FILE.mlir --inputs x.npz --seconds 10 --memory 512",
)


def run(
    file: File,
    entry: Entry = None,
    inputs: Annotated[
        Path | None, typer.Option("--inputs", "-i", help="An .npz (or .npy) file of arguments.")
    ] = None,
    outputs: Annotated[
        Path | None, typer.Option("--outputs", "-o", help="The .npz file for out0, out1, ...")
    ] = None,
    libraries: Libraries = None,
    opt_level: OptLevel = None,
    unchecked: Unchecked = False,
    trusted: Trusted = False,
    assembly: Annotated[
        bool, typer.Option("--asm", help="Show the machine code; run it where --inputs are given.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show which plan each op got, and why; do not run.")
    ] = False,
    time_: Annotated[
        bool, typer.Option("--time", help="Show the time of the compilation, step by step.")
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="Seconds for the compilation, and for the run: 60."),
    ] = None,
    memory: Annotated[
        int | None, typer.Option("--memory", help="MiB of memory for the worker process: 4096.")
    ] = None,
    stack: Annotated[
        int | None, typer.Option("--stack", help="MiB of stack for the worker process: 8.")
    ] = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Run in this process, without limits.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compile a module and run a function of it, in a worker process and within limits.

    The arguments are the arrays in0, in1, ... (or arr_0, arr_1, ...) of the input file; where no
    name tells a position, all its arrays in their order. Without --outputs the results are shown.
    """
    if as_json and assembly:
        raise typer.BadParameter("--json and --asm at once: machine code is printed as text")
    if outputs is not None and not outputs.parent.is_dir():
        # Otherwise the error would come after the run, and the results be lost.
        raise ArgumentError(
            f"the folder {outputs.parent} does not exist",
            hint=f"make it: mkdir -p {outputs.parent}",
        )
    options = compile_options(trusted, unchecked, opt_level, libraries)
    kernel: Kernel | IsolatedKernel
    if in_process:
        _refuse_limits(seconds=seconds, memory=memory, stack=stack)
        arguments = load_arrays(inputs)
        with waiting(f"compiling {display_name(file)}"):
            from linalg_ext.compiler import compile

            module, _ = parsed_module(file, trusted=trusted)
            kernel = compile(module, entry, **options)
    else:
        from linalg_ext.runtime import processes

        # The helper process starts in a second, in which this one loads its modules.
        processes.prepare()
        limits = _limits(seconds, memory, stack)
        arguments = load_arrays(inputs)
        with waiting(f"compiling {display_name(file)}"):
            from linalg_ext.executable.worker_process import isolate

            text, name = read_module(file)
            kernel = isolate(text, entry, limits=limits, filename=name, **options)
    typer.echo(repr(kernel), err=True)
    if time_:
        typer.echo(repr(kernel.compile_times), err=as_json)
        if inputs is None and not assembly and not explain:
            return
    if assembly:
        typer.echo(kernel.asm())
        if inputs is None and not explain:
            return
    if explain:
        if as_json:
            write_json(explanation_data(kernel.explain()))
        else:
            write_drawn(kernel.explain())
        return
    arguments = typed(arguments, kernel)
    start = time.perf_counter()
    try:
        with waiting(f"running {kernel.signature.name}"):
            results = kernel(*arguments)
    except ArgumentError as error:
        # The caller's line is in this file; the arguments come from the file of inputs.
        error.where = str(inputs) if inputs else "no --inputs were given"
        raise
    except ExecutionError as error:
        error.where = display_name(file)
        raise
    milliseconds = 1e3 * (time.perf_counter() - start)
    typer.echo(f"ran       in {milliseconds:.3g} ms", err=True)
    if results is None:
        # A function without results writes to its arguments.
        results = tuple(
            a for a, p in zip(arguments, kernel.signature.parameters, strict=True) if p.is_written
        )
    _hand_out(
        results if isinstance(results, tuple) else (results,),
        outputs,
        {"signature": str(kernel.signature), "milliseconds": milliseconds} if as_json else None,
    )


def _limits(seconds: float | None, memory: int | None, stack: int | None) -> Limits:
    from linalg_ext.executable.worker_process import Limits

    limits: dict[str, Any] = {
        "seconds": seconds,
        "memory": None if memory is None else memory << 20,
        "stack": None if stack is None else stack << 20,
    }
    return Limits(**{name: value for name, value in limits.items() if value is not None})


def _refuse_limits(**limits: float | None) -> None:
    for name, value in limits.items():
        if value is not None:
            raise ArgumentError(
                f"--{name} and --in-process at once",
                hint="leave one of them out: limits are those of a worker process",
            )


def _hand_out(results: tuple[Any, ...], path: Path | None, about: dict[str, object] | None) -> None:
    """Write the results to a file, or show them; `about` are further entries of the JSON."""
    import numpy as np

    named: dict[str, Any] = {
        f"out{index}": np.asarray(result) for index, result in enumerate(results)
    }
    if path is not None:
        # With a name in the place of a file, savez would append .npz.
        with path.open("wb") as file:
            np.savez(file, **named)
    if about is not None:
        shown = {} if path else {name: array_data(array) for name, array in named.items()}
        write_json({**about, "outputs": path and str(path), "results": shown})
    elif path is None:
        for name, array in named.items():
            shape = "x".join(map(str, array.shape)) or "scalar"
            typer.echo(f"{name}: {array.dtype} {shape}\n{np.array2string(array, threshold=64)}")
