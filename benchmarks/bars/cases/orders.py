"""Sorting and selection: sorts, argsorts, the first few, medians."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import linalg_ext as lx
from benchmarks.bars.case import Case, jax

FEW = 100


def cases() -> Iterator[Case]:
    """Yield cases of one long row, of many rows, and of a few of many."""
    for shape in ((1_000_000,), (1000, 1000), (50_000, 16)):
        text = "x".join(map(str, shape))
        for dtype, kind in (("f4", "f32"), ("i4", "i32")):
            yield _case(
                f"sort {text} {kind}",
                shape,
                lambda x: np.sort(x),
                {
                    "numpy": np.sort,
                    "torch": lambda x: x.sort().values,
                    "jax": lambda x: jax().sort(x),
                },
                dtype,
            )
        yield _case(
            f"argsort {text}",
            shape,
            lambda x: np.argsort(x, stable=True),
            {
                "numpy": lambda x: np.argsort(x, kind="stable"),
                "torch": lambda x: x.argsort(stable=True),
                "jax": lambda x: jax().argsort(x),
            },
        )
    yield _case(
        f"least {FEW} of 1000000",
        (1_000_000,),
        lambda x: np.partition(x, FEW - 1)[:FEW],
        {
            "numpy": lambda x: np.sort(np.partition(x, FEW - 1)[:FEW]),
            "torch": lambda x: x.topk(FEW, largest=False).values,
            "jax": lambda x: jax().sort(x)[:FEW],
        },
    )
    yield _case(
        "median of rows 1000x1000",
        (1000, 1000),
        lambda x: np.median(x, 1),
        {"numpy": lambda x: np.median(x, 1), "jax": lambda x: jax().median(x, 1)},
    )


def _case(
    name: str,
    shape: tuple[int, ...],
    function: Callable[[Any], Any],
    functions: dict[str, Callable[..., Any]],
    dtype: str = "f4",
) -> Case:
    """A case without IREE, which has no such op."""
    traced = lx.jit(function)
    return Case(name, (shape,), lambda x, out=None: traced(x, out=out), functions, dtype)
