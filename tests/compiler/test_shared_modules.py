"""Modules exported from PyTorch models, run against PyTorch's own outputs."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from linalg_ext.compiler import compile

_CHECKOUT = Path(__file__).resolve().parents[2]
_SHARED = Path(os.environ.get("LINALG_EXT_SHARED", _CHECKOUT.parent / "shared"))
FOLDER = _SHARED / "modules"
INDEX = FOLDER / "index.json"

MODULES = (
    [
        module
        for module in json.loads(INDEX.read_text())["modules"]
        if not any(op.startswith("tm_tensor.") for op in module["ops"])
    ]
    if INDEX.exists()
    else []
)


def test_the_modules_are_there():
    if not MODULES:
        pytest.skip(f"no modules under {FOLDER}")
    assert len(MODULES) >= 60


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module["name"])
def test_module_equals_pytorch(module):
    text = (FOLDER / f"{module['name']}.mlir").read_text()
    # MLIR printed these itself: they need no guard process.
    kernel = compile(text, entry="main", trusted=True)
    with np.load(FOLDER / f"{module['name']}.npz", allow_pickle=False) as data:
        inputs = [data[f"in{index}"] for index in range(len(module["inputs"]))]
        expected = [data[f"out{index}"] for index in range(len(module["outputs"]))]
    results = kernel(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert result.shape == wanted.shape
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=module["rtol"], atol=module["atol"])
