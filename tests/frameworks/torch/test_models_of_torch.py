"""Families of models through `lx.from_torch`: no op left behind, and PyTorch's own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.torch import exporting  # noqa: E402
from torch_models import MODELS, Causal  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("family", MODELS)
def test_a_model_equals_pytorch_at_first_and_when_it_is_kept(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model, arguments = MODELS[family]()
    with torch.no_grad():
        expected = model.eval()(*arguments)
    leaves = torch.utils._pytree.tree_leaves
    for _ in range(2):
        net = lx.from_torch(model, arguments, allow_fallback=False)
        assert net.report.share == 1
        found, wanted = leaves(net(*arguments)), leaves(expected)
        assert len(net.kernels) == 1
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)
        if family != "indexed":  # it counts, and the sizes of what it gives hang on values
            monkeypatch.delattr(exporting, "exported", raising=False)


def test_what_is_no_number_goes_where_it_goes_in_pytorch() -> None:
    def function(x: Any, y: Any) -> Any:
        return (
            *(torch.maximum(x, y), torch.minimum(x, y), torch.hypot(x, y)),
            *(x.clamp(0, 1), x.clamp(min=0), torch.nn.functional.relu6(x)),
            *(torch.nn.functional.hardtanh(x), torch.nn.functional.hardsigmoid(x)),
            *(x.cummax(1), x.cummin(1), x.median(1)),
            *(x.sort(1), x.sort(1, descending=True), x.topk(2, 1)),
        )

    nan, infinity = float("nan"), float("inf")
    x = torch.tensor([[3.0, nan, 2.0, -infinity, infinity], [1.0, 0.0, 2.0, -3e38, 5.0]])
    y = torch.tensor([[nan, 1.0, 2.0, nan, nan], [nan, 1.0, 7.0, 3e38, -0.5]])
    found = lx.from_torch(function, (x, y), allow_fallback=False)(x, y)
    torch.testing.assert_close(found, function(x, y), equal_nan=True)


def test_layers_that_share_a_mask_are_attention_each() -> None:
    # Wide enough for the code of attention; both take their sums from one tensor of zeros.
    layers = torch.nn.Sequential(Causal(64, 2), Causal(64, 2)).eval()
    net = lx.from_torch(layers, (torch.randn(1, 64, 64),), allow_fallback=False)
    assert str(net.kernels[0].explain()).count("attention") >= 1
    loops = net.kernels[0].as_text("loops")
    assert "math.exp" not in loops.partition("linalg_ext_attention")[0]


def test_what_views_the_result_of_attention() -> None:
    """PyTorch's kernel leaves the heads of a row side by side."""

    def viewed(x: Any) -> Any:
        heads = x.view(2, 17, 4, 16).transpose(1, 2)
        result = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
        return result.permute(0, 2, 1, 3).view(2, 17, 64)

    x = torch.randn(2, 17, 64)
    torch.testing.assert_close(lx.from_torch(viewed, (x,), allow_fallback=False)(x), viewed(x))
