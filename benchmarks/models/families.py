"""The families: a model of each, its weights random, and the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from benchmarks.models import convolutional, sequential

Example = tuple[nn.Module, tuple[Any, ...]]


@dataclass(frozen=True)
class Family:
    """One kind of model.

    Attributes:
        name: of it.
        make: gives the model, and the arguments of a call.
    """

    name: str
    make: Callable[[], Example]

    def example(self) -> Example:
        """The model, ready for inference, and the arguments of a call; always the same."""
        torch.manual_seed(0)
        model, arguments = self.make()
        return model.eval(), arguments


def _encoder() -> Example:
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, activation="gelu")
    return layer, (torch.randn(4, 128, 512),)


def _tokens(layers: int) -> Example:
    return sequential.Transformer(layers), (torch.randint(0, 4096, (2, 128)),)


_MADE: Mapping[str, Callable[[], Example]] = {
    "MLP": lambda: (sequential.perceptron(), (torch.randn(128, 1024),)),
    "LeNet": lambda: (convolutional.LeNet(), (torch.randn(64, 1, 28, 28),)),
    "ResNet-18": lambda: (convolutional.ResNet18(), (torch.randn(1, 3, 224, 224),)),
    "depthwise": lambda: (convolutional.InvertedResidual(), (torch.randn(1, 32, 56, 56),)),
    "U-Net block": lambda: (convolutional.UNetBlock(), (torch.randn(1, 32, 64, 64),)),
    "group norm": lambda: (convolutional.GroupNormed(), (torch.randn(2, 128, 32, 32),)),
    "encoder layer": _encoder,
    "decoder layer": lambda: (sequential.Decoder(), (torch.randn(4, 128, 512),)),
    "attention": lambda: (sequential.AttentionVariants(), (torch.randn(2, 256, 512),)),
    "scan": lambda: (sequential.MinimalGRU(), (torch.randn(8, 256, 256),)),
    "transformer": lambda: _tokens(4),
    "LSTM": lambda: (nn.LSTM(256, 256, 2, batch_first=True), (torch.randn(8, 64, 256),)),
    "12 layers": lambda: _tokens(12),
}

FAMILIES = tuple(Family(name, make) for name, make in _MADE.items())
"""Those of the benchmark; the one of most ops last."""
