"""Transposed convolutions whose windows do not overlap, as products.

    y[n, k, s * h + i, s * w + j] = sum over c of x[n, c, h, w] * weight[c, k, i, j]

torch-mlir spreads the input among zeros, and convolves that: of s * s products one is not zero.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.frameworks.torch.convolution_operands import ConvolutionOperands
from linalg_ext.frameworks.torch.requirements import torch


def convolution(given: ConvolutionOperands) -> Any:
    """A transposed convolution that steps over as much as its windows cover; no other one."""
    input, weight, bias, stride = given[:4]
    channels, results, *window = weight.shape
    alone = all(
        step == size and (gap == 1 or size == 1)
        for step, size, gap in zip(stride, window, given.dilation, strict=True)
    )
    is_cut = any(given.padding) or any(given.output_padding)
    if not given.transposed or not alone or is_cut or given.groups != 1:
        return NotImplemented
    if input.dim() != weight.dim() or not input.is_floating_point():
        return NotImplemented
    images, _, *space = input.shape
    filters = weight.reshape(channels, -1).t().unsqueeze(0)
    products = torch().bmm(filters.expand(images, -1, -1), input.reshape(images, channels, -1))
    axes = range(len(space))
    apart = products.reshape(images, results, *window, *space)
    beside = [place for axis in axes for place in (2 + len(space) + axis, 2 + axis)]
    sizes = [count * step for count, step in zip(space, window, strict=True)]
    spread = apart.permute(0, 1, *beside).reshape(images, results, *sizes)
    return spread if bias is None else spread + bias.reshape(-1, *[1 for _ in axes])
