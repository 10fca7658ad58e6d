"""Input and output of the commands: modules, arrays, texts, JSON, and progress in a terminal."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from linalg_ext.errors import ArgumentError
from linalg_ext.utils import progress

if TYPE_CHECKING:
    import numpy as np

    from linalg_ext.compiler import Kernel
    from linalg_ext.executable.explanation import Explanation
    from linalg_ext.executable.worker_process import IsolatedKernel
    from linalg_ext.module import Module


STDIN = "-"
"""Stands for standard input where a file is asked for."""

_BYTECODE = b"ML\xefR"


def read_module(file: str) -> tuple[str | bytes, str]:
    """Return a module's text or bytecode, and its name in diagnostics."""
    name = display_name(file)
    if file != STDIN:
        data = Path(file).read_bytes()
    elif sys.stdin is None:
        raise ArgumentError("standard input is closed", hint="name a file")
    else:
        data = sys.stdin.buffer.read()
    if data.startswith(_BYTECODE):
        return data, name
    return decoded(data, name, "MLIR's text or its bytecode"), name


def decoded(data: bytes, name: str, expected: str) -> str:
    """Return the text of a file; an ArgumentError names the file if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ArgumentError(
            f"{name} is not text: byte {error.start} is not UTF-8", expected=expected
        ) from None


def parsed_module(file: str, *, trusted: bool) -> tuple[Module, str | bytes]:
    """Return the module of a file, and its text or bytecode."""
    from linalg_ext.module import Module

    text, name = read_module(file)
    return Module.parse(text, trusted=trusted, filename=name), text


def display_name(file: str) -> str:
    """Return the name of a file in diagnostics."""
    return "<stdin>" if file == STDIN else file


def write_text(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output."""
    text = text if text.endswith("\n") else text + "\n"
    if output is not None:
        output.write_text(text, encoding="utf-8")
        return
    if sys.stdout is None:
        raise ArgumentError("standard output is closed", hint="name a file with -o")
    sys.stdout.write(text)
    sys.stdout.flush()


def write_drawn(drawable: object) -> None:
    """Print an object, drawn by `rich` in a terminal, as plain text elsewhere."""
    if sys.stdout is not None and sys.stdout.isatty():
        from rich.console import Console

        Console().print(drawable)
    else:
        write_text(str(drawable), None)


AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def write_json(data: object) -> None:
    """Print a document."""
    write_text(json.dumps(data, indent=2, allow_nan=False), None)


def array_data(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return an array as data: nested lists, with NumPy's text for infinities and NaN."""
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": _values(array)}


def explanation_data(explanation: Explanation) -> list[dict[str, Any]]:
    """Return the sections of an explanation, in their order."""
    return [
        {"title": title, "rows": [{"name": name, "text": text} for name, text in rows]}
        for title, rows in explanation.sections()
    ]


def _values(array: np.ndarray[Any, Any]) -> Any:
    import numpy as np

    if array.dtype.kind in "biu":
        return array.tolist()
    if array.dtype.kind == "c":
        return _values(np.stack([array.real, array.imag], -1))
    plain = array.astype(np.float64)
    if np.isfinite(plain).all():
        return plain.tolist()
    return np.where(np.isfinite(plain), plain.astype(object), plain.astype(str)).tolist()


_NUMBERED = re.compile(r"(?:in|arr_|arg|input)_?(\d+)")
"""Names that tell the position of an argument; `arr_0` is numpy.savez's name of the first."""


def load_arrays(path: Path | None) -> list[np.ndarray[Any, Any]]:
    """Return the arrays of an .npz or .npy file, in the order of the arguments."""
    if path is None:
        return []
    import zipfile

    import numpy as np

    try:
        # NumPy would leave a file that it opened itself open if it cannot read it.
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return [loaded]
            arrays = {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ArgumentError(
            f"{path} cannot be read: {error}",
            expected="a file that numpy.savez or numpy.save wrote, without Python objects",
        ) from error
    numbered = {name: int(match[1]) for name in arrays if (match := _NUMBERED.fullmatch(name))}
    if not numbered:
        return list(arrays.values())
    # The file may have arrays of other names, such as expected results.
    if len(set(numbered.values())) < len(numbered):
        raise ArgumentError(
            f"{path} has {', '.join(numbered)}: two of these names give the same position",
            expected="in0, in1, ... or arr_0, arr_1, ..., one for each argument",
        )
    return [arrays[name] for name in sorted(numbered, key=numbered.__getitem__)]


def typed(
    arguments: list[np.ndarray[Any, Any]], kernel: Kernel | IsolatedKernel
) -> list[np.ndarray[Any, Any]]:
    """Restore the dtypes that NumPy's file format forgets: bf16, the f8 and i4 types."""
    arrays = list(arguments)
    for index, (array, parameter) in enumerate(zip(arguments, kernel.signature.parameters)):  # noqa: B905
        if array.dtype.kind == "V" and array.dtype.names is None:
            element = parameter.type.element
            if element.storage == array.dtype.itemsize:
                arrays[index] = array.view(element.dtype)
    return arrays


@contextmanager
def waiting(task: str) -> Iterator[None]:
    """Show a task and its time on standard error until the block ends.

    Nothing is shown unless standard error is a terminal that can go back in its line.
    """
    if not progress.is_animated():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    # Output of the command goes to its streams, and not through the animation.
    with (
        progress.alone(),
        Progress(
            *columns,
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as spinner,
    ):
        spinner.add_task(task, total=None)
        yield
