"""Resize, axis after axis, as sums of gathered elements.

Along an axis of known sizes each element is a sum of a few others, whose positions and factors
follow from the model alone: there is one gather for each term of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linalg_ext.frameworks.onnx.writing import Array, Rewrite, Unwritten, Writer, at

_NEAREST: Mapping[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}


def _resize(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    mode = attributes.get("mode", "nearest")
    if write.known.opset < 11 or attributes.get("antialias", 0) or mode not in _TAPS:
        raise Unwritten
    if attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Unwritten
    x, rank = node.input[0], write.rank(node.input[0])
    if write.dtype(x).kind != "f" and mode != "nearest":
        raise Unwritten
    axes = [axis % rank for axis in attributes.get("axes", range(rank))]
    value = x
    for axis, before, scale, after in _changes(write, node, axes):
        indices, factors = _taps(attributes, before, scale, after)
        value = _resized(write, value, x, axis, indices, factors)
    write("Identity", value, gives=node.output[0])


def _changes(write: Writer, node: Any, axes: list[int]) -> list[tuple[int, int, float, int]]:
    """Return for each axis that changes its number, its size, the factor, and its new size."""
    shape = write.known.shapes[node.input[0]]
    scales, sizes = at(node.input, 2), at(node.input, 3)
    changes: list[tuple[int, int, float, int]] = []
    for axis, requested in zip(axes, write.known_array(sizes or scales), strict=True):
        before = shape[axis]
        if (not sizes and requested == 1) or (sizes and before is not None and requested == before):
            continue
        if before is None or before == 0:
            raise Unwritten
        scale = int(requested) / before if sizes else float(requested)
        after = int(requested) if sizes else math.floor(before * scale)
        if after < 1:
            raise Unwritten
        changes.append((axis, before, scale, after))
    return changes


def _resized(
    write: Writer, value: str, like: str, axis: int, indices: Array, factors: Array
) -> str:
    """Write sums of elements along an axis: a row of positions and factors for each term."""
    shape = np.ones(write.rank(like), np.int64)
    shape[axis] = -1
    total = ""
    for row, factor in zip(indices, factors, strict=True):
        term = write("Gather", value, write.constant(row), axis=axis)
        if not np.all(factor == 1):
            along = factor.astype(write.dtype(like)).reshape(shape)
            term = write("Mul", term, write.constant(along))
        total = write("Add", total, term) if total else term
    return total


def _taps(
    attributes: Mapping[str, Any], before: int, scale: float, after: int
) -> tuple[Array, Array]:
    """Return the positions and factors of the terms of each element: a row for each term."""
    transformation = attributes.get("coordinate_transformation_mode", "half_pixel")
    mode = attributes.get("mode", "nearest")
    indices, factors = [], []
    for element in range(after):
        x = _origin(transformation, element, before, scale, after)
        own, weights = _TAPS[mode](x, attributes)
        if attributes.get("exclude_outside", 0) and mode != "nearest":
            inside = [0 <= index < before for index in own]
            weights = [w if is_in else 0.0 for w, is_in in zip(weights, inside, strict=True)]
            weights = [w / sum(weights) for w in weights]
        indices.append([min(max(index, 0), before - 1) for index in own])
        factors.append(weights)
    return np.array(indices, np.int64).T, np.array(factors, np.float64).T


def _origin(transformation: str, x: int, before: int, scale: float, after: int) -> float:
    """Return the position of a resized element among the elements before the resize."""
    width = before * scale
    match transformation:
        case "align_corners":
            return 0.0 if width == 1 else x * (before - 1) / (width - 1)
        case "asymmetric":
            return x / scale
        case "half_pixel":
            return (x + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            offset = before / 2 * (1 - after / width)
            return offset + (x + 0.5) / scale - 0.5
        case "pytorch_half_pixel" if after > 1:
            return (x + 0.5) / scale - 0.5
        case "tf_half_pixel_for_nn":
            return (x + 0.5) / scale
    raise Unwritten


def _nearest(x: float, attributes: Mapping[str, Any]) -> tuple[list[int], list[float]]:
    rounding = attributes.get("nearest_mode", "round_prefer_floor")
    return [_NEAREST[rounding](x)], [1.0]


def _linear(x: float, attributes: Mapping[str, Any]) -> tuple[list[int], list[float]]:
    first = math.floor(x)
    return [first, first + 1], [1 - (x - first), x - first]


def _cubic(x: float, attributes: Mapping[str, Any]) -> tuple[list[int], list[float]]:
    a, first = attributes.get("cubic_coeff_a", -0.75), math.floor(x)
    t = x - first
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, 1 - t)]
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (t + 1, 2 - t)]
    indices = [first - 1, first, first + 1, first + 2]
    return indices, [far[0], near[0], near[1], far[1]]


_TAPS: Mapping[str, Callable[[float, Mapping[str, Any]], tuple[list[int], list[float]]]] = {
    "cubic": _cubic,
    "linear": _linear,
    "nearest": _nearest,
}

REWRITES: Mapping[str, Rewrite] = {"Resize": _resize}
