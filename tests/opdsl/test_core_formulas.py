"""The oracle against NumPy's own functions, for the families of ops that everybody knows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from core_ops import Array, Problem, assert_same, core_ops, problem

CONTRACTIONS = {
    "matvec": "mn,n->m",
    "vecmat": "m,mn->n",
    "dot": "m,m->",
    "batch_matvec": "bmk,bk->bm",
    "batch_vecmat": "bk,bkn->bn",
    "mmt4d": "mkac,nkbc->mnab",
    "batch_mmt4d": "bmkac,bnkdc->bmnad",
}

ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "copy": lambda x: x,
    "exp": np.exp,
    "log": np.log,
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "negf": np.negative,
    "reciprocal": lambda x: 1 / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": np.square,
    "tanh": np.tanh,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "powf": np.power,
}

WINDOWS = re.compile(
    r"(?P<kind>conv|depthwise_conv|pooling)_(?:(?P<rank>\d)d_?)?(?P<layouts>\w*?)"
    r"(?:_(?P<reduce>sum|max|min)(?:_unsigned)?)?(?P<quantized>_q)?"
)
REDUCE: dict[str, Callable[..., Any]] = {"sum": np.sum, "max": np.max, "min": np.min}
SPATIAL = "dhw"


def _problem(name: str, wide: bool = False) -> Problem:
    op = core_ops()[name]
    known = {operand.name for operand in op.definition.attributes}
    steps = {"strides": 2, "dilations": 3} if wide else {}
    dtype = np.uint32 if name.endswith(("max_unsigned", "min_unsigned")) else np.float64
    return problem(op, dtype, attributes={k: v for k, v in steps.items() if k in known})


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name: str) -> None:
    case = _problem(name)
    *inputs, _ = case.arrays.values()
    assert_same(case.reference(), [ELEMENTWISE[name](*inputs)], name)


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_contraction(name: str) -> None:
    case = _problem(name)
    a, b, c = case.arrays.values()
    assert_same(case.reference(), [c + np.einsum(CONTRACTIONS[name], a, b)], name)


@pytest.mark.parametrize("name", ["quantized_matmul", "quantized_batch_matmul"])
def test_quantized_product(name: str) -> None:
    case = _problem(name)
    a, b, a_zero, b_zero, c = case.arrays.values()
    assert_same(case.reference(), [c + np.matmul(a - a_zero, b - b_zero)], name)


def _windows(name: str) -> re.Match[str]:
    match = WINDOWS.fullmatch(name)
    assert match is not None
    return match


SLIDING = [name for name in core_ops() if WINDOWS.fullmatch(name)]


@pytest.mark.parametrize("wide", [False, True], ids=["unit-steps", "strides-and-dilations"])
@pytest.mark.parametrize("name", SLIDING)
def test_sliding_window(name: str, wide: bool) -> None:
    case = _problem(name, wide)
    steps = (2, 3) if case.attributes else (1, 1)
    formula = _pooling if name.startswith("pool") else _convolution
    assert_same(case.reference(), [formula(case, name, *steps)], name)


def test_the_sliding_windows_are_all_of_them() -> None:
    assert len(SLIDING) == 47
    rest = set(core_ops()) - set(SLIDING) - set(ELEMENTWISE) - set(CONTRACTIONS)
    assert rest == {
        "round",
        "erf",
        "div_unsigned",
        "select",
        "quantized_matmul",
        "quantized_batch_matmul",
        "fill",
        "fill_rng_2d",
    }


def _view(
    image: Array, axes: str, sizes: tuple[int, ...], stride: int, dilation: int
) -> tuple[Array, str]:
    """Every window of an image, and its axes: those inside a window last, in capitals."""
    spatial = [axis for axis in axes if axis in SPATIAL]
    spans = tuple((size - 1) * dilation + 1 for size in sizes)
    where = tuple(axes.index(axis) for axis in spatial)
    windows = sliding_window_view(image, spans, axis=where)
    steps = tuple(slice(None, None, stride) if axis in SPATIAL else slice(None) for axis in axes)
    inside = (slice(None, None, dilation),) * len(sizes)
    return windows[(*steps, *inside)], axes + "".join(spatial).upper()


def _pooling(case: Problem, name: str, stride: int, dilation: int) -> Array:
    match = _windows(name)
    image, window, start = case.arrays.values()
    view, _ = _view(image, match["layouts"], window.shape, stride, dilation)
    inner = tuple(range(view.ndim - window.ndim, view.ndim))
    reduced = REDUCE[match["reduce"]](view, axis=inner)
    combine = {"sum": np.add, "max": np.maximum, "min": np.minimum}[match["reduce"]]
    return np.asarray(combine(start, reduced))


def _convolution(case: Problem, name: str, stride: int, dilation: int) -> Array:
    """By einsum over windows, with the layouts that the op's name spells out."""
    match = _windows(name)
    image, kernel, *zeros, start = case.arrays.values()
    if match["quantized"]:
        image, kernel = image - zeros[0], kernel - zeros[1]
    image_axes, kernel_axes, out_axes = _layouts(match)
    sizes = tuple(kernel.shape[i] for i, axis in enumerate(kernel_axes) if axis in SPATIAL.upper())
    view, view_axes = _view(image, image_axes, sizes, stride, dilation)
    return np.asarray(start + np.einsum(f"{view_axes},{kernel_axes}->{out_axes}", view, kernel))


def _layouts(match: re.Match[str]) -> tuple[str, str, str]:
    """Axes of image, kernel and output, as the op's name spells them."""
    spatial = SPATIAL[-int(match["rank"]) :]
    if not match["layouts"]:
        return spatial, spatial.upper(), spatial
    image, kernel = match["layouts"].split("_")
    inner = "".join(axis.upper() if axis in SPATIAL else axis for axis in kernel)
    if match["kind"] == "depthwise_conv":
        return image, inner, image + ("m" if "m" in kernel else "")
    return image, inner, image.replace("c", "f")
