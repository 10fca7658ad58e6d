"""Modules exported from PyTorch models: their texts, facts, inputs and outputs."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from resources import REPOSITORY

if TYPE_CHECKING:
    # The result type of pytest.param; pytest does not export it.
    from _pytest.mark import ParameterSet

Arrays = list[NDArray[Any]]

MODULES = REPOSITORY / "tests" / "data" / "modules"


def module_params(pattern: str = "*.mlir") -> list[ParameterSet]:
    """Return the modules whose file names match, for `@pytest.mark.parametrize("path", ...)`.

    Raises:
        FileNotFoundError: no name matches.
    """
    paths = sorted(MODULES.glob(pattern))
    if not paths:
        raise FileNotFoundError(f"no file of {MODULES} matches {pattern}")
    return [pytest.param(path, id=path.stem) for path in paths]


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
