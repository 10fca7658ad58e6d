"""Convolutions and poolings: the cases, and how each peer is asked for them.

Arrays are channels last (`nhwc`) or channels first (`nchw`), for all runners alike. PyTorch gets
channels last as its memory format of that name, which is how its users have it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import linalg_ext as lx
from benchmarks.bars.case import Case, torch
from benchmarks.peers import Array


def cases() -> Iterator[Case]:
    """Convolutions, also of each channel by itself, and poolings."""
    yield _padded()
    for layout in ("nhwc", "nchw"):
        yield _convolution(layout, 56, 64, 64, 3)
        yield _convolution(layout, 57, 64, 64, 3, stride=2)
        yield _convolution(layout, 56, 64, 64, 1)
        yield _convolution(layout, 229, 3, 64, 7, stride=2)
        yield _convolution(layout, 15, 500, 300, 3)
        yield _depthwise(layout, 112, 64, 3)
        yield _depthwise(layout, 113, 60, 5, stride=2)
        for kind in ("max", "average"):
            yield _pooling(layout, kind, 112, 64, 3)
            yield _pooling(layout, kind, 112, 64, 2)


def _convolution(
    layout: str, size: int, inputs: int, outputs: int, window: int, stride: int = 1
) -> Case:
    kernel = (window, window, inputs, outputs)
    steps = (stride, stride)
    if layout == "nchw":
        kernel = (outputs, inputs, window, window)
    named = lx.ops.conv_2d_nhwc_hwcf if layout == "nhwc" else lx.ops.conv_2d_nchw_fchw
    order = "HWIO" if layout == "nhwc" else "OIHW"
    out = (size - window) // stride + 1
    return Case(
        f"conv {window}x{window} s{stride} {size}x{size}x{inputs} -> {outputs} {layout}",
        (_image(layout, size, inputs), kernel),
        lx.jit(lambda x, k: named(x, k, strides=steps)),
        {
            "numpy": lambda x, k: _numpy_convolution(layout, x, k, stride),
            "torch": lambda x, k: _from_torch(
                layout,
                _functional().conv2d(
                    _to_torch(layout, x),
                    _filters(k) if layout == "nhwc" else k,
                    stride=stride,
                ),
            ),
            "jax": lambda x, k: _lax().conv_general_dilated(
                x, k, steps, "VALID", dimension_numbers=(layout.upper(), order, layout.upper())
            ),
        },
        flops=2 * out * out * window * window * inputs * outputs,
    )


_PADDED = """
func.func @conv(%x: tensor<1x56x56x64xf32>, %k: tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %w: index, %c: index):
    tensor.yield %zero : f32
  } : tensor<1x56x56x64xf32> to tensor<1x58x58x64xf32>
  %e = tensor.empty() : tensor<1x56x56x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32>
  %r = linalg.conv_2d_nhwc_hwcf
    ins(%p, %k : tensor<1x58x58x64xf32>, tensor<3x3x64x64xf32>)
    outs(%z : tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32>
  return %r : tensor<1x56x56x64xf32>
}"""


def _padded() -> Case:
    """A convolution whose result is as large as its input."""
    return Case(
        "conv 3x3 s1 56x56x64 -> 64 nhwc, padded",
        (_image("nhwc", 56, 64), (3, 3, 64, 64)),
        lx.compile(_PADDED),
        {
            "numpy": lambda x, k: _numpy_convolution(
                "nhwc", np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), k, 1
            ),
            "torch": lambda x, k: _from_torch(
                "nhwc", _functional().conv2d(_to_torch("nhwc", x), _filters(k), padding=1)
            ),
            "jax": lambda x, k: _lax().conv_general_dilated(
                x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            ),
        },
        flops=2 * 56 * 56 * 9 * 64 * 64,
    )


def _depthwise(layout: str, size: int, channels: int, window: int, stride: int = 1) -> Case:
    is_last = layout == "nhwc"
    kernel = (window, window, channels) if is_last else (channels, window, window)
    named = lx.ops.depthwise_conv_2d_nhwc_hwc if is_last else lx.ops.depthwise_conv_2d_nchw_chw
    order = "HWIO" if is_last else "OIHW"
    return Case(
        f"depthwise {window}x{window} s{stride} {size}x{size}x{channels} {layout}",
        (_image(layout, size, channels), kernel),
        lx.jit(lambda x, k: named(x, k, strides=(stride, stride))),
        {
            "numpy": lambda x, k: _numpy_depthwise(layout, x, k, stride),
            "torch": lambda x, k: _from_torch(
                layout,
                _functional().conv2d(
                    _to_torch(layout, x),
                    _each_channel(k) if is_last else k[:, None],
                    stride=stride,
                    groups=channels,
                ),
            ),
            "jax": lambda x, k: _lax().conv_general_dilated(
                x,
                k[:, :, None] if is_last else k[:, None],
                (stride, stride),
                "VALID",
                dimension_numbers=(layout.upper(), order, layout.upper()),
                feature_group_count=channels,
            ),
        },
    )


def _pooling(layout: str, kind: str, size: int, channels: int, window: int) -> Case:
    named = getattr(lx.ops, f"pooling_{layout}_{kind}")
    spans = [window if letter in "hw" else 1 for letter in layout]
    steps = [2 if letter in "hw" else 1 for letter in layout]
    shape = np.empty((window, window), "f4")
    compiled = lx.jit(lambda x, k: named(x, k, strides=(2, 2)))

    def in_torch(x: Any) -> Any:
        functional = _functional()
        pool = functional.max_pool2d if kind == "max" else functional.avg_pool2d
        return _from_torch(layout, pool(_to_torch(layout, x), window, 2))

    def in_jax(x: Any) -> Any:
        lax = _lax()
        if kind == "max":
            return lax.reduce_window(x, -np.inf, lax.max, spans, steps, "VALID")
        return lax.reduce_window(x, 0.0, lax.add, spans, steps, "VALID") / window**2

    return Case(
        f"{kind} pool {window}x{window} s2 {size}x{size}x{channels} {layout}",
        (_image(layout, size, channels),),
        lambda x, **options: compiled(x, shape, **options),
        {
            "numpy": lambda x: _numpy_pooling(layout, kind, x, window),
            "torch": in_torch,
            "jax": in_jax,
        },
    )


def _image(layout: str, size: int, channels: int) -> tuple[int, ...]:
    return (1, size, size, channels) if layout == "nhwc" else (1, channels, size, size)


def _windows(layout: str, x: Array, window: int, stride: int) -> Array:
    """A view of an image with two more axes, of the windows."""
    axes = tuple(axis for axis, letter in enumerate(layout) if letter in "hw")
    steps = tuple(slice(None, None, stride if letter in "hw" else 1) for letter in layout)
    view: Array = sliding_window_view(x, (window, window), axis=axes)[steps]
    return view


def _numpy_convolution(layout: str, x: Array, k: Array, stride: int) -> Array:
    window = k.shape[0] if layout == "nhwc" else k.shape[2]
    windows = _windows(layout, x, window, stride)
    text = "nhwcyx,yxcf->nhwf" if layout == "nhwc" else "nchwyx,fcyx->nfhw"
    result: Array = np.einsum(text, windows, k, optimize=True)
    return result


def _numpy_depthwise(layout: str, x: Array, k: Array, stride: int) -> Array:
    windows = _windows(layout, x, k.shape[1], stride)
    text = "nhwcyx,yxc->nhwc" if layout == "nhwc" else "nchwyx,cyx->nchw"
    result: Array = np.einsum(text, windows, k)
    return result


def _numpy_pooling(layout: str, kind: str, x: Array, window: int) -> Array:
    windows = _windows(layout, x, window, 2)
    result: Array = windows.max((-2, -1)) if kind == "max" else windows.mean((-2, -1))
    return result


def _to_torch(layout: str, x: Any) -> Any:
    return x.permute(0, 3, 1, 2) if layout == "nhwc" else x


def _from_torch(layout: str, x: Any) -> Any:
    return x.permute(0, 2, 3, 1) if layout == "nhwc" else x


@functools.cache
def _filters(k: Any) -> Any:
    """A kernel in the order of PyTorch's weights; its users keep them so."""
    weights = k.permute(3, 2, 0, 1)
    return weights.contiguous(memory_format=torch().channels_last)


@functools.cache
def _each_channel(k: Any) -> Any:
    """The same for a kernel of each channel by itself."""
    return k.permute(2, 0, 1)[:, None].contiguous()


def _functional() -> Any:
    return torch().nn.functional


def _lax() -> Any:
    import jax.lax

    return jax.lax
