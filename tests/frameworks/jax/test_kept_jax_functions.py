"""Functions of JAX that were compiled once: found again, by all that they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from resources import package

jax: Any = package("jax", "pip install 'linalg-ext[jax]'")

# One worker imports JAX, and no other.
pytestmark = pytest.mark.xdist_group("jax")

X = np.linspace(-1, 1, 40, dtype=np.float32).reshape(2, 20)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path))


def _scaled(scale: float) -> Callable[[Any], Any]:
    return lambda x: x * scale


def test_a_function_is_found_by_all_that_jax_lowers_it_to(made: list[Any]) -> None:
    for scale, count in ((2.0, 1), (2.0, 1), (3.0, 2)):
        net = lx.from_jax(_scaled(scale), X)
        np.testing.assert_allclose(net(X), X * scale, rtol=1e-6)
        assert "linalg." in str(net.module)
        assert len(made) == count
    lx.from_jax(_scaled(2.0), X.astype(np.int32))
    lx.from_jax(_scaled(2.0), X[:1])
    lx.from_jax(_scaled(2.0), X, checked=False)
    assert len(made) == 5


@pytest.mark.parametrize("name", ["fft.fft", "linalg.inv"])
def test_what_calls_python_is_not_kept(name: str, made: list[Any], tmp_path: Path) -> None:
    module, function = name.split(".")
    of_jax, of_numpy = (getattr(getattr(each, module), function) for each in (jax.numpy, np))
    x = np.eye(3, dtype=np.float32) * 2
    for count in (1, 2):
        compiled = lx.from_jax(of_jax, x)
        np.testing.assert_allclose(compiled(x), of_numpy(x), rtol=1e-6)
        assert len(made) == count
    assert not list(tmp_path.rglob("record.jsonl"))
