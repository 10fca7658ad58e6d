"""Modules exported from PyTorch models: what is known of them, their inputs and their outputs."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = list[NDArray[Any]]


@functools.cache
def _index(folder: Path) -> dict[str, dict[str, Any]]:
    listed = json.loads((folder / "index.json").read_text())["modules"]
    return {module["name"]: module for module in listed}


def index_of(path: Path) -> dict[str, Any]:
    """The ops, inputs, outputs and tolerances of a module."""
    return _index(path.parent)[path.stem]


def arrays_of(path: Path) -> tuple[Arrays, Arrays]:
    """The inputs of a module, and what PyTorch makes of them."""
    facts = index_of(path)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
        inputs = [data[f"in{number}"] for number in range(len(facts["inputs"]))]
        return inputs, [data[f"out{number}"] for number in range(len(facts["outputs"]))]
