"""The tensor contractions of the TCCG set."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

import numpy as np

import linalg_ext as lx
from benchmarks import TCCG
from benchmarks.bars.case import Case, jax, torch


def cases() -> Iterator[Case]:
    """One for each entry of `tccg.json`."""
    for case in json.loads(TCCG.read_text()):
        yield _einsum(f"tccg {case['id']} {case['spec']}", case["spec"], case["dims"])


def _einsum(name: str, text: str, sizes: Mapping[str, int]) -> Case:
    terms = text.partition("->")[0].split(",")
    return Case(
        name,
        tuple(tuple(sizes[label] for label in term) for term in terms),
        lambda *a, out=None: lx.einsum(text, *a, out=out),
        {
            "numpy": lambda *a: np.einsum(text, *a, optimize=True),
            "torch": lambda *a: torch().einsum(text, *a),
            "jax": lambda *a: jax().einsum(text, *a),
        },
        flops=2 * math.prod(sizes.values()),
        traced=lambda *a: lx.einsum(text, *a),
        reused={"numpy": lambda *a: np.einsum(text, *a[:-1], out=a[-1], optimize=True)},
    )
