"""Transposed convolutions that give less than a whole window at an edge: cut out of those that do.

torch-mlir pads by what a window reaches less the padding, and that would be less than nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.frameworks.torch.requirements import torch


def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    """`aten.convolution`, transposed, that is padded by more than a window reaches; no other."""
    reaches = [(k - 1) * d for k, d in zip(weight.shape[2:], dilation, strict=True)]
    cuts = [max(cut - reach, 0) for cut, reach in zip(padding, reaches, strict=True)]
    if not transposed or not any(cuts) or input.dim() != weight.dim():
        return NotImplemented
    less = [most - cut for most, cut in zip(padding, cuts, strict=True)]
    found = torch().ops.aten.convolution.default(
        input, weight, bias, stride, less, dilation, True, output_padding, groups
    )
    for axis, cut in enumerate(cuts, 2):
        if cut:
            found = found.narrow(axis, cut, found.shape[axis] - 2 * cut)
    return found
