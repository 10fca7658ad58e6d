"""Output of `--json`, for scripts: one document on standard output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from linalg_ext.cli.files import write_text

if TYPE_CHECKING:
    import numpy as np

    from linalg_ext.executable.description.explanation import Explanation

    Array = np.ndarray[Any, Any]

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def write_json(data: object) -> None:
    """Print a document."""
    write_text(json.dumps(data, indent=2, allow_nan=False), None)


def array_data(array: Array) -> dict[str, Any]:
    """An array; its values as nested lists, what JSON has no number for as NumPy writes it."""
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": _values(array)}


def explanation_data(explanation: Explanation) -> list[dict[str, Any]]:
    """The sections of an explanation, in their order."""
    return [
        {"title": title, "rows": [{"name": name, "text": text} for name, text in rows]}
        for title, rows in explanation.sections()
    ]


def _values(array: Array) -> Any:
    import numpy as np

    if array.dtype.kind in "biu":
        return array.tolist()
    if array.dtype.kind == "c":
        return _values(np.stack([array.real, array.imag], -1))
    plain = array.astype(np.float64)
    if np.isfinite(plain).all():
        return plain.tolist()
    return np.where(np.isfinite(plain), plain.astype(object), plain.astype(str)).tolist()
