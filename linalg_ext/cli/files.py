"""Input and output of the commands."""

from __future__ import annotations

import sys
from pathlib import Path

from linalg_ext.errors import ArgumentError

STDIN = "-"
"""Stands for standard input where a file is asked for."""

_BYTECODE = b"ML\xefR"


def read_module(file: str) -> tuple[str | bytes, str]:
    """A module's text or bytecode, and what diagnostics call it.

    Raises:
        ArgumentError: neither.
    """
    name = display_name(file)
    data = _standard_input() if file == STDIN else Path(file).read_bytes()
    if data.startswith(_BYTECODE):
        return data, name
    try:
        return data.decode(), name
    except UnicodeDecodeError as error:
        raise ArgumentError(
            f"{name} is no text: byte {error.start} is not UTF-8",
            expected="MLIR's text or its bytecode",
        ) from None


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


def write_drawn(thing: object) -> None:
    """Print what `rich` draws in a terminal, plain text elsewhere."""
    if sys.stdout is not None and sys.stdout.isatty():
        from rich.console import Console

        Console().print(thing)
    else:
        write_text(str(thing), None)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise ArgumentError("standard input is closed", hint="name a file")
    return sys.stdin.buffer.read()
