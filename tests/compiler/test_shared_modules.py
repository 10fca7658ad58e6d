"""Modules exported from PyTorch models, run against PyTorch's own outputs."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linalg_ext import errors
from linalg_ext.compiler import compile
from resources import shared_modules


@functools.cache
def index(folder: Path) -> dict[str, dict[str, Any]]:
    listed = json.loads((folder / "index.json").read_text())["modules"]
    return {module["name"]: module for module in listed}


@pytest.mark.parametrize("path", shared_modules())
def test_module_equals_pytorch(path: Path) -> None:
    module = index(path.parent)[path.stem]
    text = path.read_text()
    if any(op.startswith("tm_tensor.") for op in module["ops"]):
        with pytest.raises(errors.ParseError, match="tm_tensor"):
            compile(text, entry="main")
        return
    # MLIR printed these itself: they need no guard process.
    kernel = compile(text, entry="main", trusted=True)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
        inputs = [data[f"in{number}"] for number in range(len(module["inputs"]))]
        expected = [data[f"out{number}"] for number in range(len(module["outputs"]))]
    results = kernel(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert result.shape == wanted.shape
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=module["rtol"], atol=module["atol"])
