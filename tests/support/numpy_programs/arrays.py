"""Arrays of programs: dtypes, shapes, and the numbers that arithmetic trips over."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

T = TypeVar("T")
Array = np.ndarray[Any, Any]
Choose = Callable[[Sequence[Any]], Any]
"""Picks one of several: by a seed, or by hypothesis, which shrinks towards the first."""

FLOATS = ("f4", "f8", "f2", "bfloat16")
INTEGERS = ("i4", "i8", "u1", "i1", "i2", "u2", "u4", "u8")
COMPLEX = ("c8", "c16")
DTYPES = (*FLOATS[:2], *INTEGERS[:3], "?", *COMPLEX, *FLOATS[2:], *INTEGERS[3:])
SIZES = (3, 1, 2, 17, 0, 33, 1000, 4097)
FILLS = ("small", "normal", "special", "extremes")
_MOST = 5000


def dtype_of(name: str) -> np.dtype[Any]:
    """The dtype of a name."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Tell whether a dtype is of real floats."""
    return dtype.kind == "f" or dtype == ml_dtypes.bfloat16


def draw_shape(choose: Choose, rank: int | None = None) -> tuple[int, ...]:
    """Draw a shape of so many elements that a program stays quick."""
    rank = choose((1, 2, 0, 3, 1, 2, 1, 4)) if rank is None else rank
    sizes: tuple[int, ...] = ()
    for _ in range(rank):
        room = _MOST // max(math.prod(sizes), 1)
        sizes += (choose([size for size in SIZES if size <= room and (rank == 1 or size < 1000)]),)
    return sizes


def draw_array(choose: Choose, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Draw the numbers of an array."""
    fill, seed = choose(FILLS), choose(range(100))
    rng = np.random.default_rng(seed)
    if dtype.kind == "c":
        part = np.zeros(0, dtype).real.dtype
        found = np.empty(shape, dtype)
        found.real, found.imag = (_filled(rng, shape, part, fill) for _ in range(2))
        return found
    return _filled(rng, shape, dtype, fill)


def _filled(rng: Any, shape: tuple[int, ...], dtype: np.dtype[Any], fill: str) -> Array:
    if dtype == np.bool_:
        return np.asarray(rng.integers(0, 2, shape).astype(dtype))
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = (max(-3, info.min), 5) if fill != "normal" else (max(-99, info.min), 100)
        found = np.asarray(rng.integers(low, high, shape)).astype(dtype)
        numbers = np.array([info.min, info.max, info.min + 1, info.max // 2, 0, 1], dtype)
    else:
        with np.errstate(all="ignore"):
            found = np.asarray(
                rng.integers(-3, 5, shape) if fill == "small" else rng.standard_normal(shape) * 3
            ).astype(dtype)
        numbers = _special(dtype) if fill == "special" else _extremes(dtype)
    if fill in ("special", "extremes"):
        chosen = numbers[rng.integers(0, len(numbers), shape)]
        found = np.where(rng.random(shape) < 0.5, chosen, found).astype(dtype)
    return found


def _special(dtype: np.dtype[Any]) -> Array:
    tiny = ml_dtypes.finfo(dtype).smallest_subnormal
    numbers = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.0, float(tiny), 0.5, 2.5]
    return np.array(numbers).astype(dtype)


def _extremes(dtype: np.dtype[Any]) -> Array:
    info = ml_dtypes.finfo(dtype)
    numbers = [float(x) for x in (info.max, info.min, info.tiny, info.smallest_subnormal, info.eps)]
    return np.array([*numbers, -0.0, 1.0, 1 + float(info.eps), 1e4, -300.0]).astype(dtype)
