"""Transposed convolutions are products where their windows do not overlap, and else stay."""

from __future__ import annotations

from typing import Any

import pytest

from resources import package

torch: Any = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

nn = torch.nn


@pytest.mark.parametrize(
    ("layer", "shape", "is_product"),
    [
        (nn.ConvTranspose2d(8, 5, (3, 2), stride=(3, 2), bias=False), (2, 8, 7, 9), True),
        (nn.ConvTranspose1d(8, 5, 4, stride=4), (3, 8, 11), True),
        (nn.ConvTranspose3d(4, 6, 2, stride=2), (1, 4, 3, 5, 4), True),
        (nn.ConvTranspose2d(8, 6, 1, dilation=3), (2, 8, 6, 6), True),
        (nn.ConvTranspose2d(8, 6, 2, stride=2, groups=2), (1, 8, 5, 5), False),
        (nn.ConvTranspose2d(8, 6, 2, stride=2, padding=1), (1, 8, 5, 5), False),
        (nn.ConvTranspose2d(8, 6, 2, stride=3, output_padding=1), (1, 8, 5, 5), False),
        (nn.ConvTranspose2d(8, 6, 3, stride=2), (1, 8, 5, 5), False),
        (nn.ConvTranspose2d(8, 6, 2, stride=2, dilation=2), (1, 8, 5, 5), False),
    ],
)
def test_the_results_of_pytorch(layer: Any, shape: tuple[int, ...], is_product: bool) -> None:
    x = torch.randn(shape)
    net = lx.from_torch(layer, (x,), allow_fallback=False)
    with torch.no_grad():
        torch.testing.assert_close(net(x), layer(x), rtol=1e-5, atol=1e-5)
    assert ("tensor.insert_slice" not in str(net.modules[0])) == is_product


def test_an_open_number_of_images() -> None:
    layer = nn.ConvTranspose2d(8, 5, 2, stride=2)
    images = torch.export.Dim("images")
    net = lx.from_torch(
        layer, (torch.randn(3, 8, 4, 6),), dynamic_shapes=({0: images},), allow_fallback=False
    )
    x = torch.randn(5, 8, 4, 6)
    with torch.no_grad():
        torch.testing.assert_close(net(x), layer(x), rtol=1e-5, atol=1e-5)
    assert "tensor.insert_slice" not in str(net.modules[0])


def test_what_is_padded_before() -> None:
    """The elements of the edge are spread, too."""
    model = nn.Sequential(nn.ZeroPad2d((3, 1, 0, 2)), nn.ConvTranspose2d(4, 3, 3, stride=(1, 2)))
    x = torch.randn(2, 4, 5, 6)
    with torch.no_grad():
        torch.testing.assert_close(
            lx.from_torch(model, (x,), allow_fallback=False)(x), model(x), rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_more_padding_than_a_window_reaches(groups: int) -> None:
    layer = nn.ConvTranspose2d(
        4, 4, (3, 2), stride=(3, 2), padding=(3, 2), output_padding=(2, 0), groups=groups
    )
    x = torch.randn(2, 4, 7, 6)
    with torch.no_grad():
        torch.testing.assert_close(
            lx.from_torch(layer, (x,), allow_fallback=False)(x), layer(x), rtol=1e-5, atol=1e-5
        )
