"""Small models of PyTorch, one of each family, with inputs. Made when asked for: torch may lack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Example = tuple[Any, tuple[Any, ...]]


class Function(nn.Module):
    """A function as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


class LeNet(nn.Module):
    """Convolutions, pools and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 5, padding=2), nn.Conv2d(4, 8, 5)
        self.last = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        x = functional.max_pool2d(functional.relu(self.first(x)), 2)
        x = functional.max_pool2d(functional.relu(self.second(x)), 2)
        return self.last(x.flatten(1))


class Residual(nn.Module):
    """The block of a ResNet that halves its image."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(4, 6, 1, 2, bias=False), nn.BatchNorm2d(6))
        self.first, self.norm = nn.Conv2d(4, 6, 3, 2, 1, bias=False), nn.BatchNorm2d(6)
        self.second = nn.Conv2d(6, 6, 3, 1, 1)

    def forward(self, x: Any) -> Any:
        inner = self.second(functional.relu(self.norm(self.first(x))))
        return functional.adaptive_avg_pool2d(functional.relu(inner + self.down(x)), 1)


class UNetBlock(nn.Module):
    """Down, up, and what was kept beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(2, 4, 3, padding=1)
        self.up = nn.ConvTranspose2d(4, 3, 2, stride=2)

    def forward(self, x: Any) -> Any:
        kept = functional.max_pool2d(functional.relu(self.down(x)), 2)
        wide = functional.interpolate(kept, scale_factor=2, mode="bilinear")
        return torch.cat([self.up(kept), wide], 1)


class Causal(nn.Module):
    """Attention to what came before."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.packed = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        packed = self.packed(self.norm(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = (each.transpose(1, 2) for each in packed.unbind(2))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.joined(seen.transpose(1, 2).reshape(batch, length, width))


class Tokens(nn.Module):
    """Embeddings and two layers of attention, which share what they can."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(20, 16), nn.Embedding(8, 16)
        self.layers = nn.Sequential(Causal(), Causal())

    def forward(self, tokens: Any) -> Any:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.layers(self.words(tokens) + self.places(places))


class Spectrum(nn.Module):
    """With an op in its middle that does not come through."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        singular = torch.linalg.svdvals(self.first(x).relu())
        return self.last(self.first(x).tanh()) + singular.sum()


def _mlp() -> Example:
    layers = nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 5), nn.Softmax(-1)
    return nn.Sequential(*layers), (torch.randn(4, 8),)


def _depthwise() -> Example:
    layers = nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.BatchNorm2d(4), nn.Hardswish()
    return nn.Sequential(*layers, nn.Conv2d(4, 6, 1)), (torch.randn(1, 4, 6, 6),)


def _group_norm() -> Example:
    layers = nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.SiLU()
    return nn.Sequential(*layers), (torch.randn(2, 2, 6, 6),)


def _decoder() -> Example:
    layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    return layer, (torch.randn(1, 3, 8), torch.randn(1, 4, 8))


def _masked_attention() -> Example:
    seen = torch.tensor([[True, False, True], [False, False, False]])  # the second sees nothing
    q, k = torch.randn(1, 2, 2, 4), torch.randn(1, 2, 3, 4)
    attention = functional.scaled_dot_product_attention
    return Function(lambda q, k, v, m: attention(q, k, v, m)), (q, k, k.clone(), seen)


def _cumulative() -> Example:
    def function(x: Any) -> Any:
        return x.cumsum(1), x.cumprod(0), x.cummax(1), x.cummin(0), x.logcumsumexp(1)

    return Function(function), (torch.randn(3, 5),)


def _sorted() -> Example:
    def function(x: Any) -> Any:
        ways = x.sort(1), x.argsort(0, descending=True), x.topk(2, 1), x.kthvalue(2, 1)
        return ways, x.median(1), torch.searchsorted(x.sort(1).values, x)

    return Function(function), (torch.randperm(21).reshape(3, 7).float(),)


def _indexed() -> Example:
    def function(x: Any, at: Any, new: Any) -> Any:
        added = x.scatter_add(1, at, new), x.scatter_reduce(1, at, new, "amax")
        rows = x.index_add(0, at[0], new), x.index_put((at[:, 0],), new.sum())
        return *added, *rows, x.gather(1, at), x[at[0]], torch.bincount(at[0])

    at = torch.tensor([[2, 0, 2], [1, 1, 0], [0, 2, 1]])
    return Function(function), (torch.randn(3, 3), at, torch.randn(3, 3))


def _extrema() -> Example:
    def function(x: Any) -> Any:
        return x.argmax(1), x.argmin(0), x.max(1), x.amin(), x.var(1), x.std(0, keepdim=True)

    return Function(function), (torch.randn(3, 4),)


def _elements() -> Example:
    def function(x: Any, y: Any) -> Any:
        found = torch.hypot(x, y), torch.isfinite(x), torch.cdist(x, y), torch.atan2(x, y)
        return (
            *found,
            torch.remainder(x, y),
            torch.erf(x),
            x.clamp(0, 200).to(torch.uint8),
            x.clamp(-9, 9).int() // 2,
        )

    given = torch.tensor([[0.5, 2.0], [float("inf"), 3.0]])
    return Function(function), (given.abs(), torch.randn(2, 2))


def _narrow() -> Example:
    return nn.Linear(4, 3).bfloat16(), (torch.randn(2, 4).bfloat16(),)


MODELS: dict[str, Callable[[], Example]] = {
    "attention with a mask": _masked_attention,
    "bfloat16": _narrow,
    "cumulative": _cumulative,
    "decoder layer": _decoder,
    "depthwise": _depthwise,
    "elements": _elements,
    "extrema": _extrema,
    "group norm": _group_norm,
    "indexed": _indexed,
    "lenet": lambda: (LeNet(), (torch.randn(2, 1, 14, 14),)),
    "lstm": lambda: (nn.LSTM(4, 6, batch_first=True), (torch.randn(2, 3, 4),)),
    "mlp": _mlp,
    "residual": lambda: (Residual(), (torch.randn(1, 4, 8, 8),)),
    "sorted": _sorted,
    "tokens": lambda: (Tokens(), (torch.randint(0, 20, (2, 6)),)),
    "unet": lambda: (UNetBlock(), (torch.randn(1, 2, 6, 6),)),
}
"""A model in evaluation mode or not, and the arguments of a call, by family."""
