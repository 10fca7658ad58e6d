"""Networks that choose, pass on and attend: codebooks, graphs, windows, computed weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from torch_nets.subject import of

rand = torch.randn


class _Codebook(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Embedding(16, 6)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        nearest = torch.cdist(x, self.codes.weight).argmin(-1)
        return x + (self.codes(nearest) - x), nearest


class _ChosenExperts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.weights = nn.Linear(8, 4), nn.Parameter(rand(4, 8, 6))

    def forward(self, x: Tensor) -> Tensor:
        share, chosen = self.gate(x).softmax(-1).topk(2, -1)
        every = torch.einsum("bd,edf->bef", x, self.weights)
        found = every.gather(1, chosen[..., None].expand(-1, -1, 6))
        return (found * share[..., None]).sum(1)


class _AttentionOfGraphs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features, self.score = nn.Linear(6, 8), nn.Linear(16, 1)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.features(x)
        n = h.shape[0]
        pairs = torch.cat([h[:, None].expand(n, n, 8), h[None].expand(n, n, 8)], -1)
        scores = functional.leaky_relu(self.score(pairs).squeeze(-1))
        return functional.elu(scores.masked_fill(edges == 0, -1e9).softmax(-1) @ h)


class _ShiftedWindows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.roll(x, (-2, -2), (1, 2))
        batch, h, w, c = x.shape
        parts = x.view(batch, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5)
        q, k, v = self.project(parts.reshape(-1, 16, c)).chunk(3, -1)
        found = functional.softmax(q @ k.mT / c**0.5, -1) @ v
        found = found.view(batch, h // 4, w // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5)
        return found.reshape(batch, h, w, c)


class _Partition(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.Parameter(rand(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        state = x[:, 0]
        for place in range(1, x.shape[1]):
            state = torch.logsumexp(state[:, :, None] + self.steps, 1) + x[:, place]
        return torch.logsumexp(state, 1)


class _ComputedFilters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.filters = nn.Linear(3, 4 * 27)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        return functional.conv2d(x, self.filters(z).view(4, 3, 3, 3), padding=1)


class _Latents(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.latents, self.norm = nn.Parameter(rand(3, 8)), nn.LayerNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        queries = self.latents.expand(x.shape[0], -1, -1)
        return self.norm(queries + self.attention(queries, x, x)[0])


def _messages(x: Tensor, source: Tensor, target: Tensor) -> Tensor:
    counts = torch.zeros(x.shape[0]).scatter_add(0, target, torch.ones(target.shape[0]))
    return torch.zeros_like(x).index_add(0, target, x[source]) / counts.clamp(min=1)[:, None]


def _rotated(x: Tensor) -> Tensor:
    steps, width = x.shape[-2:]
    speeds = 1 / 10000 ** (torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(steps).float(), speeds)
    a, b = x[..., ::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def _unfolded(x: Tensor) -> Any:
    return functional.fold(functional.unfold(x, 3, padding=1) ** 2, (6, 6), 3, padding=1)


_nodes = torch.tensor([0, 1, 2, 5]), torch.tensor([1, 1, 3, 0])

SUBJECTS = [
    of("codebook", _Codebook(), rand(2, 7, 6)),
    of("chosen experts", _ChosenExperts(), rand(5, 8)),
    of("attention of a graph", _AttentionOfGraphs(), rand(6, 6), torch.eye(6).int(), batch=False),
    of("messages of a graph", _messages, rand(6, 4), *_nodes, batch=False),
    of("windows of a rolled image", _ShiftedWindows(), rand(2, 8, 8, 8)),
    of("partition function", _Partition(), rand(2, 5, 4)),
    of("computed filters", _ComputedFilters(), rand(1, 3, 6, 6), rand(3), batch=False),
    of("latents", _Latents(), rand(2, 9, 8)),
    of("rotated pairs", _rotated, rand(2, 3, 5, 8)),
    of("unfolded and folded", _unfolded, rand(2, 2, 6, 6)),
]
