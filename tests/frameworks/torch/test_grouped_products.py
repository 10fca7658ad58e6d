"""Products of groups of rows with a matrix each, as mixtures of experts have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from resources import package

torch: Any = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.torch.grouped_products import grouped_mm  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

ENDS = [[3, 3, 40, 70, 70], [0, 0, 0, 0, 0], [70, 70, 70, 70, 70], [10, 20, 30, 40, 50]]


def bounds(ends: Any) -> list[tuple[int, int]]:
    return list(zip([0, *ends.tolist()[:-1]], ends.tolist(), strict=True))


def by_group(x: Any, y: Any, ends: Any) -> Any:
    """The formula; rows and columns of no group are 0."""
    ranges = bounds(ends)
    if x.ndim == 3:
        return by_group(y.t(), x.transpose(1, 2), ends).t()
    if y.ndim == 2:
        return torch.stack([x[:, low:high] @ y[low:high] for low, high in ranges])
    result = x.new_zeros(len(x), y.shape[2])
    for matrix, (low, high) in zip(y, ranges, strict=True):
        result[low:high] = x[low:high] @ matrix
    return result


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize(
    ("left", "right"), [((70, 8), (5, 8, 6)), ((5, 6, 8), (8, 70)), ((6, 70), (70, 8))]
)
def test_groups_of_rows_columns_and_sums(
    left: Sequence[int], right: Sequence[int], ends: Sequence[int]
) -> None:
    x, y, first = torch.randn(*left), torch.randn(*right), torch.tensor(ends, dtype=torch.int32)
    net = lx.from_torch(grouped_mm, (x, y, first), allow_fallback=False)
    for given in (first, first.flip(0).cummax(0)[0].int()):
        torch.testing.assert_close(net(x, y, given), by_group(x, y, given))


def test_the_op_of_pytorch() -> None:
    def product(x: Any, y: Any, ends: Any) -> Any:
        return torch._grouped_mm(x, y, offs=ends)

    ends = torch.tensor([3, 16, 32], dtype=torch.int32)
    x, y = (torch.randn(*shape, dtype=torch.bfloat16) for shape in ((32, 16), (3, 16, 8)))
    net = lx.from_torch(product, (x, y, ends), allow_fallback=False)
    wanted = by_group(x.float(), y.float(), ends)
    torch.testing.assert_close(net(x, y, ends).float(), wanted, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(product(x, y, ends).float(), wanted, rtol=1e-2, atol=1e-2)


def test_any_number_of_rows() -> None:
    rows = torch.export.Dim("rows", min=2, max=4096)
    y, ends = torch.randn(3, 8, 6), torch.tensor([1, 4, 5], dtype=torch.int32)
    x = torch.randn(5, 8)
    net = lx.from_torch(
        grouped_mm, (x, y, ends), dynamic_shapes=({0: rows}, {}, {}), allow_fallback=False
    )
    for count in (5, 2, 100):
        x, given = torch.randn(count, 8), torch.tensor([1, count // 2, count], dtype=torch.int32)
        torch.testing.assert_close(net(x, y, given), by_group(x, y, given))


def test_a_mixture_of_experts_is_one_kernel() -> None:
    class Mixture(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.gate = torch.nn.Linear(8, 4)
            self.weights = torch.nn.Parameter(torch.randn(4, 8, 6))

        def forward(self, x: Any) -> Any:
            shares, chosen = self.gate(x).softmax(-1).topk(2, sorted=False)
            order = chosen.reshape(-1).sort(stable=True)
            counts = order.values.float().histc(4, 0, 3)
            ends = counts.cumsum(0, dtype=torch.int32)
            grouped = grouped_mm(x[order.indices // 2], self.weights, ends)
            each = torch.empty_like(grouped).index_put((order.indices,), grouped)
            return (each.reshape(*shares.shape, -1) * shares.unsqueeze(-1)).sum(1)

    torch.manual_seed(0)
    model, x = Mixture().eval(), torch.randn(9, 8)
    net = lx.from_torch(model, (x,), allow_fallback=False)
    shares, chosen = model.gate(x).softmax(-1).topk(2)
    every = torch.einsum("rk,ekn->ren", x, model.weights)
    picked = every.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 6))
    wanted = (picked * shares.unsqueeze(-1)).sum(1)
    torch.testing.assert_close(net(x), wanted.detach())
