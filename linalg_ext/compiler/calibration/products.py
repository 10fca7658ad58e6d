"""The rates of matrix products and convolutions, in the code that this library generates."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from linalg_ext.compiler import compile
from linalg_ext.compiler.calibration.timing import seconds_of

_SIZE = 192
"""The number of rows and of columns of the matrices: three of them fit the second cache."""

_CHANNELS, _IMAGE, _KERNEL = 32, 28, 3


def contraction_rate(dtype: str) -> float:
    """Additions and multiplications a second of a product of square matrices."""
    shape = (_SIZE, _SIZE)
    return 2 * _SIZE**3 / _seconds(product(_SIZE, dtype), [shape, shape], dtype)


def product(size: int, dtype: str) -> str:
    """A product of square matrices."""
    kind = f"tensor<{size}x{size}x{dtype}>"
    return f"""
    func.func @f(%a: {kind}, %b: {kind}) -> {kind} {{
      %zero = arith.constant 0.0 : {dtype}
      %e = tensor.empty() : {kind}
      %z = linalg.fill ins(%zero : {dtype}) outs(%e : {kind}) -> {kind}
      %r = linalg.matmul ins(%a, %b : {kind}, {kind}) outs(%z : {kind}) -> {kind}
      return %r : {kind}
    }}"""


def window_rate(dtype: str) -> float:
    """The same of a convolution of images, channels first."""
    outer = _IMAGE + _KERNEL - 1
    image, kernel, result = (
        (1, _CHANNELS, outer, outer),
        (_CHANNELS, _CHANNELS, _KERNEL, _KERNEL),
        (1, _CHANNELS, _IMAGE, _IMAGE),
    )
    images, kernels, results = (
        f"tensor<{'x'.join(map(str, shape))}x{dtype}>" for shape in (image, kernel, result)
    )
    text = f"""
    func.func @f(%x: {images}, %k: {kernels}) -> {results} {{
      %zero = arith.constant 0.0 : {dtype}
      %e = tensor.empty() : {results}
      %z = linalg.fill ins(%zero : {dtype}) outs(%e : {results}) -> {results}
      %r = linalg.conv_2d_nchw_fchw ins(%x, %k : {images}, {kernels})
          outs(%z : {results}) -> {results}
      return %r : {results}
    }}"""
    flops = 2 * _CHANNELS**2 * _IMAGE**2 * _KERNEL**2
    return flops / _seconds(text, [image, kernel], dtype)


def _seconds(text: str, shapes: list[tuple[int, ...]], dtype: str) -> float:
    kind = np.float64 if dtype == "f64" else np.float32
    arrays: list[Any] = [np.ones(shape, kind) for shape in shapes]
    kernel = compile(text, trusted=True, checked=False)
    return seconds_of(partial(kernel, *arrays, out=kernel(*arrays)))
