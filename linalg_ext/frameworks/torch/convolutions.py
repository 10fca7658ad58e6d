"""Convolutions that PyTorch writes as other ops, each in the first way that knows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linalg_ext.frameworks.requirements import torch


class _Operands(NamedTuple):
    """The operands of `aten.convolution`, in its order.

    Attributes:
        input: (images, channels, *space); without images where its rank is one less.
        weight: (results, channels / groups, *window); channels and results the other way round
            where it is transposed.
        bias: (results,), or None.
        stride, padding, dilation, output_padding: for each axis of the space.
        transposed: whether it is the gradient of a convolution.
        groups: how many there are of channels.
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
    """`aten.convolution`; not written where no way knows it."""
    given = _Operands(*operands)
    for way in (_as_product, _cut_out, _by_channels):
        found = way(given)
        if found is not NotImplemented:
            return found
    return NotImplemented


def _as_product(given: _Operands) -> Any:
    """Write a transposed convolution whose windows do not overlap as products; no other one.

        y[n, k, s * h + i, s * w + j] = sum over c of x[n, c, h, w] * weight[c, k, i, j]

    torch-mlir spreads the input among zeros, and convolves that: of s * s products one is not zero.
    """
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


def _cut_out(given: _Operands) -> Any:
    """Write a transposed convolution that is padded by more than a window reaches; no other one.

    It is cut out of one that gives whole windows: torch-mlir pads by what a window reaches less the
    padding, and that would be less than nothing.
    """
    window = given.weight.shape[2:]
    reaches = [(k - 1) * d for k, d in zip(window, given.dilation, strict=True)]
    cuts = [max(cut - reach, 0) for cut, reach in zip(given.padding, reaches, strict=True)]
    if not given.transposed or not any(cuts) or given.input.dim() != given.weight.dim():
        return NotImplemented
    less = [most - cut for most, cut in zip(given.padding, cuts, strict=True)]
    found = torch().ops.aten.convolution.default(*given._replace(padding=less))
    for axis, cut in enumerate(cuts, 2):
        if cut:
            found = found.narrow(axis, cut, found.shape[axis] - 2 * cut)
    return found


def _by_channels(given: _Operands) -> Any:
    """Write a convolution of single channels that is transposed or of volumes; no other one."""
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
