"""Networks whose edges are cut and padded, whose numbers are complex, whose layers recur."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from torch_nets.subject import Subject, of

rand, ints = torch.randn, torch.randint


class Tagger(nn.Module):
    """Words tagged by recurrent layers of both directions."""

    def __init__(self, kind: type[nn.RNNBase], shown: int = 12, **options: int) -> None:
        super().__init__()
        self.words = nn.Embedding(30, 10)
        self.layers = kind(10, 12, 2, batch_first=True, bidirectional=True, **options)
        self.tags = nn.Linear(2 * shown, 5)

    def forward(self, words: Tensor) -> Tensor:
        """[batch, steps], as scores of tags."""
        return torch.log_softmax(self.tags(self.layers(self.words(words))[0]), -1)


class Rotary(nn.Module):
    """Attention whose rows and columns are turned, by complex numbers."""

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(9.0), 100.0 ** (-torch.arange(0, 8, 2) / 8))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))
        self.all = nn.Linear(16, 48)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, 9, 16], as it came."""
        q, k, v = self.all(x).unflatten(-1, (3, 2, 8)).unbind(2)
        q, k = (self.turned(each) for each in (q, k))
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        return f.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)

    def turned(self, x: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.unflatten(-1, (4, 2)))
        return torch.view_as_real(pairs * self.turns[:, None]).flatten(3)


WORDS, IMAGES = ints(0, 30, (3, 9)), rand(2, 4, 9, 20)

SUBJECTS: list[Subject] = [
    of("tagger, lstm", Tagger(nn.LSTM), WORDS),
    of("tagger, gru", Tagger(nn.GRU), WORDS),
    of("tagger, projected", Tagger(nn.LSTM, 4, proj_size=4), WORDS),
    of("rotary attention", Rotary(), rand(2, 9, 16)),
    of(
        "filter of a spectrum",
        lambda x, w: torch.fft.irfft(torch.fft.rfft(x) * torch.view_as_complex(w).conj(), n=16),
        rand(3, 16),
        rand(9, 2),
        batch=False,
    ),
    of(
        "size and angle",
        lambda x: (lambda z: torch.stack([z.abs(), z.angle()], -1))(torch.fft.fft(x) + 0.5),
        rand(3, 12),
    ),
    of(
        "divided spectra",
        lambda x, y: torch.fft.ifft(torch.fft.fft(x) / (torch.fft.fft(y) + 9)).real,
        rand(3, 12),
        rand(3, 12),
    ),
    # As a text of torch-mlir's own front door these two are wrong before they are read.
    of(
        "padded, then spread",
        nn.Sequential(nn.ZeroPad2d((3, 1, 2, 0)), nn.ConvTranspose2d(4, 6, 3, (2, 3)), nn.ReLU()),
        IMAGES,
    ),
    of(
        "cut and padded",
        lambda x: f.avg_pool2d(f.pad(x, (-2, 2, 1, -1)), 3, 2) * 2,
        IMAGES,
    ),
    of(
        "more padding than a window",
        nn.Sequential(nn.ConvTranspose2d(4, 3, 2, 3, padding=2), nn.GELU()),
        IMAGES,
    ),
    of(
        "windows far apart",
        nn.Sequential(nn.Conv2d(4, 6, (1, 5), dilation=(1, 4), padding="same"), nn.SiLU()),
        IMAGES,
    ),
    of(
        "pyramid of dilations",
        lambda x, w: torch.cat(
            [f.conv2d(x, w, padding="same", dilation=step) for step in (1, 2, 4)], 1
        ),
        IMAGES,
        rand(3, 4, 3, 3),
        batch=False,
    ),
    of(
        "shifted back",
        lambda x: f.pad(x, (0, 0, 1, -1)) - f.pad(x, (0, 0, -1, 1)),
        IMAGES,
    ),
    of(
        "sharpened by a stencil",
        lambda x: x - f.conv2d(f.pad(x, (2, 2, 2, 2)), torch.ones(4, 1, 3, 3), None, 1, 0, 2, 4),
        IMAGES,
    ),
]
