"""Executing a notebook in a clean kernel, and comparing its outputs with the stored ones."""

from __future__ import annotations

import difflib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

Notebook: TypeAlias = Any
"""A notebook as nbformat reads it: a dict whose items are attributes, too."""

FOLDER = Path(__file__).parent
NOTEBOOKS = tuple(sorted(FOLDER.glob("*.ipynb")))
"""The tutorials, in the order in which they are to be read."""

VARIES = "varies"
"""The tag of a cell whose output is of this machine or this moment: stored, and not compared."""

SECONDS = 60
"""The time limit of a cell."""

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


class NotebookError(Exception):
    """A cell failed, or a notebook prints text that none should."""


class _ThisInterpreter(AsyncKernelManager):
    """Kernels of the interpreter that runs, whatever others are registered on the machine."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """The command that starts a kernel: this Python's ipykernel."""
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="Python 3", language="python")


def read(path: Path) -> Notebook:
    """The notebook in a file."""
    return nbformat.read(path, as_version=4)


def executed(path: Path) -> Notebook:
    """The notebook with the outputs of its cells in a new kernel, in a folder that is removed
    afterwards.

    Raises:
        NotebookError: a cell raised, or wrote a warning.
    """
    notebook = without_outputs(read(path))
    root = str(FOLDER.parent)
    environment = {
        **os.environ,
        # Notebooks compile the code that they show, and leave a user's cache alone.
        "LINALG_EXT_CACHE_DIR": "off",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
    }
    with tempfile.TemporaryDirectory() as folder:
        # Sockets in that folder: no ports, which others could listen to.
        connection = str(Path(folder) / "kernel.json")
        client = NotebookClient(
            notebook,
            kernel_manager_class=_ThisInterpreter,
            timeout=SECONDS,
            coalesce_streams=True,
            config=Config(ConnectionFileMixin={"transport": "ipc", "connection_file": connection}),
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            text = _COLOUR.sub("", str(error))
            raise NotebookError(f"{path.name}: {text}") from None
    for number, output in _outputs(notebook):
        if output.output_type == "stream" and output.name == "stderr":
            raise NotebookError(f"{path.name}, cell {number} wrote to stderr: {output.text}")
    return notebook


def without_outputs(notebook: Notebook) -> Notebook:
    """A copy in which no cell was run."""
    copy = nbformat.from_dict(notebook)
    for cell in _code(copy):
        cell.outputs = []
    return copy


def text_of(notebook: Notebook) -> str:
    """The text of its file: no counts, no times, no metadata but those written by hand."""
    copy = nbformat.from_dict(notebook)
    copy.metadata = {"kernelspec": _KERNEL, "language_info": {"name": "python"}}
    # Cells have identifiers from 4.5 on: noise in every diff.
    copy.nbformat, copy.nbformat_minor = 4, 4
    for cell in copy.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = {"tags": tags} if tags else {}
        cell.pop("id", None)
    for cell in _code(copy):
        cell.execution_count = None
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = None
    return str(nbformat.writes(copy)) + "\n"


def with_kept_outputs(fresh: Notebook, stored: Notebook) -> Notebook:
    """`fresh`, with varying outputs as they were stored where the cell is the same."""
    stored_outputs = {cell.source: cell.outputs for cell in _code(stored) if cell.outputs}
    copy = nbformat.from_dict(fresh)
    for cell in _code(copy):
        if varies(cell):
            cell.outputs = stored_outputs.get(cell.source, cell.outputs)
    return copy


def differences(stored: Notebook, fresh: Notebook) -> str:
    """Return a diff of stored and fresh outputs, over all cells but those that vary."""
    lines: list[str] = []
    for number, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
        if old.cell_type == "code" and not varies(old):
            lines += difflib.unified_diff(
                *(_shown(old), _shown(new)), f"cell {number}, stored", "now", lineterm=""
            )
    return "\n".join(lines)


def varies(cell: Notebook) -> bool:
    """Return whether the output of a cell is of this machine or this moment."""
    return VARIES in cell.metadata.get("tags", ())


def _shown(cell: Notebook) -> list[str]:
    texts = [
        output.text if output.output_type == "stream" else output.data.get("text/plain", "")
        for output in cell.outputs
    ]
    return "\n".join(texts).splitlines()


def _code(notebook: Notebook) -> Iterator[Notebook]:
    return (cell for cell in notebook.cells if cell.cell_type == "code")


def _outputs(notebook: Notebook) -> Iterator[tuple[int, Notebook]]:
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            yield number, output
