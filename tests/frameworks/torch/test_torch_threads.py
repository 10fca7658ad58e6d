"""PyTorch's threads share the work of its compiled models, in place of ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from resources import needs_fork, package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.torch import compiled_graph  # noqa: E402
from linalg_ext.runtime import threads  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU()).eval()


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The teams that were lent; PyTorch's own threads are as many as before afterwards."""
    before, teams = torch.get_num_threads(), list[int]()
    real = threads.lent

    def noting(team: int) -> AbstractContextManager[int]:
        teams.append(team)
        return real(team)

    monkeypatch.setattr(threads, "lent", noting)
    yield teams
    torch.set_num_threads(before)


def test_as_many_threads_as_pytorch_has_are_pytorchs(model: Any, lent: list[int]) -> None:
    x = torch.randn(256, 256)
    net = lx.from_torch(model, x)
    for count in (1, 2, 3, 5):
        torch.set_num_threads(count)
        with lx.threads.using(count), torch.no_grad():
            torch.testing.assert_close(net(x), model(x), rtol=1e-4, atol=1e-5)
        assert len(lent) == (0 if count == 1 else 1)
        lent.clear()


def test_another_number_of_threads_is_ours(model: Any, lent: list[int]) -> None:
    x = torch.randn(256, 256)
    net = lx.from_torch(model, x)
    torch.set_num_threads(2)
    with lx.threads.using(3), torch.no_grad():
        torch.testing.assert_close(net(x), model(x), rtol=1e-4, atol=1e-5)
    assert lent == []


def test_without_openmp_the_threads_are_ours(
    model: Any, lent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.randn(256, 256)
    net = lx.from_torch(model, x)
    monkeypatch.setattr(torch.backends.openmp, "is_available", lambda: False)
    compiled_graph._openmp_team.cache_clear()
    torch.set_num_threads(2)
    with lx.threads.using(2), torch.no_grad():
        torch.testing.assert_close(net(x), model(x), rtol=1e-4, atol=1e-5)
    compiled_graph._openmp_team.cache_clear()
    assert lent == []


def test_what_fails_in_a_thread_of_pytorchs_is_an_error(lent: list[int]) -> None:
    table = torch.randn(1000, 64)
    net = lx.from_torch(lambda places: table[places].exp(), torch.zeros(4096, dtype=torch.int64))
    torch.set_num_threads(2)
    places = torch.zeros(4096, dtype=torch.int64)
    places[-1] = 1000
    with lx.threads.using(2), pytest.raises(lx.errors.ExecutionError):
        net(places)
    assert lent


@needs_fork
def test_a_forked_child_waits_for_no_thread_of_the_parents() -> None:
    script = """
import os, threading, torch
import linalg_ext as lx
torch.set_num_threads(2)
layer, x = torch.nn.Linear(256, 512).eval(), torch.randn(256, 256)
net = lx.from_torch(layer, x)
ours = lambda: {t.name for t in threading.enumerate() if t.name.startswith("linalg_ext")}
with lx.threads.using(2):
    y = net(x)
    child = os.fork()
    if child == 0:
        assert not ours()
        # PyTorch itself would wait for them.
        same = (net(x).numpy() == y.numpy()).all()
        os._exit(0 if same and ours() else 1)
    assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
