"""Random programs over the recorded functions, traced and in NumPy: the same to the bit.

Numbers are small integers in whatever dtype, and functions are those that are exact on them, so
that no order of a sum and no rounding is a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import linalg_ext as lx

DTYPES = (np.bool_, np.int8, np.uint8, np.int16, np.uint32, np.int64, np.float32, np.float64)

Step = tuple[str, tuple[int, ...], int]

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - (y + 0),
    "multiply": lambda x, y: x * np.sign(y + 0),
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "less": lambda x, y: x < y,
    "equal": lambda x, y: x == y,
    "logical_and": np.logical_and,
    "where": lambda x, y: np.where(x > 1, x, y),
    "concatenate": lambda x, y: np.concatenate([x.reshape(-1), y.reshape(-1)]),
    "stack": lambda x, y: np.stack([x, x + y], axis=-1),
    "outer": lambda x, y: np.sign(x.reshape(-1)[:3, None] + 0) * y.reshape(-1)[:3],
}
UNARY: dict[str, Callable[[Any, int], Any]] = {
    "negative": lambda x, n: -(x + 0),
    "absolute": lambda x, n: abs(x),
    "number": lambda x, n: x + n,
    "fraction": lambda x, n: x * 0.5,
    "shift": lambda x, n: x + np.int8(n),
    "transpose": lambda x, n: x.T,
    "flatten": lambda x, n: x.T.reshape(-1),
    "new_axis": lambda x, n: x[..., None],
    "first": lambda x, n: x[:1] if x.ndim else x,
    "backwards": lambda x, n: x[::-1] if x.ndim else x,
    "every_second": lambda x, n: x[..., ::2] if x.ndim else x,
    "sum": lambda x, n: x.sum(axis=n % x.ndim if x.ndim else None),
    "sum_kept": lambda x, n: x.sum(axis=n % x.ndim if x.ndim else None, keepdims=True),
    "max": lambda x, n: x.max(),
    "any": lambda x, n: np.any(x, axis=-1) if x.ndim else x,
    "argmax": lambda x, n: x.argmax(axis=0) if x.ndim else x,
    "cumsum": lambda x, n: np.cumsum(x, axis=n % x.ndim) if x.ndim else x,
    "roll": lambda x, n: np.roll(x, n),
    "tile": lambda x, n: np.tile(x, 2),
    "pad": lambda x, n: np.pad(x, 1),
    "to_int": lambda x, n: x.astype(np.int32),
    "to_float": lambda x, n: x.astype(np.float32),
    "to_bool": lambda x, n: x.astype(bool),
    "clip": lambda x, n: np.clip(x, 0, 2),
    "dot": lambda x, n: np.sign(x + 0) @ x.T if x.ndim in (1, 2) else x,
}


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[Any], list[Step]]:
    """Arrays, and steps: each a function of some values so far, by their places."""
    arrays: list[Any] = []
    for _ in range(2):
        shape = draw(st.sampled_from([(3,), (2, 3), (1, 3), (2, 1), (), (3, 3), (2, 2, 3)]))
        dtype = draw(st.sampled_from(DTYPES))
        seed = draw(st.integers(0, 9))
        arrays.append(np.random.default_rng(seed).integers(0, 4, shape).astype(dtype))
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from([*BINARY, *UNARY]))
        places = st.integers(0, number + 1)
        steps.append((name, (draw(places), draw(places)), draw(st.integers(0, 3))))
    return arrays, steps


def run(arrays: list[Any], steps: list[Step]) -> Any:
    """All values of a program; a step that NumPy refuses for shapes is left out by `kept`."""
    values = list(arrays)
    for name, (left, right), number in steps:
        x, y = values[left], values[right]
        values.append(BINARY[name](x, y) if name in BINARY else UNARY[name](x, number))
    return tuple(values[len(arrays) :])


def kept(arrays: list[Any], steps: list[Step]) -> list[Step]:
    """The steps as far as NumPy takes them, and values stay small enough to be exact."""
    for count in range(len(steps), 0, -1):
        try:
            values = run([np.asarray(a) for a in arrays], steps[:count])
        except (ValueError, TypeError, OverflowError):
            continue
        if all(np.size(v) < 500 and np.all(np.abs(v.astype(float)) < 2**20) for v in values):
            return steps[:count]
    return []


@settings(max_examples=60, deadline=None)
@given(programs())
def test_random_programs(program: tuple[list[Any], list[Step]]) -> None:
    arrays, steps = program
    with np.errstate(all="ignore"):
        steps = kept(arrays, steps)
        if not steps:
            return
        expected = run([np.asarray(a) for a in arrays], steps)
    found = lx.jit(lambda *given: run(list(given), steps))(*arrays)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other), strict=True)
