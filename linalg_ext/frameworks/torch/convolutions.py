"""Convolutions that PyTorch writes as other ops, each in the first way that applies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linalg_ext.frameworks.requirements import torch


class _Convolution(NamedTuple):
    """The operands of `aten.convolution`, in its order.

    Attributes:
        input: (images, channels, *space); without images if its rank is one less.
        weight: (results, channels / groups, *window); channels and results swapped if transposed.
        bias: (results,), or None.
        stride, padding, dilation, output_padding: for each axis of the space.
        transposed: whether it is the gradient of a convolution.
        groups: the number of groups of channels.
    """

    input: Any
    weight: Any
    bias: Any
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    transposed: bool
    output_padding: Sequence[int]
    groups: int


def convolution(*operands: Any) -> Any:
    """`aten.convolution`; NotImplemented if no way applies."""
    for way in (_as_product, _cut_out, _by_channels):
        result = way(_Convolution(*operands))
        if result is not NotImplemented:
            return result
    return NotImplemented


def _as_product(operands: _Convolution) -> Any:
    """Write a transposed convolution whose windows do not overlap as products; no other one.

        y[n, k, s * h + i, s * w + j] = sum over c of x[n, c, h, w] * weight[c, k, i, j]

    torch-mlir spreads the input among zeros, and convolves that: only one of s * s products counts.
    """
    input, weight, bias, stride = operands[:4]
    channels, results, *window = weight.shape
    alone = all(
        step == size and (gap == 1 or size == 1)
        for step, size, gap in zip(stride, window, operands.dilation, strict=True)
    )
    is_cut = any(operands.padding) or any(operands.output_padding)
    if not operands.transposed or not alone or is_cut or operands.groups != 1:
        return NotImplemented
    if input.dim() != weight.dim() or not input.is_floating_point():
        return NotImplemented
    images, _, *space = input.shape
    filters = weight.reshape(channels, -1).t().unsqueeze(0)
    products = torch().bmm(filters.expand(images, -1, -1), input.reshape(images, channels, -1))
    axes = range(len(space))
    apart = products.reshape(images, results, *window, *space)
    beside = [dim for axis in axes for dim in (2 + len(space) + axis, 2 + axis)]
    sizes = [count * step for count, step in zip(space, window, strict=True)]
    spread = apart.permute(0, 1, *beside).reshape(images, results, *sizes)
    return spread if bias is None else spread + bias.reshape(-1, *[1 for _ in axes])


def _cut_out(operands: _Convolution) -> Any:
    """Write a transposed convolution that is padded by more than a window reaches; no other one.

    It is a part of one with whole windows: torch-mlir pads by the reach of a window minus the
    padding, which would be negative.
    """
    window = operands.weight.shape[2:]
    reaches = [(k - 1) * d for k, d in zip(window, operands.dilation, strict=True)]
    cuts = [max(cut - reach, 0) for cut, reach in zip(operands.padding, reaches, strict=True)]
    if not operands.transposed or not any(cuts) or operands.input.dim() != operands.weight.dim():
        return NotImplemented
    less = [most - cut for most, cut in zip(operands.padding, cuts, strict=True)]
    whole = torch().ops.aten.convolution.default(*operands._replace(padding=less))
    for axis, cut in enumerate(cuts, 2):
        if cut:
            whole = whole.narrow(axis, cut, whole.shape[axis] - 2 * cut)
    return whole


def _by_channels(operands: _Convolution) -> Any:
    """Write a convolution of single channels that is transposed or of volumes; no other one."""
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups = operands
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
    sums = _of_channels(x, weight, stride, padding, dilation)
    return sums if bias is None else sums + bias.reshape(-1, *[1] * rank)


def _of_channels(
    x: Any, weight: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Any:
    """Convolve channels; a volume by a convolution of images for each depth of the window."""
    channels, functional = x.shape[1], torch().nn.functional
    if x.ndim < 5:
        convolve = functional.conv2d if x.ndim == 4 else functional.conv1d
        return convolve(x, weight, None, stride, padding, dilation, channels)
    x = functional.pad(x, (0, 0, 0, 0, padding[0], padding[0]))
    reach = (weight.shape[2] - 1) * dilation[0]
    count = (x.shape[2] - reach - 1) // stride[0] + 1
    total: Any = None
    for position in range(weight.shape[2]):
        first = position * dilation[0]
        images = x[:, :, first : first + (count - 1) * stride[0] + 1 : stride[0]]
        images = images.transpose(1, 2).flatten(0, 1)
        part = functional.conv2d(
            images, weight[:, :, position], None, stride[1:], padding[1:], dilation[1:], channels
        )
        total = part if total is None else total + part
    return total.unflatten(0, (-1, count)).transpose(1, 2)


def _spread(x: Any, stride: Sequence[int]) -> Any:
    """Return a tensor with zeros between its elements."""
    for axis, step in enumerate(stride, 2):
        if step > 1:
            size = x.shape[axis]
            gaps = x.unsqueeze(axis + 1)
            zeros = [0, 0] * (gaps.ndim - axis - 2) + [0, step - 1]
            gaps = torch().nn.functional.pad(gaps, zeros)
            x = gaps.flatten(axis, axis + 1).narrow(axis, 0, (size - 1) * step + 1)
    return x


def _padded(x: Any, edges: Sequence[tuple[int, int]]) -> Any:
    """Return a tensor with zeros before and after it; negative numbers cut elements off."""
    return torch().nn.functional.pad(x, [n for edge in reversed(edges) for n in edge])
