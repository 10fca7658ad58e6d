"""`torch.compile(model, backend="linalg_ext")`: inference, training, graph breaks, reports."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from resources import REPOSITORY, package

torch = package("torch", "pip install 'linalg-ext[torch]'")

from linalg_ext.errors import ExecutionError  # noqa: E402
from linalg_ext.frameworks.torch.backend import linalg_ext, report  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

X = torch.linspace(-1, 1, 24).reshape(6, 4)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    report(clear=True)
    yield
    torch._dynamo.reset()


def compiled(model: Any, **options: Any) -> Any:
    return torch.compile(model, backend=linalg_ext, options=options or None)


def test_it_is_found_by_its_name_where_the_package_is_installed() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    target = project["entry-points"]["torch_dynamo_backends"]["linalg_ext"]
    module, _, name = target.partition(":")
    assert getattr(importlib.import_module(module), name) is linalg_ext


def test_inference() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
    with torch.no_grad():
        torch.testing.assert_close(compiled(model)(X), model(X))
    assert report().share == 1
    assert report().kernels == 1


def test_an_encoder_layer_is_no_single_op_of_pytorchs() -> None:
    model = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = torch.randn(1, 3, 8)
    with torch.no_grad():
        torch.testing.assert_close(compiled(model)(x), model(x), rtol=1e-4, atol=1e-5)
    assert report().share == 1


def test_training_both_ways() -> None:
    model = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU())
    twin = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU())
    twin.load_state_dict(model.state_dict())
    x = torch.randn(4, 2, 6)
    compiled(model)(x).square().sum().backward()
    twin(x).square().sum().backward()
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(model[1].running_mean, twin[1].running_mean)
    assert report().graphs == 2


def test_attention_is_trained() -> None:
    q, k, v = (torch.randn(1, 2, 5, 4, requires_grad=True) for _ in range(3))

    def function(q: Any, k: Any, v: Any) -> Any:
        found = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return found.square().sum()

    ours = torch.autograd.grad(compiled(function)(q, k, v), (q, k, v))
    theirs = torch.autograd.grad(function(q, k, v), (q, k, v))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    assert report().share == 1


def test_heads_of_keys_that_are_shared_are_trained() -> None:
    def attended(q: Any, k: Any, v: Any) -> Any:
        attention = torch.nn.functional.scaled_dot_product_attention
        return attention(q, k, v, is_causal=True, enable_gqa=True)

    given = [torch.randn(2, heads, 5, 4) for heads in (6, 2, 2)]
    ours, theirs = ([each.clone().requires_grad_() for each in given] for _ in range(2))
    compiled(attended)(*ours).square().sum().backward()
    attended(*theirs).square().sum().backward()
    found, wanted = ([each.grad for each in every] for every in (ours, theirs))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_sizes_that_change_become_open() -> None:
    function = compiled(lambda x: (x * 2).sum(1) + x.shape[0])
    for rows in (3, 4, 5, 6):
        x = X[:rows]
        torch.testing.assert_close(function(x), (x * 2).sum(1) + rows)
    assert report().graphs == 2


def test_graph_breaks_and_ops_that_are_left_are_told() -> None:
    def function(x: Any) -> Any:
        y = torch.linalg.svdvals(x * 2)
        torch._dynamo.graph_break()
        return y.sum() + x

    torch.testing.assert_close(compiled(function)(X), function(X))
    told = report()
    assert told.graphs == 2
    assert [left.op for left in told.left] == ["aten._linalg_svd"]
    assert "graph breaks:" in str(told)
    assert report(clear=True).graphs == 2
    assert report().graphs == 0


def test_errors_of_a_call_point_at_the_caller() -> None:
    fast = compiled(torch.nn.Embedding(4, 2))
    with pytest.raises(ExecutionError, match=r"\n.*test_torch_backend\.py"):
        fast(torch.tensor([9]))


def test_options() -> None:
    with pytest.raises(Exception, match=r"no mode 'max-autotune'\n.*leave it out"):
        torch.compile(torch.nn.ReLU(), backend=linalg_ext, mode="max-autotune")(torch.ones(3))
    with pytest.raises(Exception, match=r"has no option 'fallback'\n.*allow_fallback"):
        compiled(lambda x: x + 1, fallback=True)(X)
    with pytest.raises(Exception, match=r"aten\._linalg_svd of the model cannot be compiled"):
        compiled(torch.linalg.svdvals, allow_fallback=False)(X)
    torch.testing.assert_close(compiled(lambda x: x + 1, threads=1, checked=False)(X), X + 1)
