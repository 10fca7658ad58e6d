"""Convolutions that PyTorch writes as other ops, each in the first way that knows it."""

from __future__ import annotations

from typing import Any

from linalg_ext.frameworks.torch import (
    apart_convolutions,
    channel_convolutions,
    cut_convolutions,
)
from linalg_ext.frameworks.torch.convolution_operands import ConvolutionOperands

_WAYS = (
    apart_convolutions.convolution,
    cut_convolutions.convolution,
    channel_convolutions.convolution,
)


def convolution(*operands: Any) -> Any:
    """`aten.convolution`; not written where no way knows it."""
    given = ConvolutionOperands(*operands)
    for way in _WAYS:
        found = way(given)
        if found is not NotImplemented:
            return found
    return NotImplemented
