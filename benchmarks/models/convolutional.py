"""Models of images: convolutions, pools and norms."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional


class LeNet(nn.Module):
    """LeNet-5 (LeCun and others, 1998), with ReLU and maximum pools as it is written today."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.wide, self.narrow, self.last = (
            nn.Linear(400, 120),
            nn.Linear(120, 84),
            nn.Linear(84, 10),
        )

    def forward(self, x: Any) -> Any:
        """The results for a batch."""
        x = functional.max_pool2d(functional.relu(self.first(x)), 2)
        x = functional.max_pool2d(functional.relu(self.second(x)), 2)
        x = functional.relu(self.wide(x.flatten(1)))
        return self.last(functional.relu(self.narrow(x)))


class Residual(nn.Module):
    """The basic block of a ResNet."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(width), nn.BatchNorm2d(width)])
        self.beside = nn.Sequential()
        if stride != 1 or channels != width:
            self.beside = nn.Sequential(
                nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Any) -> Any:
        """The results for a batch."""
        inner = functional.relu(self.norms[0](self.first(x)))
        return functional.relu(self.norms[1](self.second(inner)) + self.beside(x))


class ResNet18(nn.Module):
    """ResNet-18 (He and others, 2015)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        blocks, channels = [], 64
        for width in (64, 128, 256, 512):
            stride = 1 if width == 64 else 2
            blocks += [Residual(channels, width, stride), Residual(width, width, 1)]
            channels = width
        self.blocks, self.last = nn.Sequential(*blocks), nn.Linear(512, 1000)

    def forward(self, x: Any) -> Any:
        """The results for a batch."""
        features = self.blocks(self.stem(x))
        return self.last(functional.adaptive_avg_pool2d(features, 1).flatten(1))


class InvertedResidual(nn.Module):
    """The depthwise-separable block of MobileNetV2 (Sandler and others, 2018)."""

    def __init__(self, width: int = 32, factor: int = 6) -> None:
        super().__init__()
        inner = width * factor
        self.wide = _normed(nn.Conv2d(width, inner, 1, bias=False))
        self.depthwise = _normed(nn.Conv2d(inner, inner, 3, padding=1, groups=inner, bias=False))
        self.narrow = _normed(nn.Conv2d(inner, width, 1, bias=False))

    def forward(self, x: Any) -> Any:
        """The results for a batch."""
        inner = functional.relu6(self.wide(x))
        return x + self.narrow(functional.relu6(self.depthwise(inner)))


class UNetBlock(nn.Module):
    """One level of a U-Net (Ronneberger and others, 2015): down, up, and a skip connection."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.first = _twice(width, width)
        self.below = _twice(width, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.last = _twice(2 * width, width)

    def forward(self, x: Any) -> Any:
        """The results for a batch."""
        skip = self.first(x)
        wide = self.up(self.below(functional.max_pool2d(skip, 2)))
        return self.last(torch.cat([skip, wide], 1))


class GroupNormed(nn.Module):
    """Convolutions, each with a group norm (Wu and He, 2018), as diffusion models have them."""

    def __init__(self, width: int = 128, groups: int = 8) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(2)])
        self.norms = nn.ModuleList([nn.GroupNorm(groups, width) for _ in range(2)])

    def forward(self, x: Any) -> Any:
        """The results for a batch."""
        inner = x
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            inner = convolution(functional.silu(norm(inner)))
        return x + inner


def _normed(convolution: nn.Conv2d) -> nn.Sequential:
    return nn.Sequential(convolution, nn.BatchNorm2d(convolution.out_channels))


def _twice(channels: int, width: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs in (channels, width):
        layers += [_normed(nn.Conv2d(inputs, width, 3, padding=1, bias=False)), nn.ReLU()]
    return nn.Sequential(*layers)
