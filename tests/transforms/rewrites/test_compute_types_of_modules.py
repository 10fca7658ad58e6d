"""Compute types on all that exported PyTorch models do: f64 throughout, PyTorch's own outputs."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exported_modules import module_params
from linalg_ext.bindings import ir
from linalg_ext.compiler import compile
from linalg_ext.errors import ArgumentError, RecognitionError
from linalg_ext.module import Module
from linalg_ext.structured import recognize
from linalg_ext.structured.compute_type import set_compute_type
from linalg_ext.transforms.rewrites.materialize_compute_type import materialize_compute_type
from linalg_ext.transforms.rewrites.propagate_compute_type import propagate_compute_type


@functools.cache
def index(folder: Path) -> dict[str, dict[str, Any]]:
    listed = json.loads((folder / "index.json").read_text())["modules"]
    return {module["name"]: module for module in listed}


def state_all(module: Module, element: str) -> int:
    """Give a compute type to every op that a definition can say; how many these are."""
    ops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("linalg."):
            ops.append(op)
        return ir.WalkResult.ADVANCE

    module.ir.operation.walk(visit)
    count = 0
    for op in ops:
        try:
            recognize(op)
        except (ArgumentError, RecognitionError):
            continue
        set_compute_type(op, element)
        count += 1
    return count


@pytest.mark.parametrize("path", module_params("l[12]_*.mlir"))
def test_a_model_computed_in_f64(path: Path) -> None:
    described = index(path.parent)[path.stem]
    module = Module.parse(path.read_text(), trusted=True)
    stated = state_all(module, "f64")
    assert stated > 0
    propagated = propagate_compute_type(module)
    materialized = materialize_compute_type(module)
    assert materialized.left == {}
    assert propagated.changed.total() + materialized.changed.total() == stated
    assert "f64" in str(module)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
        inputs = [data[f"in{number}"] for number in range(len(described["inputs"]))]
        expected = [data[f"out{number}"] for number in range(len(described["outputs"]))]
    results = compile(module, entry="main", trusted=True)(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    for result, wanted in zip(results, expected, strict=True):
        tolerance = {"rtol": described["rtol"], "atol": described["atol"]}
        np.testing.assert_allclose(result, wanted, **tolerance)
