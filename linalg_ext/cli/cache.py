"""`linalg-ext cache`: the compiled code that is kept on disk."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from linalg_ext.cli._files import AsJson, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from linalg_ext.cache import Summary

EXAMPLES = (
    "linalg-ext cache",
    "linalg-ext cache info --json",
    "linalg-ext cache clear",
)


class Action(Enum):
    """An action on the cache."""

    LIST = "list"
    INFO = "info"
    CLEAR = "clear"


def cache(
    action: Annotated[
        Action,
        typer.Argument(help="List the entries, show the folder and its size, or remove all."),
    ] = Action.LIST,
    as_json: AsJson = False,
) -> None:
    """Show or remove the compiled code that is kept for other processes.

    LINALG_EXT_CACHE_DIR names the folder, or `off`; LINALG_EXT_CACHE_SIZE bounds it, as in 500M.
    """
    from linalg_ext import cache as kept
    from linalg_ext.target.text import bytes_text

    folder = kept.folder()
    removed = kept.clear() if action is Action.CLEAR and folder is not None else 0
    entries = [] if folder is None else kept.entries()
    size = sum(entry.size for entry in entries)
    if as_json:
        about: dict[str, object] = {"folder": folder and str(folder), "removed": removed}
        about |= {"size": size, "limit": kept.limit()}
        write_json(about | {"entries": [entry._asdict() for entry in entries]})
    elif folder is None:
        typer.echo("compiled code is not kept: LINALG_EXT_CACHE_DIR is off")
    elif action is Action.CLEAR:
        typer.echo(f"removed {removed} entries from {folder}")
    elif action is Action.LIST:
        _show(entries)
    else:
        typer.echo(f"folder   {folder}")
        typer.echo(f"entries  {len(entries)}")
        typer.echo(f"size     {bytes_text(size)} of {bytes_text(kept.limit())}")


def _show(entries: Sequence[Summary]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from linalg_ext.target.text import bytes_text

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("used", no_wrap=True)
    table.add_column("size", no_wrap=True, justify="right")
    table.add_column("what", overflow="fold")
    for entry in entries:
        used = datetime.fromtimestamp(entry.used).strftime("%Y-%m-%d %H:%M")
        table.add_row(used, bytes_text(entry.size), Text(entry.name))
    Console().print(table)
