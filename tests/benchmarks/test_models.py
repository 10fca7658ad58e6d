"""The benchmark of models: what it measures of a family, its twins in JAX, its tables."""

from __future__ import annotations

from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

from benchmarks.models import measuring, reporting  # noqa: E402
from benchmarks.models.families import FAMILIES, Family  # noqa: E402
from torch_models import Function  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")


def test_a_family_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> Any:
        layers = torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.LayerNorm(32)
        return torch.nn.Sequential(*layers), (torch.randn(16, 64),)

    monkeypatch.setattr(measuring, "SECONDS", 0.01)
    found = measuring.measured(Family("small", make), 1, quick=True)
    assert not found.error
    assert 0 < found.difference < 1e-5
    assert found.captured == 1
    assert "1 products" in found.fused
    assert found.ratios["eager"] > 0
    assert found.milliseconds > 0


def test_what_does_not_come_through_is_said() -> None:
    singular = Function(torch.linalg.svdvals)
    found = measuring.measured(Family("none", lambda: (singular, (torch.eye(3),))), 1)
    assert found.error.startswith("aten._linalg_svd of the model cannot be compiled")
    assert "aten._linalg_svd" in reporting.coverage([found])


def test_the_tables() -> None:
    one = measuring.Outcome("a", 1, difference=1e-7, captured=0.5, ratios={"eager": 2.0})
    wrong = measuring.Outcome("b", 1, difference=0.1, ratios={"eager": 8.0, "jax": 1.0})
    two = measuring.Outcome("a", 2, milliseconds=3.0, ratios={"eager": 5.0})
    rows = reporting.coverage([one, wrong, two]).splitlines()[2:]
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| a", "yes (1e-07)", "50%"],
        ["| b", "no (1e-01)", ""],
    ]
    assert reporting.speed([one, wrong, two]).splitlines() == [
        "| family | ms, 1 thread | eager, 1 thread | jax, 1 thread "
        "| ms, 2 threads | eager, 2 threads | jax, 2 threads |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| a | 0 | 2.00 |  | 3 | 5.00 |  |",
        "| b | 0 | 8.00 | 1.00 |  |  |  |",
        "| geometric mean |  | 4.00 | 1.00 |  | 5.00 |  |",
    ]


@pytest.mark.parametrize("name", ["MLP", "LSTM", "decoder layer", "scan"])
def test_a_twin_computes_the_same(name: str) -> None:
    jax = package("jax", "pip install 'linalg-ext[jax]'")
    from benchmarks.models.twins import TWINS

    model, (x,) = next(each for each in FAMILIES if each.name == name).example()
    x = x[:2, :9] if x.ndim == 3 else x[:2]
    weights = {key: jax.numpy.asarray(each.numpy()) for key, each in model.state_dict().items()}
    found = TWINS[name](weights, jax.numpy.asarray(x.numpy()))
    with torch.no_grad():
        wanted = model(x)
    wanted = wanted[0] if isinstance(wanted, tuple) else wanted
    torch.testing.assert_close(
        torch.from_numpy(found.__array__().copy()), wanted, rtol=1e-3, atol=1e-4
    )
