"""What the formulas of ops are made of: kinds of formulas, and functions that NumPy has not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from op_formulas import ANY, FLOAT, Formula

erfc = np.vectorize(math.erfc, otypes=[np.float64])


def angle(y: Any, x: Any) -> Any:
    if np.iscomplexobj(y):
        return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))
    return np.arctan2(y, x)


def unary(value: Any, kinds: str = FLOAT) -> Formula:
    return Formula("xy->xy", value, None, kinds)


def binary(value: Any, kinds: str = ANY) -> Formula:
    return Formula("xy,xy->xy", value, None, kinds)


def where(compare: Any) -> Formula:
    return Formula("xy,xy,xy,xy->xy", lambda a, b, x, y: np.where(compare(a, b), x, y))


def shaped(
    axes: str,
    shape: tuple[int, ...],
    value: Any,
    into: Any = None,
    kinds: str = ANY,
    **attributes: Any,
) -> Formula:
    return Formula(axes, value, into, kinds, shape, attributes)


def sigmoid(x: Any) -> Any:
    return (np.tanh(x / 2) + 1) / 2


def hard_sigmoid(x: Any) -> Any:
    return np.clip(x / 6 + 0.5, 0, 1)


def elu(x: Any) -> Any:
    return np.expm1(np.minimum(x, 0))


def huber(error: Any, delta: Any) -> Any:
    e = np.abs(error)
    return np.where(e < delta, e * e / 2, delta * (e - delta / 2))


def dilated(x: Any, steps: tuple[int, ...]) -> Any:
    result = np.zeros(
        [(size - 1) * step + 1 for size, step in zip(x.shape, steps, strict=True)], x.dtype
    )
    result[tuple(slice(None, None, step) for step in steps)] = x
    return result


def patches(x: Any, axes: tuple[int, ...], kernel: int, step: int) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, [kernel] * len(axes), axis=axes)
    return windows[tuple(slice(None, None, step if a in axes else 1) for a in range(x.ndim))]


def blocks_to_pixels(x: Any) -> Any:
    n, c, h, w = x.shape
    return (
        x.reshape(n, c // 4, 2, 2, h, w)
        .transpose(0, 1, 4, 2, 5, 3)
        .reshape(n, c // 4, 2 * h, 2 * w)
    )


def pixels_to_blocks(x: Any) -> Any:
    n, c, h, w = x.shape
    return (
        x.reshape(n, c, h // 2, 2, w // 2, 2)
        .transpose(0, 1, 3, 5, 2, 4)
        .reshape(n, 4 * c, h // 2, w // 2)
    )


def last(function: Any) -> Any:
    """A function of channels first on channels last."""
    return lambda x: np.moveaxis(function(np.moveaxis(x, -1, 1)), 1, -1)


def scores(seen: Any) -> Any:
    """Scores of 3 queries and 3 keys where a condition of the two holds, else a value."""
    q, k = np.arange(3)[:, None], np.arange(3)[None]
    return lambda s, *rest: np.where(seen(q, k, *rest[:-1]), s, rest[-1])


def rotated(x: Any, c: Any, s: Any) -> Any:
    half, left = divmod(x.shape[-1], 2)
    if left:
        raise ValueError("an odd size has no halves")
    return x * c + np.concatenate([-x[..., half:], x[..., :half]], -1) * s


def positions(base: Any) -> Any:
    m, n = np.arange(4)[:, None], np.arange(5)[None]
    angle = m / base ** ((n - n % 2) / 5)
    return np.where(n % 2 == 0, np.sin(angle), np.cos(angle))


def picked(x: Any, labels: Any) -> Any:
    """What each row holds at its label; 0 where there is none."""
    return np.where(labels.astype(int)[:, None] == np.arange(x.shape[1]), x, 0).sum(1)


def named(labels: Any, count: int) -> Any:
    return (labels[:, None] == np.arange(count)).astype(int)


def quantized(x: Any, scale: Any, low: Any, high: Any, zero: Any = 0) -> Any:
    return np.clip(np.rint(x / scale) + zero, low, high)


def second(a: Any) -> Any:
    return np.sort(a, axis=1)[:, -2]


def pooled(kind: str, layout: str) -> Formula:
    """A number for each channel of each image."""
    axes = tuple(i for i, letter in enumerate(layout) if letter in "dhw")
    if kind == "max":
        return Formula(f"{layout}->nc", lambda x: x.max(axes), np.maximum)
    return Formula(f"{layout}->nc", lambda x: x.mean(axes), np.add, FLOAT)


def channel_variance(axes: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return lambda x, mean: ((x - mean.reshape(shape)) ** 2).mean(axes)
