"""Networks of images, small: their blocks as they are, their widths not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from torch_nets.subject import Subject

rand = torch.randn


def _unit(
    before: int,
    after: int,
    size: int = 3,
    stride: int = 1,
    groups: int = 1,
    act: nn.Module | None = None,
) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(inplace=True) if act is None else act,
    )


class AlexNet(nn.Module):
    """Large windows first, and overlapping pools."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 11, 4, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(8, 16, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(inplace=True),
        )  # fmt: skip
        self.classifier = nn.Sequential(
            nn.Dropout(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 10)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Classes of images."""
        return self.classifier(functional.adaptive_avg_pool2d(self.features(x), 1).flatten(1))


def _vgg(plan: Sequence[int | str]) -> nn.Sequential:
    layers: list[nn.Module] = []
    width = 3
    for each in plan:
        if isinstance(each, str):
            layers.append(nn.MaxPool2d(2, 2))
        else:
            layers += [nn.Conv2d(width, each, 3, padding=1), nn.ReLU(inplace=True)]
            width = each
    return nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(12), nn.ReLU(), nn.Linear(12, 5))


class Inception(nn.Module):
    """Four ways, joined."""

    def __init__(self, width: int, each: int) -> None:
        super().__init__()
        self.ways = nn.ModuleList(
            [
                _unit(width, each, 1),
                nn.Sequential(_unit(width, 3, 1), _unit(3, each)),
                nn.Sequential(_unit(width, 2, 1), _unit(2, each, 5)),
                nn.Sequential(nn.MaxPool2d(3, 1, 1), _unit(width, each, 1)),
            ]
        )

    def forward(self, x: Tensor) -> Tensor:
        """All ways, side by side."""
        return torch.cat([way(x) for way in self.ways], 1)


class Dense(nn.Module):
    """Each layer reads all before it."""

    def __init__(self, width: int, growth: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(width + i * growth),
                nn.ReLU(),
                nn.Conv2d(width + i * growth, growth, 3, padding=1, bias=False),
            )
            for i in range(layers)
        )

    def forward(self, x: Tensor) -> Tensor:
        """All that was computed, side by side."""
        found = [x]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1)))
        return torch.cat(found, 1)


class Inverted(nn.Module):
    """An inverted residual, with squeeze and excitation where asked for."""

    def __init__(self, width: int, after: int, stride: int, excite: bool) -> None:
        super().__init__()
        inner = width * 3
        self.same = stride == 1 and width == after
        self.before = nn.Sequential(
            _unit(width, inner, 1, act=nn.ReLU6()), _unit(inner, inner, 3, stride, inner, nn.SiLU())
        )
        self.squeeze = (
            nn.Sequential(
                nn.AdaptiveAvgPool2d(1),
                nn.Conv2d(inner, 2, 1),
                nn.SiLU(),
                nn.Conv2d(2, inner, 1),
                nn.Sigmoid(),
            )
            if excite
            else None
        )
        self.last = nn.Sequential(nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        """Wide inside."""
        y = self.before(x)
        if self.squeeze is not None:
            y = y * self.squeeze(y)
        y = self.last(y)
        return x + y if self.same else y


class Shuffled(nn.Module):
    """Grouped convolutions, and channels shuffled between them."""

    def __init__(self, width: int, groups: int) -> None:
        super().__init__()
        self.groups = groups
        self.first, self.second = (
            _unit(width, width, 1, groups=groups),
            _unit(width, width, 1, groups=groups),
        )

    def forward(self, x: Tensor) -> Tensor:
        """A residual."""
        b, c, h, w = self.first(x).shape
        y = (
            self.first(x)
            .view(b, self.groups, c // self.groups, h, w)
            .transpose(1, 2)
            .reshape(b, c, h, w)
        )
        return functional.relu(x + self.second(y))


class Bottleneck(nn.Module):
    """A residual block of three convolutions."""

    def __init__(self, width: int, inner: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        after = inner * 2
        self.way = nn.Sequential(
            _unit(width, inner, 1), _unit(inner, inner, 3, stride, groups),
            nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after),
        )  # fmt: skip
        self.down = (
            nn.Identity()
            if stride == 1 and width == after
            else nn.Sequential(
                nn.Conv2d(width, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        """What is added to the input, or to its shadow."""
        return functional.relu(self.way(x) + self.down(x))


class UNet(nn.Module):
    """Down, up, and what was kept beside it; a softmax in each block."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (
            self._block(3, 4),
            self._block(4, 8),
            self._block(12, 4),
        )
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)

    def _block(self, before: int, after: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.Softmax(dim=-1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """An image as large."""
        kept = self.first(x)
        return self.third(
            torch.cat((self.up(self.second(functional.max_pool2d(kept, 2))), kept), 1)
        )


class NetVLAD(nn.Module):
    """Descriptors summed by their soft cluster, with ghosts that are left out."""

    def __init__(self, clusters: int, ghosts: int, width: int) -> None:
        super().__init__()
        self.clusters, self.width = clusters, width
        self.towards = nn.Parameter(rand(width, clusters + ghosts))
        self.norm = nn.BatchNorm1d(clusters + ghosts)
        self.centres = nn.Parameter(rand(1, width, clusters))

    def forward(self, x: Tensor) -> Tensor:
        """[batch, descriptors, width] to [batch, clusters * width]."""
        of = torch.softmax(self.norm(x.reshape(-1, self.width) @ self.towards), 1)
        of = of[:, : self.clusters].view(-1, x.shape[1], self.clusters)
        found = (of.transpose(1, 2) @ x).transpose(1, 2) - of.sum(1, keepdim=True) * self.centres
        return functional.normalize(
            functional.normalize(found).reshape(-1, self.clusters * self.width)
        )


class ConvNeXt(nn.Module):
    """A wide depthwise convolution, then a perceptron over channels, scaled."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise, self.norm = (
            nn.Conv2d(width, width, 7, padding=3, groups=width),
            nn.LayerNorm(width),
        )
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        """A residual."""
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.gamma * self.narrow(functional.gelu(self.wide(y)))).permute(0, 3, 1, 2)


class Fire(nn.Module):
    """Squeezed, then widened two ways."""

    def __init__(self, width: int, inner: int, each: int) -> None:
        super().__init__()
        self.squeeze, self.one, self.three = (
            nn.Conv2d(width, inner, 1),
            nn.Conv2d(inner, each, 1),
            nn.Conv2d(inner, each, 3, padding=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Both ways."""
        y = functional.relu(self.squeeze(x))
        return torch.cat((functional.relu(self.one(y)), functional.relu(self.three(y))), 1)


def _ended(*layers: nn.Module, width: int) -> nn.Sequential:
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 5))


def _mobile(widths: Sequence[int]) -> nn.Sequential:
    layers = [_unit(3, widths[0], stride=2)]
    for before, after in pairwise(widths):
        layers += [_unit(before, before, 3, 2, before), _unit(before, after, 1)]
    return _ended(*layers, width=widths[-1])


def subjects() -> list[Subject]:
    """Whole networks, and blocks of them."""
    image = rand(2, 3, 33, 35)
    nets: dict[str, tuple[nn.Module, Tensor]] = {
        "AlexNet": (AlexNet(), rand(2, 3, 79, 83)),
        "VGG": (_vgg([4, 4, "M", 8, 8, "M", 8]), rand(2, 3, 16, 20)),
        "Inception": (
            _ended(_unit(3, 8, 7, 2), Inception(8, 4), Inception(16, 3), width=12),
            image,
        ),
        "DenseNet": (
            _ended(nn.Conv2d(3, 8, 3), Dense(8, 4, 5), nn.AvgPool2d(2), Dense(28, 4, 5), width=48),
            image,
        ),
        "SqueezeNet": (
            _ended(
                nn.Conv2d(3, 8, 7, 2),
                nn.MaxPool2d(3, 2, ceil_mode=True),
                Fire(8, 3, 6),
                Fire(12, 3, 6),
                width=12,
            ),
            image,
        ),
        "MobileNet": (_mobile([4, 8, 12, 16]), image),
        "MobileNet 2": (
            _ended(_unit(3, 4, 3, 2), Inverted(4, 4, 1, False), Inverted(4, 6, 2, False), width=6),
            image,
        ),
        "EfficientNet": (
            _ended(_unit(3, 4, 3, 2), Inverted(4, 4, 1, True), Inverted(4, 6, 2, True), width=6),
            image,
        ),
        "ShuffleNet": (
            _ended(_unit(3, 12, 3, 2), Shuffled(12, 3), Shuffled(12, 2), width=12),
            image,
        ),
        "ResNet of bottlenecks": (
            _ended(_unit(3, 8, 7, 2), Bottleneck(8, 6), Bottleneck(12, 8, 2), width=16),
            image,
        ),
        "ResNeXt": (
            _ended(_unit(3, 8, 3, 2), Bottleneck(8, 6, 2, 3), Bottleneck(12, 6, 1, 3), width=12),
            image,
        ),
        "U-Net with softmax": (UNet(), rand(2, 3, 16, 24)),
        "NetVLAD": (NetVLAD(5, 0, 8), rand(3, 9, 8)),
        "NetVLAD with ghosts": (NetVLAD(5, 2, 8), rand(3, 9, 8)),
        "ConvNeXt": (_ended(nn.Conv2d(3, 8, 4, 4), ConvNeXt(8), ConvNeXt(8), width=8), image),
    }
    found = []
    for name, (net, x) in nets.items():
        net(x)  # Lazy layers take their shapes, batch norms their means.
        found.append(Subject(name, net.eval(), (x,)))
    return found


SUBJECTS = subjects()
