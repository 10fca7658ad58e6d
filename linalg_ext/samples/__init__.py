"""Modules that PyTorch exported, with inputs and PyTorch's own outputs: for a first try.

Two models of KernelBench (MIT, see LICENSE.KernelBench; sizes scaled down, structure kept), as
torch-mlir's importer writes them: linalg on tensors.

    sample = samples.load("causal_attention")
    kernel = linalg_ext.compile(sample.text)
    np.testing.assert_allclose(kernel(*sample.inputs), sample.outputs[0], rtol=1e-3, atol=1e-4)
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError

NAMES = ("gemm_swish_clamp_tanh", "causal_attention")


@dataclass(frozen=True)
class Sample:
    """A module and its inputs and outputs.

    Attributes:
        name: one of `NAMES`.
        text: MLIR; the entry is `@main`.
        inputs: arrays to call it with.
        outputs: PyTorch's results for them, in float32.
    """

    name: str
    text: str
    inputs: tuple[np.ndarray[Any, Any], ...]
    outputs: tuple[np.ndarray[Any, Any], ...]


def load(name: str) -> Sample:
    """One of the modules.

    Raises:
        ArgumentError: there is none of that name.
    """
    if name not in NAMES:
        raise ArgumentError(f"{name!r} is not a sample", expected=f"one of {', '.join(NAMES)}")
    folder = files(__name__)
    with (folder / f"{name}.npz").open("rb") as file:
        arrays = dict(np.load(file, allow_pickle=False))
    return Sample(
        name,
        (folder / f"{name}.mlir").read_text(encoding="utf-8"),
        _numbered(arrays, "in"),
        _numbered(arrays, "out"),
    )


def _numbered(arrays: dict[str, np.ndarray[Any, Any]], prefix: str) -> tuple[Any, ...]:
    count = sum(name.startswith(prefix) for name in arrays)
    return tuple(arrays[f"{prefix}{index}"] for index in range(count))
