"""Models of sequences: attention, recurrences and scans."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Attention to earlier elements; several heads of queries may share one of keys."""

    def __init__(self, width: int, heads: int, shared: int = 1) -> None:
        super().__init__()
        self.heads, self.key_heads, self.size = heads, heads // shared, width // heads
        self.packed = nn.Linear(width, (heads + 2 * self.key_heads) * self.size)
        self.joined = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        """The results for a batch."""
        batch, length, width = x.shape
        counts = [self.heads, self.key_heads, self.key_heads]
        parts = self.packed(x).view(batch, length, -1, self.size).split(counts, 2)
        query, key, value = (part.transpose(1, 2) for part in parts)
        attended = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=self.heads != self.key_heads
        )
        return self.joined(attended.transpose(1, 2).reshape(batch, length, width))


class Decoder(nn.Module):
    """A layer of GPT-2's kind (Radford and others, 2019): norms first, GELU between."""

    def __init__(self, width: int = 512, heads: int = 8) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = Attention(width, heads)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        """The results for a batch."""
        x = x + self.attention(self.norms[0](x))
        return x + self.narrow(functional.gelu(self.wide(self.norms[1](x))))


class Transformer(nn.Module):
    """Embeddings of words and places, decoder layers, and scores of words."""

    def __init__(
        self, layers: int = 4, width: int = 512, heads: int = 8, words: int = 4096
    ) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(1024, width)
        self.layers = nn.Sequential(*(Decoder(width, heads) for _ in range(layers)))
        self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: Any) -> Any:
        """The results for a batch."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.last(self.norm(self.layers(self.words(tokens) + self.places(positions))))


class AttentionVariants(nn.Module):
    """Heads of their own, grouped heads, one head of keys, and a window with a slope of biases."""

    def __init__(self, width: int = 512, heads: int = 8) -> None:
        super().__init__()
        self.causal = nn.ModuleList([Attention(width, heads, shared) for shared in (1, 4, heads)])
        self.heads, self.packed = heads, nn.Linear(width, 3 * width)

    def forward(self, x: Any) -> Any:
        """The results for a batch."""
        for attention in self.causal:
            x = x + attention(x)
        return x + self._windowed(x)

    def _windowed(self, x: Any, reach: int = 64) -> Any:
        """ALiBi (Press and others, 2021) within a window around each place."""
        batch, length, width = x.shape
        packed = self.packed(x).view(batch, length, 3, self.heads, -1)
        query, key, value = (part.transpose(1, 2) for part in packed.unbind(2))
        positions = torch.arange(length, device=x.device)
        distance = (positions - positions.unsqueeze(-1)).abs()
        slopes = 2.0 ** -torch.arange(1, self.heads + 1, device=x.device)
        bias = -slopes.view(-1, 1, 1) * distance
        bias = bias.masked_fill(distance > reach, -torch.inf)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        return attended.transpose(1, 2).reshape(batch, length, width)


class MinimalGRU(nn.Module):
    """A gated recurrence as a scan in logarithms (Feng and others, 2024)."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.gate, self.candidate = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        """The results for a batch."""
        gate, candidate = self.gate(x), self.candidate(x)
        log_decay = -functional.softplus(gate).cumsum(1)
        positive = torch.where(candidate >= 0, candidate + 0.5, candidate.sigmoid())
        new = -functional.softplus(-gate) + positive.log()
        return torch.exp(log_decay + torch.logcumsumexp(new - log_decay, 1))


def perceptron(width: int = 1024) -> nn.Sequential:
    """A multi-layer perceptron."""
    return nn.Sequential(
        nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width), nn.GELU(),
        nn.Linear(width, 1000), nn.LogSoftmax(-1),
    )  # fmt: skip
