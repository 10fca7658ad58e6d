"""Convolutions of single channels that torch-mlir has no way for, by those that it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.frameworks.torch.convolution_operands import ConvolutionOperands
from linalg_ext.frameworks.torch.requirements import torch


def convolution(given: ConvolutionOperands) -> Any:
    """`aten.convolution` where each channel gives one: transposed ones, and those of volumes."""
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups = given
    rank = x.ndim - 2
    if not (groups == x.shape[1] == weight.shape[0] > 1 and weight.shape[1] == 1):
        return NotImplemented
    if transposed:
        size = [(k - 1) * d for k, d in zip(weight.shape[2:], dilation, strict=True)]
        edges = [
            (whole - cut, whole - cut + more)
            for whole, cut, more in zip(size, padding, output_padding, strict=True)
        ]
        x = _padded(_spread(x, stride), edges)
        weight = weight.flip(list(range(2, weight.ndim)))
        stride, padding = [1] * rank, [0] * rank
    elif rank != 3:
        return NotImplemented
    found = _of_channels(x, weight, stride, padding, dilation)
    return found if bias is None else found + bias.reshape(-1, *[1] * rank)


def _of_channels(
    x: Any, weight: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Any:
    """A convolution of channels; that of a volume as one of images for each depth of the window."""
    channels, functional = x.shape[1], torch().nn.functional
    if x.ndim < 5:
        convolve = functional.conv2d if x.ndim == 4 else functional.conv1d
        return convolve(x, weight, None, stride, padding, dilation, channels)
    x = functional.pad(x, (0, 0, 0, 0, padding[0], padding[0]))
    reach = (weight.shape[2] - 1) * dilation[0]
    count = (x.shape[2] - reach - 1) // stride[0] + 1
    found: Any = None
    for place in range(weight.shape[2]):
        first = place * dilation[0]
        images = x[:, :, first : first + (count - 1) * stride[0] + 1 : stride[0]]
        images = images.transpose(1, 2).flatten(0, 1)
        part = functional.conv2d(
            images, weight[:, :, place], None, stride[1:], padding[1:], dilation[1:], channels
        )
        found = part if found is None else found + part
    return found.unflatten(0, (-1, count)).transpose(1, 2)


def _spread(x: Any, stride: Sequence[int]) -> Any:
    """Elements with zeros between them."""
    for axis, step in enumerate(stride, 2):
        if step > 1:
            size = x.shape[axis]
            gaps = x.unsqueeze(axis + 1)
            zeros = [0, 0] * (gaps.ndim - axis - 2) + [0, step - 1]
            gaps = torch().nn.functional.pad(gaps, zeros)
            x = gaps.flatten(axis, axis + 1).narrow(axis, 0, (size - 1) * step + 1)
    return x


def _padded(x: Any, edges: Sequence[tuple[int, int]]) -> Any:
    """With zeros before and after; less of it where there are fewer than none."""
    return torch().nn.functional.pad(x, [n for edge in reversed(edges) for n in edge])
