"""Convolutions in which each channel gives one of its own, transposed and of volumes too."""

from __future__ import annotations

from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

nn = torch.nn

CASES = {
    "line, transposed": (nn.ConvTranspose1d(4, 4, 3, 2, groups=4), (2, 4, 9)),
    "image, transposed": (nn.ConvTranspose2d(4, 4, 3, 2, 1, 1, groups=4), (2, 4, 9, 7)),
    "image, cropped more than it grows": (
        nn.ConvTranspose2d(4, 4, (3, 2), (2, 1), (2, 0), (1, 0), 4, dilation=(1, 2)),
        (2, 4, 9, 7),
    ),
    "volume, transposed": (
        nn.ConvTranspose3d(4, 4, (3, 2, 2), (2, 1, 3), (0, 2, 1), (1, 0, 2), 4, False),
        (1, 4, 3, 4, 5),
    ),
    "volume": (nn.Conv3d(4, 4, (3, 2, 1), (2, 1, 3), (2, 0, 1), (2, 1, 3), 4), (2, 4, 9, 7, 5)),
    "two of one": (nn.Conv3d(4, 8, 3, 2, 1, groups=4), (2, 4, 5, 6, 5)),
}


@pytest.mark.parametrize("case", CASES)
def test_like_torch(case: str) -> None:
    layer, shape = CASES[case]
    x = torch.randn(shape)
    with torch.no_grad():
        found = lx.from_torch(layer, (x,), opt_level=0, allow_fallback=False)(x)
        torch.testing.assert_close(found, layer(x), rtol=1e-4, atol=1e-5)


def test_rows_left_open() -> None:
    layer: Any = nn.Sequential(
        nn.ConvTranspose2d(4, 4, 2, 2, groups=4), nn.Flatten(2), nn.Conv1d(4, 4, 3, groups=4)
    )
    batch = torch.export.Dim("batch", max=64)
    net = lx.from_torch(
        layer, (torch.randn(3, 4, 5, 6),), dynamic_shapes=({0: batch},), allow_fallback=False
    )
    x = torch.randn(5, 4, 5, 6)
    with torch.no_grad():
        torch.testing.assert_close(net(x), layer(x), rtol=1e-4, atol=1e-5)
