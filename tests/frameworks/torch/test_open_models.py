"""Models several sizes of which are open at once."""

from __future__ import annotations

from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext import errors  # noqa: E402
from linalg_ext.frameworks.torch.importing import grouped  # noqa: E402
from linalg_ext.frameworks.torch_dialect import Group  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")


def dims() -> tuple[Any, Any]:
    return torch.export.Dim("batch", min=1, max=64), torch.export.Dim("steps", min=2, max=512)


class Block(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Attention with heads, and a linear layer, over a batch of sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs = torch.nn.Linear(32, 96)
        self.output = torch.nn.Linear(32, 32)
        self.norm = torch.nn.LayerNorm(32)

    def forward(self, x: Any) -> Any:
        batch, steps, width = x.shape
        parts = self.inputs(self.norm(x)).split(width, 2)
        query, key, value = (p.view(batch, steps, 4, 8).transpose(1, 2) for p in parts)
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return x + self.output(mixed.transpose(1, 2).reshape(batch, steps, width))


def test_a_block_of_a_transformer_of_open_batch_and_steps() -> None:
    model = Block().eval()
    batch, steps = dims()
    shapes = ({0: batch, 1: steps},)
    net = lx.from_torch(
        model, (torch.randn(3, 10, 32),), dynamic_shapes=shapes, allow_fallback=False
    )
    assert "tensor.reshape" not in str(net.modules[0])
    assert "nest @linalg_ext_attention" in str(net.kernels[0].explain())
    with torch.no_grad():
        for sizes in ((3, 10), (1, 2), (5, 300), (64, 3)):
            x = torch.randn(*sizes, 32)
            torch.testing.assert_close(net(x), model(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.reshape(-1, 12),
        lambda x: x.view(x.shape[0] * x.shape[1], 12),
        lambda x: x.view(x.shape[0], x.shape[1], 3, -1),
        lambda x: x.view(x.shape[0], 1, x.shape[1], 12, 1),
        lambda x: x.reshape(x.shape[0] * 3, x.shape[1], 4),
        lambda x: x.flatten(),
        lambda x: x.flatten(1),
        lambda x: x.reshape(-1, 4).view(x.shape[0], -1, 3, 4),
    ],
)
def test_views(view: Any) -> None:
    batch, steps = dims()
    shapes = ({0: batch, 1: steps},)
    net = lx.from_torch(
        lambda x: view(x + 1), (torch.ones(2, 5, 12),), dynamic_shapes=shapes, allow_fallback=False
    )
    for sizes in ((2, 5), (1, 2), (7, 3)):
        x = torch.randn(*sizes, 12)
        torch.testing.assert_close(net(x), view(x + 1))


def test_a_compiled_model_of_open_sizes() -> None:
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
    net = torch.compile(model.eval(), backend="linalg_ext", dynamic=True)
    with torch.no_grad():
        for sizes in ((2, 5), (3, 7), (4, 2)):
            x = torch.randn(*sizes, 12)
            torch.testing.assert_close(net(x), model(x))


def test_sizes_of_which_only_a_multiple_is_given() -> None:
    height = torch.export.Dim("height", min=2, max=9)
    net = lx.from_torch(
        lambda x: x.view(x.shape[0] // 4, 4, 3).sum(1), (torch.ones(12, 3),),
        dynamic_shapes=({0: 4 * height},),
        allow_fallback=False,
    )  # fmt: skip
    x = torch.randn(20, 3)
    torch.testing.assert_close(net(x), x.view(5, 4, 3).sum(1))
    for size, reason in ((22, "holds for no"), (40, "is 2 to 9")):
        with pytest.raises(errors.ShapeError, match=reason):
            net(torch.ones(size, 3))


@pytest.mark.parametrize(
    ("before", "after", "groups"),
    [
        ((2, 3, 4), (6, 4), [Group((0, 1), (0,)), Group((2,), (1,))]),
        ((6, 4), (2, 3, 2, 2), [Group((0,), (0, 1)), Group((1,), (2, 3))]),
        ((4, 6), (6, 4), [Group((0, 1), (0, 1))]),
        ((1, 5), (5,), [Group((0, 1), (0,))]),
        ((5,), (5, 1, 1), [Group((0,), (0, 1, 2))]),
        ((5, 1), (1, 5), [Group((0, 1), (0, 1))]),
        ((5,), (7,), None),
        ((), (1,), None),
    ],
)
def test_groups_of_axes(before: Any, after: Any, groups: list[Group] | None) -> None:
    assert grouped(before, after) == groups
