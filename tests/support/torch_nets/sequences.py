"""Networks of sequences: recurrent and attentive."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from torch_nets.subject import Subject, of

rand, ints = torch.randn, torch.randint


class Recurrent(nn.Module):
    """A recurrent layer, and what of its results is asked for."""

    def __init__(self, layer: nn.Module, wanted: str) -> None:
        super().__init__()
        self.layer, self.wanted = layer, wanted
        self.last = nn.Linear(layer.hidden_size * (2 if layer.bidirectional else 1), 3)

    def forward(self, x: Tensor, *state: Tensor) -> Any:
        """All steps, a linear layer of the last step, or the state."""
        given = () if not state else (state[0] if len(state) == 1 else state,)
        steps, last = self.layer(x, *given)
        if self.wanted == "linear":
            return self.last(steps[:, -1] if self.layer.batch_first else steps[-1])
        return {"steps": steps, "state": last, "cell": last[-1]}[self.wanted]


class Cells(nn.Module):
    """Steps written in Python, by a cell."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor) -> Tensor:
        """The state after each step."""
        state: Any = None
        found = []
        for step in x.unbind(1):
            state = self.cell(step, state)
            found.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(found, 1)


class Attention(nn.Module):
    """Heads of attention, written out; causal, by ReLU, with rotated positions, as asked for."""

    def __init__(self, width: int, heads: int, kind: str, groups: int | None = None) -> None:
        super().__init__()
        self.heads, self.kind, self.each = heads, kind, width // heads
        self.groups = groups or heads
        self.queries = nn.Linear(width, width)
        self.keys, self.values = (nn.Linear(width, self.groups * self.each) for _ in range(2))
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64))[None, None])

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.view(x.shape[0], x.shape[1], heads, self.each).transpose(1, 2)

    def _rotated(self, x: Tensor) -> Tensor:
        half = self.each // 2
        angles = torch.outer(
            torch.arange(x.shape[2]).float(), 10000.0 ** (-torch.arange(half) / half)
        )
        a, b = x[..., :half], x[..., half:]
        return torch.cat(
            (a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1
        )

    def forward(self, x: Tensor) -> Tensor:
        """[batch, steps, width], as it came."""
        b, t, c = x.shape
        q = self._split(self.queries(x), self.heads)
        k, v = self._split(self.keys(x), self.groups), self._split(self.values(x), self.groups)
        if self.kind == "rotated":
            q, k = self._rotated(q), self._rotated(k)
        if self.groups != self.heads:
            k, v = (each.repeat_interleave(self.heads // self.groups, 1) for each in (k, v))
        scores = q @ k.transpose(-2, -1) * self.each**-0.5
        if self.kind != "full":
            scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        weights = functional.relu(scores) if self.kind == "relu" else functional.softmax(scores, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, t, c))


class NewGELU(nn.Module):
    """GELU by tanh, written out."""

    def forward(self, x: Tensor) -> Tensor:
        """Of each element."""
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0))))


class Block(nn.Module):
    """A layer of a transformer, its norms first."""

    def __init__(
        self, width: int, heads: int, kind: str = "causal", groups: int | None = None
    ) -> None:
        super().__init__()
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, kind, groups)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 4 * width), NewGELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """A residual twice."""
        x = x + self.attention(self.one(x))
        return x + self.perceptron(self.two(x))


class VisionTransformer(nn.Module):
    """Patches of an image, a class token, and layers."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.patches = nn.Linear(3 * 16, 16)
        self.token, self.positions = nn.Parameter(rand(1, 1, 16)), nn.Parameter(rand(1, 31, 16))
        self.layers = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), layers
        )
        self.last = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        """Classes of images."""
        patches = x.unfold(2, 4, 4).unfold(3, 4, 4).reshape(x.shape[0], -1, 48)
        y = torch.cat((self.token.expand(x.shape[0], -1, -1), self.patches(patches)), 1)
        return self.last(self.layers(y + self.positions[:, : y.shape[1]])[:, 0])


class ShiftedWindows(nn.Module):
    """Windows of an image, shifted, each a perceptron over its places (as of Swin MLP)."""

    def __init__(self, width: int, window: int, shift: int) -> None:
        super().__init__()
        self.window, self.shift = window, shift
        self.norm = nn.LayerNorm(width)
        self.places = nn.Conv1d(2 * window**2, 2 * window**2, 1, groups=2)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, rows, columns, width], as it came."""
        b, h, w, c = x.shape
        s = self.window
        y = torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2))
        y = (
            y.view(b, h // s, s, w // s, s, c)
            .permute(0, 1, 3, 2, 4, 5)
            .reshape(-1, s * s, 2, c // 2)
        )
        y = self.places(y.transpose(1, 2).reshape(-1, 2 * s * s, c // 2))
        y = y.view(-1, 2, s * s, c // 2).transpose(1, 2).reshape(b, h // s, w // s, s, s, c)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        return x + torch.roll(y, (self.shift, self.shift), (1, 2))


class Tokens(nn.Module):
    """A small GPT: embeddings, layers, and a head that shares the embedding."""

    def __init__(self, layers: int, **kind: Any) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(29, 16), nn.Embedding(64, 16)
        self.layers = nn.Sequential(*(Block(16, 4, **kind) for _ in range(layers)))
        self.norm = nn.LayerNorm(16)

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores of each next token."""
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.norm(self.layers(x)) @ self.tokens.weight.T


def _recurrent() -> list[Subject]:
    x = rand(3, 9, 5)
    two = rand(2, 3, 7), rand(2, 3, 7)
    rows = {"batch_first": True}
    return [
        of("LSTM, two layers, all steps", Recurrent(nn.LSTM(5, 7, 2, **rows), "steps"), x, *two),
        of("LSTM, last step", Recurrent(nn.LSTM(5, 7, 2, **rows), "linear"), x),
        of("LSTM, hidden state", Recurrent(nn.LSTM(5, 7, 2, **rows), "state"), x),
        of("LSTM, cell state", Recurrent(nn.LSTM(5, 7, 2, **rows), "cell"), x),
        of("LSTM, both ways", Recurrent(nn.LSTM(5, 7, 2, bidirectional=True, **rows), "linear"), x),
        of("LSTM, projected", Recurrent(nn.LSTM(5, 7, proj_size=4, **rows), "steps"), x),
        of(
            "GRU, hidden state",
            Recurrent(nn.GRU(5, 7, 2), "state"),
            x.transpose(0, 1),
            two[0],
            batch=False,
        ),
        of(
            "GRU, both ways",
            Recurrent(nn.GRU(5, 7, 2, bidirectional=True), "steps"),
            x,
            batch=False,
        ),
        of("GRU, without biases", Recurrent(nn.GRU(5, 7, bias=False, **rows), "steps"), x),
        of("RNN, ReLU", Recurrent(nn.RNN(5, 7, nonlinearity="relu", **rows), "steps"), x),
        of("LSTM, no batch", Recurrent(nn.LSTM(5, 7), "steps"), x[0], batch=False),
        of("LSTM cell", Cells(nn.LSTMCell(5, 7)), x),
        of("GRU cell", Cells(nn.GRUCell(5, 7)), x),
        of("RNN by hand", nn.Sequential(Cells(nn.RNNCell(5, 7)), nn.Linear(7, 2)), x),
    ]


def _attentive() -> list[Subject]:
    x = rand(3, 11, 16)
    encoder = nn.TransformerEncoderLayer(
        16, 4, 32, batch_first=True, norm_first=True, activation="gelu"
    )
    return [
        of("causal attention", Attention(16, 4, "causal"), x),
        of("ReLU attention", Attention(16, 4, "relu"), x),
        of("grouped queries", Attention(16, 4, "full", 2), x),
        of("rotated positions", Attention(16, 2, "rotated"), x),
        of("block of a GPT", Block(16, 4), x),
        of("GPT", Tokens(3), ints(0, 29, (2, 13))),
        of("GPT of one query group", Tokens(2, groups=1, kind="rotated"), ints(0, 29, (2, 13))),
        of("encoder", nn.TransformerEncoder(encoder, 2, enable_nested_tensor=False), x),
        of(
            "decoder with memory",
            nn.TransformerDecoderLayer(16, 2, 32, batch_first=True),
            x,
            rand(3, 7, 16),
        ),
        of(
            "multi-head attention, its weights",
            nn.MultiheadAttention(16, 4, batch_first=True),
            x,
            rand(3, 7, 16),
            rand(3, 7, 16),
        ),
        of("vision transformer", VisionTransformer(2), rand(2, 3, 16, 20)),
        of(
            "shifted windows",
            nn.Sequential(ShiftedWindows(8, 4, 0), ShiftedWindows(8, 4, 2)),
            rand(2, 8, 12, 8),
        ),
        of("attention of bf16", Attention(16, 4, "full").bfloat16(), x.bfloat16()),
        of(
            "additive attention",
            lambda q, k, v, w: torch.softmax(torch.tanh(q[:, :, None] + k[:, None]) @ w, 2) @ v,
            x,
            rand(3, 7, 16),
            rand(3, 7, 5),
            rand(16),
        ),
    ]


SUBJECTS = [*_recurrent(), *_attentive()]
