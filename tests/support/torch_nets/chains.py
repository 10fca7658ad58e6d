"""Models of one op with weights, and what is done to its results: chains that want fusing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from torch_nets.subject import Subject

rand = torch.randn


class Chain(nn.Module):
    """A layer, then a function of what it gives, of a parameter, and of the layer that follows."""

    def __init__(
        self,
        first: nn.Module,
        after: Callable[..., Any],
        parameter: tuple[int, ...] = (),
        then: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.first, self.after = first, after
        self.parameter = nn.Parameter(rand(parameter))
        self.then = nn.Identity() if then is None else then

    def forward(self, x: Tensor) -> Any:
        """The chain."""
        return self.after(self.first(x), self.parameter, self.then)


def _conv(*arguments: Any, **keywords: Any) -> nn.Module:
    return nn.Conv2d(*arguments, **keywords)


def _up(*arguments: Any, **keywords: Any) -> nn.Module:
    return nn.ConvTranspose2d(*arguments, **keywords)


def _chains() -> dict[str, tuple[Chain, tuple[int, ...]]]:
    f = functional
    image, volume, rows = (2, 3, 11, 13), (1, 3, 6, 8, 7), (7, 20)
    return {
        "conv, relu, bias": (
            Chain(_conv(3, 8, 3), lambda y, p, _: torch.relu(y) + p, (8, 1, 1)),
            image,
        ),
        "conv, two mish": (Chain(_conv(3, 8, 3), lambda y, p, _: f.mish(f.mish(y - 0.5))), image),
        "conv, divide, leaky relu": (
            Chain(_conv(3, 8, 3), lambda y, p, _: f.leaky_relu(y / 2, 0.01)),
            image,
        ),
        "conv, norm, scaled": (
            Chain(_conv(3, 8, 3), lambda y, p, norm: norm(y) * 2, then=nn.InstanceNorm2d(8)),
            image,
        ),
        "conv, min, tanh, tanh": (
            Chain(
                _conv(3, 8, 3), lambda y, p, _: torch.tanh(torch.tanh(y.min(1, keepdim=True)[0]))
            ),
            image,
        ),
        "conv, pool, sigmoid, sum": (
            Chain(_conv(3, 8, 3), lambda y, p, _: f.avg_pool2d(y, 4).sigmoid().sum((1, 2, 3))),
            image,
        ),
        "conv, hard swish, relu": (
            Chain(_conv(3, 8, 3), lambda y, p, _: f.relu(f.hardswish(y))),
            image,
        ),
        "conv, gelu, pooled": (
            Chain(_conv(3, 8, 3), lambda y, p, _: f.adaptive_avg_pool2d(f.gelu(y), 1).flatten(1)),
            image,
        ),
        "conv, norm, scale, pool, clamp": (
            Chain(
                _conv(3, 8, 3),
                lambda y, p, norm: f.max_pool2d(norm(y) * p, 2).clamp(0, 1),
                (8, 1, 1),
                nn.GroupNorm(4, 8),
            ),
            image,
        ),
        "conv, tanh, scale, bias, pool": (
            Chain(
                _conv(3, 8, 3), lambda y, p, _: f.max_pool2d(torch.tanh(y) * 2 + p, 2), (8, 1, 1)
            ),
            image,
        ),
        "up, softmax, bias, scale, sigmoid": (
            Chain(
                _up(3, 8, 4, 2, 1, 1),
                lambda y, p, _: (torch.softmax(y, 1) + p).mul(2).sigmoid(),
                (8, 1, 1),
            ),
            image,
        ),
        "up, min, sum, gelu, add": (
            Chain(
                _up(3, 8, 3, 2, 1, 1),
                lambda y, p, _: f.gelu(y.min(1, keepdim=True)[0].sum(2, keepdim=True)) + p,
                (1, 1, 1),
            ),
            image,
        ),
        "up, bias, clamp, scale, clamp, divide": (
            Chain(
                _up(3, 8, 3, 2, 1, 1),
                lambda y, p, _: ((y + p).clamp(0, 1) * 2).clamp(0, 1) / 2,
                (8, 1, 1),
            ),
            image,
        ),
        "up, mish, add, hard tanh, scale": (
            Chain(_up(3, 8, 4, 2), lambda y, p, _: f.hardtanh(f.mish(y) + 0.5, -1, 1) * 2),
            image,
        ),
        "up, global mean, log-sum-exp, sum": (
            Chain(
                _up(3, 8, 3),
                lambda y, p, _: (
                    torch.logsumexp(y.mean((2, 3), keepdim=True) + p, 1).sum((1, 2)) * 10
                ),
                (8, 1, 1),
            ),
            image,
        ),
        "up, subtract, tanh": (
            Chain(_up(3, 8, 4, 2, 1, 1), lambda y, p, _: torch.tanh(y - p), (8, 1, 1)),
            image,
        ),
        "up, norm, tanh, pool, norm": (
            Chain(
                _up(3, 8, 5, padding=1),
                lambda y, p, norm: norm(f.max_pool2d(torch.tanh(y), 2)),
                then=nn.GroupNorm(2, 8),
            ),
            image,
        ),
        "3d conv, norm, min, clamp, dropout": (
            Chain(
                nn.Conv3d(3, 8, 3),
                lambda y, p, norm: f.dropout(
                    norm(y).min(torch.tensor(0.0)).clamp(0, 1), 0.2, False
                ),
                then=nn.GroupNorm(4, 8),
            ),
            volume,
        ),
        "3d conv, softmax of the mean": (
            Chain(nn.Conv3d(3, 8, 3), lambda y, p, _: torch.softmax(y.mean(2), 1)),
            volume,
        ),
        "3d conv, four activations, bias": (
            Chain(
                nn.Conv3d(3, 8, 3),
                lambda y, p, _: torch.sigmoid(f.gelu(f.leaky_relu(torch.relu(y)))) + p,
                (8, 1, 1, 1),
            ),
            volume,
        ),
        "3d conv, scale, tanh, product, sigmoid": (
            Chain(
                nn.Conv3d(3, 8, 3),
                lambda y, p, _: torch.sigmoid(torch.tanh(y * p) * p),
                (8, 1, 1, 1),
            ),
            volume,
        ),
        "3d conv, divide, max, mean, bias, sum": (
            Chain(
                nn.Conv3d(3, 8, 3),
                lambda y, p, _: (f.adaptive_avg_pool3d(f.max_pool3d(y / 2, 2), 1) + p).sum(1),
                (8, 1, 1, 1),
            ),
            volume,
        ),
        "3d up, norm, mean": (
            Chain(
                nn.ConvTranspose3d(3, 8, 3, 2, 1),
                lambda y, p, norm: norm(y) - y.mean((2, 3, 4), keepdim=True),
                then=nn.BatchNorm3d(8),
            ),
            volume,
        ),
        "3d up, swish, norm, hard swish": (
            Chain(
                nn.ConvTranspose3d(3, 8, 3, 2, 1),
                lambda y, p, norm: f.hardswish(norm(torch.sigmoid(y) * y)),
                then=nn.GroupNorm(4, 8),
            ),
            volume,
        ),
        "3d up, pool, pool, sum": (
            Chain(
                nn.ConvTranspose3d(3, 8, 5, 2, 2),
                lambda y, p, _: f.max_pool3d(f.max_pool3d(y, 2), 3).sum(1, keepdim=True),
            ),
            volume,
        ),
        "3d up, residuals": (
            Chain(
                nn.ConvTranspose3d(3, 8, 3, 2, 1, 1),
                lambda y, p, _: ((y + p) + y.detach()) * y + y,
                (8, 1, 1, 1),
            ),
            volume,
        ),
        "3d up, clamp, softmax over space": (
            Chain(
                nn.ConvTranspose3d(3, 8, 3, 2, 1, 1),
                lambda y, p, _: (
                    torch.softmax(f.avg_pool3d(y, 2).clamp(0, 1).flatten(2), 2).view(1, 8, 6, 8, 7)
                    * p
                ),
                (8, 1, 1, 1),
            ),
            volume,
        ),
        "linear, swish, bias, norm": (
            Chain(
                nn.Linear(20, 12),
                lambda y, p, norm: norm(y.sigmoid() * y + p),
                (12,),
                nn.GroupNorm(4, 12),
            ),
            rows,
        ),
        "linear, norm, bias, divide, swish": (
            Chain(
                nn.Linear(20, 12),
                lambda y, p, norm: (lambda z: z * z.sigmoid())((norm(y) + p) / 1.5),
                (1,),
                nn.BatchNorm1d(12),
            ),
            rows,
        ),
        "linear, subtract, pool, log-sum-exp, residual": (
            Chain(
                nn.Linear(20, 20),
                lambda y, p, _: (
                    f.gelu(torch.logsumexp((y - p).mean(1, keepdim=True), 1, keepdim=True)) + y
                ),
                (20,),
            ),
            rows,
        ),
        "linear, max, subtract, gelu": (
            Chain(
                nn.Linear(20, 12),
                lambda y, p, _: f.gelu(y.max(1, keepdim=True).values - y.mean(1, keepdim=True)),
            ),
            rows,
        ),
        "linear, sigmoid, sum, log-sum-exp": (
            Chain(
                nn.Linear(20, 12),
                lambda y, p, last: torch.logsumexp(last(y.sigmoid()), 1),
                then=nn.Linear(12, 5),
            ),
            rows,
        ),
        "linear, pool, scale": (
            Chain(
                nn.Linear(20, 12),
                lambda y, p, _: f.max_pool1d(y.unsqueeze(1), 3).squeeze(1).sum(1) * 0.5,
            ),
            rows,
        ),
        "linear, min with a constant, subtract": (
            Chain(nn.Linear(20, 12), lambda y, p, _: torch.min(y, p) - p, ()),
            rows,
        ),
        "linear, mish of mish": (Chain(nn.Linear(20, 12), lambda y, p, _: f.mish(f.mish(y))), rows),
        "linear, leaky relu, itself": (
            Chain(
                nn.Linear(20, 12),
                lambda y, p, norm: (lambda z: z + z)(f.leaky_relu(norm(y), 0.01)),
                then=nn.GroupNorm(3, 12),
            ),
            rows,
        ),
        "linear, gelu, softmax": (
            Chain(nn.Linear(20, 12), lambda y, p, _: torch.softmax(f.gelu(y), 1)),
            rows,
        ),
        "linear, hard tanh, norm": (
            Chain(
                nn.Linear(20, 12),
                lambda y, p, norm: norm(f.hardtanh(y * 0.5, -2, 2)),
                then=nn.LayerNorm(12),
            ),
            rows,
        ),
    }


SUBJECTS = [
    Subject(name, chain.eval(), (rand(shape),)) for name, (chain, shape) in _chains().items()
]
