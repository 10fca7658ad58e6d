"""Results in blocks of a pool: never two owners of one block, never more idle than allowed."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError
from linalg_ext.runtime.pool import HUGE_PAGE, SMALLEST, Block, ResultPool
from resources import needs_fork

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no anonymous mappings there")

LARGE = (2048, 2048)
"""16 MiB of float32: eight huge pages."""


@pytest.fixture
def pool() -> ResultPool:
    return ResultPool(limit=256 << 20)


def address(array: np.ndarray[Any, Any]) -> int:
    return array.ctypes.data


def test_a_large_array_is_aligned_and_writable(pool: ResultPool) -> None:
    array = pool.empty((3, 2_800_001), np.float32)
    assert array.shape == (3, 2_800_001)
    assert array.dtype == np.float32
    assert address(array) % HUGE_PAGE == 0
    assert array.flags.c_contiguous
    assert array.flags.writeable
    array[...] = 7
    assert (array == 7).all()


def test_a_small_array_is_numpys_own(pool: ResultPool) -> None:
    array = pool.empty((SMALLEST // 8 - 1,), np.float64)
    assert array.flags.owndata
    assert pool.statistics().mapped == 0
    assert not pool.empty((SMALLEST // 8,), np.float64).flags.owndata


def test_a_dead_arrays_block_is_used_again(pool: ResultPool) -> None:
    first = pool.empty(LARGE, np.float32)
    place = address(first)
    del first
    assert pool.statistics().idle == 16 << 20
    assert address(pool.empty(LARGE, np.float32)) == place
    assert pool.statistics().reused == 1


@pytest.mark.parametrize(
    "view_of",
    [
        lambda array: array[5:7],
        lambda array: array.T[::3],
        lambda array: array.view(np.int32),
        lambda array: array.reshape(-1)[-1:],
        lambda array: np.broadcast_to(array[0], (9, 2048)),
        lambda array: np.lib.stride_tricks.as_strided(array, (2, 2), (4, 4)),
        lambda array: memoryview(array),
        lambda array: memoryview(array[3])[4:],
        lambda array: np.frombuffer(array, np.uint8)[1:],
        lambda array: array.ctypes,
        lambda array: iter(array),
        lambda array: np.asarray(memoryview(array.view(np.matrix))),
    ],
)
def test_what_looks_at_an_array_keeps_its_block(view_of: Any, pool: ResultPool) -> None:
    array = pool.empty(LARGE, np.float32)
    place = address(array)
    view = view_of(array)
    del array
    gc.collect()
    assert pool.statistics().used == 16 << 20
    assert address(pool.empty(LARGE, np.float32)) != place
    del view
    gc.collect()
    assert pool.statistics().used == 0


def test_blocks_of_living_arrays_are_disjoint(pool: ResultPool) -> None:
    generator = np.random.default_rng(3)
    living: list[np.ndarray[Any, Any]] = []
    for round_ in range(300):
        size = int(generator.integers(SMALLEST, 16 * HUGE_PAGE))
        array = pool.empty((size,), np.uint8)
        array[[0, -1]] = round_ % 251
        living.append(array)
        if len(living) > 6:
            del living[int(generator.integers(len(living)))]
        spans = sorted((address(a), address(a) + a.nbytes) for a in living)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
        assert all(a[0] == a[-1] for a in living)
    assert pool.statistics().reused > 100


def test_a_block_much_too_large_is_not_used(pool: ResultPool) -> None:
    large = pool.empty((64 << 20,), np.uint8)
    del large
    small = pool.empty((16 << 20,), np.uint8)
    assert pool.statistics().reused == 0
    assert pool.statistics().idle == 64 << 20
    del small


def test_idle_memory_is_bounded() -> None:
    pool = ResultPool(limit=32 << 20)
    arrays = [pool.empty(((15 << 20) + 1,), np.uint8) for _ in range(8)]
    assert pool.statistics().used == 8 * (16 << 20)
    arrays.clear()
    assert pool.statistics().idle == 32 << 20
    assert pool.statistics().unmapped == 6
    pool.limit = 20 << 20
    assert pool.statistics().idle == 16 << 20
    pool.clear()
    assert pool.statistics().idle == 0


def test_a_limit_of_zero_keeps_nothing() -> None:
    pool = ResultPool(limit=0)
    array = pool.empty(LARGE, np.float32)
    assert pool.statistics().used == 16 << 20
    del array
    assert pool.statistics().idle == 0
    assert pool.statistics().unmapped == 1


@pytest.mark.parametrize("limit", [-1, 1.5, True, None, "1 GiB"])
def test_a_limit_that_is_no_number_of_bytes_is_refused(limit: Any, pool: ResultPool) -> None:
    with pytest.raises(ArgumentError, match="limit of idle memory"):
        pool.limit = limit
    assert pool.limit == 256 << 20


def test_off_means_numpy(pool: ResultPool) -> None:
    idle = pool.empty(LARGE, np.float32)
    kept = pool.empty(LARGE, np.float32)
    del idle
    pool.enabled = False
    assert pool.statistics().idle == 0
    assert pool.empty(LARGE, np.float32).flags.owndata
    kept[...] = 1
    del kept
    assert "off" in repr(pool)
    pool.enabled = True
    assert not pool.empty(LARGE, np.float32).flags.owndata


def test_what_no_memory_can_hold_is_numpys_error(pool: ResultPool) -> None:
    with pytest.raises(MemoryError):
        pool.empty((1 << 30, 1 << 20), np.float64)
    with pytest.raises(ValueError, match=r"too big|too large|exceed"):
        pool.empty((1 << 40, 1 << 40), np.float64)
    assert pool.statistics().used == 0


def test_threads_never_share_a_block(pool: ResultPool) -> None:
    failures = []

    def work(number: int) -> None:
        for round_ in range(200):
            array = pool.empty((SMALLEST + 4096 * (round_ % 3),), np.uint8)
            array[::4096] = number
            if not (array[::4096] == number).all():
                failures.append((number, round_))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    statistics = pool.statistics()
    assert statistics.used == 0
    assert statistics.idle <= statistics.limit
    assert statistics.mapped + statistics.reused == 8 * 200


def test_an_array_that_dies_in_the_midst_of_the_pools_work(pool: ResultPool) -> None:
    """As when the garbage collector runs there: the thread must neither hang nor take it twice."""
    doomed = [pool.empty(LARGE, np.float32), pool.empty(LARGE, np.float32)]
    best_idle = pool._best_idle

    def interrupted(size: int) -> Any:
        doomed.clear()
        assert pool.empty(LARGE, np.float32).shape == LARGE
        return best_idle(size)

    pool._best_idle = interrupted  # type: ignore[method-assign]
    array = pool.empty(LARGE, np.float32)
    assert pool.statistics().used == 16 << 20
    assert pool.statistics().idle == 3 * (16 << 20)
    del array


def test_arrays_in_reference_cycles_come_back(pool: ResultPool) -> None:
    cycle: list[Any] = [pool.empty(LARGE, np.float32)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert pool.statistics().used == 0


@needs_fork
def test_a_forked_child_has_a_pool_of_its_own() -> None:
    script = """
import os, threading
import numpy as np
from linalg_ext.runtime.pool import ResultPool
pool = ResultPool(limit=256 << 20)
living, dead = pool.empty((4 << 20,), np.float32), pool.empty((4 << 20,), np.float32)
living[:] = 1
del dead
pool._lock._lock.acquire()                     # as if another thread held it
threading.Thread(target=lambda: None).start()
child = os.fork()
if child == 0:
    assert pool.statistics().idle == 0, pool
    assert pool.statistics().used == 16 << 20, pool
    mine = pool.empty((4 << 20,), np.float32)
    mine[:] = 2
    living[:] = 3
    del living
    assert pool.statistics().idle == 16 << 20, pool
    os._exit(0)
_, status = os.waitpid(child, 0)
pool._lock._lock.release()
assert status == 0, status
assert (living == 1).all()
assert pool.statistics().idle == 16 << 20
"""
    _run(script)


def test_arrays_may_outlive_the_interpreters_modules() -> None:
    script = """
import sys
import numpy as np
import linalg_ext as lx
class Holder: pass
sys.holder = holder = Holder()                 # dies when sys is taken apart
holder.array, holder.self = lx.memory.empty((4 << 20,), np.float32), holder
kept = lx.memory.empty((4 << 20,), np.float32)
"""
    assert _run(script) == ""


def test_results_of_kernels_come_from_the_pool() -> None:
    text = """
    func.func @twice(%a: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
      %e = tensor.empty() : tensor<2048x2048xf32>
      %r = linalg.add ins(%a, %a : tensor<2048x2048xf32>, tensor<2048x2048xf32>)
                      outs(%e : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
      return %r : tensor<2048x2048xf32>
    }
    """
    kernel = lx.compile(text)
    argument = np.arange(4 << 20, dtype=np.float32).reshape(2048, 2048)
    before = lx.memory.statistics().used
    results = [kernel(argument) for _ in range(3)]
    assert lx.memory.statistics().used == before + 3 * (16 << 20)
    assert len({address(result) for result in results}) == 3
    for result in results:
        np.testing.assert_array_equal(result, 2 * argument)
    asked = lx.memory.statistics()
    out = np.empty_like(argument)
    kernel(argument, out=out)
    assert lx.memory.statistics() == asked
    del results, result
    assert lx.memory.statistics().used == before


def test_a_failing_kernel_gives_its_block_back() -> None:
    text = """
    func.func @stop(%a: tensor<2048x2048xf32>, %ok: i1) -> tensor<2048x2048xf32> {
      cf.assert %ok, "no"
      return %a : tensor<2048x2048xf32>
    }
    """
    kernel = lx.compile(text)
    before = lx.memory.statistics().used
    with pytest.raises(lx.errors.ExecutionError):
        kernel(np.zeros(LARGE, np.float32), False)
    gc.collect()
    assert lx.memory.statistics().used == before


def test_kernels_in_threads_keep_their_results_apart() -> None:
    text = """
    func.func @fill(%x: f32) -> tensor<2048x2048xf32> {
      %e = tensor.empty() : tensor<2048x2048xf32>
      %r = linalg.fill ins(%x : f32) outs(%e : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
      return %r : tensor<2048x2048xf32>
    }
    """
    kernel = lx.compile(text)
    start = threading.Barrier(4)

    def work(number: int) -> bool:
        start.wait()
        return all((kernel(float(number)) == number).all() for _ in range(20))

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(4)))


def _run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_only_what_has_been_idle_for_long_is_left_to_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released: list[int] = []
    monkeypatch.setattr(Block, "release", lambda block: released.append(block.address))
    pool = ResultPool(limit=64 << 20)
    arrays = [pool.empty(LARGE, np.float32) for _ in range(2)]
    places = [address(array) for array in arrays]
    del arrays[0]
    assert released == []
    arrays.clear()
    assert set(released) == {places[0]}
