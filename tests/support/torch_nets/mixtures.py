"""Networks that mix steps or channels otherwise: by scans, latents, experts, spectra."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from torch_nets.subject import Subject, of

rand, ints = torch.randn, torch.randint


class Selective(nn.Module):
    """A selective scan, step by step (as of Mamba), behind a causal convolution."""

    def __init__(self, width: int, states: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(width, width, 4, padding=3, groups=width)
        self.log_a = nn.Parameter(torch.log(torch.arange(1.0, states + 1)).repeat(width, 1))
        self.project, self.gate = nn.Linear(width, 2 * states + width), nn.Linear(width, width)
        self.states = states

    def forward(self, x: Tensor) -> Tensor:
        """[batch, steps, width], as it came."""
        u = functional.silu(self.conv(x.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        b, c, delta = self.project(u).split([self.states, self.states, x.shape[2]], -1)
        delta = functional.softplus(delta)
        a = torch.exp(delta.unsqueeze(-1) * -torch.exp(self.log_a))
        state = torch.zeros_like(a[:, 0])
        found = []
        for t in range(x.shape[1]):
            state = a[:, t] * state + (delta[:, t] * u[:, t]).unsqueeze(-1) * b[:, t].unsqueeze(1)
            found.append((state * c[:, t].unsqueeze(1)).sum(-1))
        return torch.stack(found, 1) * functional.silu(self.gate(x))


def _segment_sums(x: Tensor) -> Tensor:
    """Sums of x over (j, i], -inf above the diagonal."""
    sums = torch.cumsum(x, -1)
    found = sums[..., :, None] - sums[..., None, :]
    return found.masked_fill(
        ~torch.ones(x.shape[-1], x.shape[-1], dtype=torch.bool).tril(), -torch.inf
    )


def _chunked_scan(x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """A state-space model in chunks of 4 (as of Mamba 2).

    Shapes: x is [b, t, h, p], the decays a are [b, t, h], b and c are [b, t, h, n].
    """
    x, a, b, c = (each.unflatten(1, (-1, 4)) for each in (x, a, b, c))
    a = a.permute(0, 3, 1, 2)
    sums = torch.cumsum(a, -1)
    inside = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", c, b, torch.exp(_segment_sums(a)), x)
    states = torch.einsum("bclhn,bhcl,bclhp->bchpn", b, torch.exp(sums[..., -1:] - sums), x)
    states = torch.cat((torch.zeros_like(states[:, :1]), states), 1)
    decay = torch.exp(_segment_sums(functional.pad(sums[..., -1], (1, 0))))
    states = torch.einsum("bhzc,bchpn->bzhpn", decay, states)[:, :-1]
    across = torch.einsum("bclhn,bchpn,bhcl->bclhp", c, states, torch.exp(sums))
    return (inside + across).flatten(1, 2)


class Latent(nn.Module):
    """Attention whose keys and values come from a narrow latent (as of DeepSeek)."""

    def __init__(self, width: int, heads: int, latent: int) -> None:
        super().__init__()
        self.heads, self.each = heads, width // heads
        self.query, self.down = nn.Linear(width, width), nn.Linear(width, latent + 4)
        self.norm, self.up = (
            nn.RMSNorm(latent),
            nn.Linear(latent, heads * (self.each + self.each - 4)),
        )
        self.latent = latent

    def forward(self, x: Tensor) -> Tensor:
        """[batch, steps, width], as it came."""
        b, t, _ = x.shape
        q = self.query(x).view(b, t, self.heads, self.each).transpose(1, 2)
        narrow, shared = self.down(x).split([self.latent, 4], -1)
        both = self.up(self.norm(narrow)).view(b, t, self.heads, -1).transpose(1, 2)
        key, value = both.split([self.each - 4, self.each], -1)
        key = torch.cat((key, shared[:, None].expand(-1, self.heads, -1, -1)), -1)
        return (
            functional.scaled_dot_product_attention(q, key, value, is_causal=True)
            .transpose(1, 2)
            .flatten(2)
        )


class Experts(nn.Module):
    """Two experts of four for each token, by a gate; all are computed, and weighed."""

    def __init__(self, width: int, count: int, chosen: int) -> None:
        super().__init__()
        self.gate, self.chosen = nn.Linear(width, count, bias=False), chosen
        self.up, self.down = (
            nn.Parameter(rand(count, width, 2 * width) / 4),
            nn.Parameter(rand(count, 2 * width, width) / 4),
        )

    def forward(self, x: Tensor) -> Tensor:
        """[tokens, width], as it came."""
        scores = self.gate(x).softmax(-1)
        best, which = scores.topk(self.chosen, dim=-1)
        weights = torch.zeros_like(scores).scatter(1, which, best / best.sum(-1, keepdim=True))
        each = torch.einsum(
            "etw,ewv->etv", functional.silu(torch.einsum("tw,ewv->etv", x, self.up)), self.down
        )
        return torch.einsum("te,etv->tv", weights, each)


def _others() -> list[Subject]:
    x = rand(3, 11, 8)
    deep = [layer for _ in range(9) for layer in (nn.Linear(15, 15), nn.ReLU())]
    return [
        of("latent attention", Latent(16, 2, 6), rand(3, 11, 16)),
        of("experts", Experts(16, 4, 2), rand(13, 16)),
        of("selective scan", Selective(8, 4), x),
        of(
            "chunked scan",
            _chunked_scan,
            rand(2, 12, 3, 5),
            -rand(2, 12, 3).abs(),
            rand(2, 12, 3, 4),
            rand(2, 12, 3, 4),
        ),
        of("deep and narrow perceptron", nn.Sequential(*deep, nn.Linear(15, 4)), rand(6, 15)),
        of(
            "shallow and wide perceptron",
            nn.Sequential(nn.Linear(15, 501), nn.ReLU(), nn.Linear(501, 4)),
            rand(6, 15),
        ),
        of("bag of embeddings", nn.EmbeddingBag(31, 7, mode="mean"), ints(0, 31, (5, 4))),
        of(
            "mixer",
            nn.Sequential(nn.LayerNorm(8), nn.Conv1d(11, 13, 1), nn.GELU(), nn.Conv1d(13, 11, 1)),
            x,
        ),
        of(
            "convolutions over time, causal",
            nn.Sequential(
                nn.ConstantPad1d((4, 0), 0.0), nn.Conv1d(11, 6, 3, dilation=2), nn.GLU(1)
            ),
            x,
        ),
        of("spectrum", lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=1) * 2, n=11, dim=1), x),
        of(
            "state of a filter",
            lambda x: torch.stack([x[:, i : i + 4].mean(1) for i in range(8)], 1),
            x,
        ),
        of(
            "retention",
            lambda q, k, v: (
                (q @ k.mT * 0.9 ** (torch.arange(11)[:, None] - torch.arange(11)).clamp(0)).tril()
                @ v
            ),
            x,
            rand(3, 11, 8),
            rand(3, 11, 8),
        ),
        of(
            "linear attention",
            lambda q, k, v: torch.einsum(
                "btd,btde->bte", q.exp(), torch.cumsum(torch.einsum("btd,bte->btde", k.exp(), v), 1)
            ),
            x,
            rand(3, 11, 8),
            rand(3, 11, 8),
        ),
    ]


SUBJECTS = _others()
