"""The command `linalg-ext`."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Define, rewrite and run linalg operations.")


@app.callback()
def root() -> None:
    """Define, rewrite and run linalg operations."""


def main() -> None:
    """Entry point of the command."""
    app()
