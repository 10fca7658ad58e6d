"""A real cluster of two processes, of which one is killed: the answer is the same."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import linalg_ext as lx
from linalg_ext.frameworks.dask import blocks
from linalg_ext.opdsl import D, S, T, TensorDef, structured_op

pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """Of a cluster of two worker processes, which share nothing but what is pickled."""
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=2,
        processes=True,
        dashboard_address=None,
        local_directory=str(tmp_path / "workers"),
    )
    with cluster, Client(cluster) as client:
        yield client


def behind(gate: Path) -> Callable[[Any, Any], Any]:
    """A function of blocks, of which the last waits until there is a file."""

    def wait(block: Any, block_info: Any = None) -> Any:
        if block_info and block_info[None]["chunk-location"] == (3, 3):
            while not gate.exists():
                time.sleep(0.01)
        return block

    return wait


def test_an_answer_survives_a_worker(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "PANEL_BYTES", 0)  # 64 products of blocks, and trees of 4

    @structured_op
    def shifted(
        A=TensorDef(T, S.M, S.N), B=TensorDef(T, S.N), C=TensorDef(T, S.M, S.N, output=True)
    ):
        C[D.m, D.n] = A[D.m, D.n] - B[D.n]

    bias = np.linspace(-1, 1, 80)
    squashed = lx.jit(lambda x: np.tanh(x / 80) + bias[0])  # with what it closes over
    a = np.random.default_rng(0).random((80, 80))
    gate = tmp_path / "open"
    cut = da.from_array(a, chunks=20)
    # Tasks of its own: fused with those that read it, the waiting block would stop each of them.
    late = client.persist(cut.map_blocks(behind(gate), dtype=a.dtype))
    future = client.compute(squashed(shifted(lx.ops.matmul(late, cut), bias)))

    def holders() -> list[str]:
        """The workers that have a product of two blocks."""
        return [
            worker
            for worker, keys in client.has_what().items()
            if any("matmul" in str(key) for key in keys)
        ]

    for _ in range(10_000):
        if found := holders():
            break
        assert not future.done(), future.exception()
        time.sleep(0.01)
    victim = found[0]
    pid = client.run(os.getpid, workers=[victim])[victim]
    os.kill(pid, signal.SIGKILL)
    assert not future.done()
    gate.touch()
    expected = np.tanh((a @ a - bias) / 80) + bias[0]
    np.testing.assert_allclose(future.result(timeout=120), expected, rtol=1e-12)
