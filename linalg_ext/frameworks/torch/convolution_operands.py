"""The operands of `aten.convolution`, which several ways to write it ask about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class ConvolutionOperands(NamedTuple):
    """What PyTorch calls `aten.convolution` with, in its order.

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
