"""Modules exported from PyTorch models, run against PyTorch's own outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exported_modules import arrays_of, index_of, module_params
from linalg_ext.compiler import compile


@pytest.mark.parametrize("path", module_params())
def test_module_equals_pytorch(path: Path) -> None:
    module = index_of(path)
    text = path.read_text()
    # MLIR printed these itself: they need no guard process.
    kernel = compile(text, entry="main", trusted=True)
    inputs, expected = arrays_of(path)
    results = kernel(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert result.shape == wanted.shape
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=module["rtol"], atol=module["atol"])
