"""Transposed convolutions that give less than a whole window at an edge: cut out of those that do.

torch-mlir pads by what a window reaches less the padding, and that would be less than nothing.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.frameworks.torch.convolution_operands import ConvolutionOperands
from linalg_ext.frameworks.torch.requirements import torch


def convolution(given: ConvolutionOperands) -> Any:
    """`aten.convolution`, transposed, that is padded by more than a window reaches; no other."""
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
