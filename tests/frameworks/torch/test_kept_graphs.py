"""Graphs whose kernels are kept: those of torch.compile, of open sizes, and parts of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resources import package

torch: Any = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.torch import importing  # noqa: E402
from linalg_ext.frameworks.torch.backend import linalg_ext, report  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

X = torch.linspace(-1, 1, 12).reshape(4, 3)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
    report(clear=True)


def _scaled(scale: float) -> Callable[[Any], Any]:
    return lambda x: torch.tanh(x * scale) + torch.tensor([1.0, 2.0, scale])


def test_torch_compile_finds_a_graph_by_all_that_it_says(made: list[Any]) -> None:
    x = X.clone().requires_grad_()
    for scale, given, count in ((2.0, X, 1), (2.0, X, 1), (3.0, X, 2), (2.0, X.double(), 3)):
        torch._dynamo.reset()
        function = _scaled(scale)
        found = torch.compile(function, backend=linalg_ext)(given)
        torch.testing.assert_close(found, function(given))
        assert len(made) == count
    for _ in range(2):
        torch._dynamo.reset()
        torch.compile(_scaled(2.0), backend=linalg_ext)(x).sum().backward()
        assert len(made) == 5  # one way, and back
    assert report().share == 1


def test_open_sizes_are_exported_anew_and_imported_once(
    made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = ({0: torch.export.Dim("rows", max=9)},)
    function = _scaled(2.0)
    for _ in range(2):
        net = lx.from_torch(function, (X,), dynamic_shapes=shapes)
        torch.testing.assert_close(net(X[:3]), function(X[:3]))
        assert len(made) == 1
        monkeypatch.delattr(importing, "imported", raising=False)


def test_parts_of_a_model_are_compiled_once(made: list[Any]) -> None:
    def model(x: Any) -> Any:
        return torch.normal(x * 2, 0.0) + 1  # PyTorch draws between two kernels

    reports = []
    for _ in range(2):
        net = lx.from_torch(model, (X,))
        torch.testing.assert_close(net(X), model(X))
        reports.append(str(net.report))
        assert len(made) == len(net.kernels) == 2
    assert reports[0] == reports[1]
