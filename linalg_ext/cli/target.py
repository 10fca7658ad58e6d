"""`linalg-ext target`: the description of a machine and its performance figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linalg_ext.cli._files import AsJson, waiting, write_text
from linalg_ext.cli._options import Output

if TYPE_CHECKING:
    from linalg_ext.target import Target

EXAMPLES = (
    "linalg-ext target",
    "linalg-ext target avx2 --json -o avx2.json",
    "linalg-ext target --calibrate",
)

_USAGE = "name a machine, or a file, or measure this one with --calibrate: one of them"


def target(
    name: Annotated[
        str | None, typer.Argument(help="A machine by name, `avx2`; this one if not given.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A description that was saved as JSON.")
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure this machine first, and keep the figures.")
    ] = False,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Show or measure the figures of a machine that cost models use.

    Figures that were not measured follow from the description; those of a calibration are found by
    all later processes on CPUs of the same model. A file with figures stands for a machine that is
    not at hand.
    """
    import json

    from linalg_ext.target import to_data

    shown = _chosen(name, file, calibrate)
    write_text(json.dumps(to_data(shown), indent=1) if as_json else str(shown), output)


def _chosen(name: str | None, file: Path | None, calibrate: bool) -> Target:
    from linalg_ext import target as targets

    if sum((name is not None, file is not None, calibrate)) > 1:
        raise typer.BadParameter(_USAGE)
    if calibrate:
        with waiting("measuring this machine"):
            return targets.calibrate()
    chosen = targets.load(file) if file is not None else targets.named(name or "host")
    return replace(chosen, figures=targets.figures(chosen))
