"""Pads of PyTorch's: those that cut, too."""

from __future__ import annotations

from typing import Any

import pytest

from resources import package

torch: Any = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

pad = torch.nn.functional.pad


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    "amounts", [(-1, 1), (2, -2), (0, 0, 3, -3), (-1, -1), (-2, 1, 1, -1), (1, 2)]
)
def test_by_constants(amounts: tuple[int, ...], is_open: bool) -> None:
    x = torch.randn(2, 5, 6)
    shapes = ({0: torch.export.Dim("rows", min=2)},) if is_open else None

    def model(x: Any) -> Any:
        return pad(x, amounts, value=3.0)

    torch.testing.assert_close(
        lx.from_torch(model, (x,), dynamic_shapes=shapes, allow_fallback=False)(x), model(x)
    )


def test_an_open_axis_is_cut() -> None:
    columns = torch.export.Dim("columns", min=4)

    def model(x: Any) -> Any:
        return pad(x, (-2, 2))

    net = lx.from_torch(
        model, (torch.randn(3, 6),), dynamic_shapes=({1: columns},), allow_fallback=False
    )
    x = torch.randn(3, 9)
    torch.testing.assert_close(net(x), model(x))
