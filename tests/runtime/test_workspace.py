"""The memory of intermediate results: faulted in once, never shared, bounded, given back."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from kernels import kernel
from linalg_ext import errors
from linalg_ext.runtime.workspace import Intermediates, IntermediatesStatistics
from resources import needs_fork

resource = pytest.importorskip("resource", reason="machine: its system does not count faults")

ROWS = 32_768
MEGABYTES = 8
"""What `ROWS` rows of 64 numbers take."""

STEP = """
  %e{at} = tensor.empty(SIZE) : tensor<ROWSx64xf32>
  %i{at} = linalg.fill ins(%zero : f32) outs(%e{at} : tensor<ROWSx64xf32>) -> tensor<ROWSx64xf32>
  %t{next} = linalg.matmul ins(%t{at}, %w : tensor<ROWSx64xf32>, tensor<64x64xf32>)
    outs(%i{at} : tensor<ROWSx64xf32>) -> tensor<ROWSx64xf32>
"""
ROW = f"""
func.func @row(%t0: tensor<ROWSx64xf32>, %w: tensor<64x64xf32>) -> tensor<64xf32> {{
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %t0, %c0 : tensor<ROWSx64xf32>
  {"".join(STEP.format(at=at, next=at + 1) for at in range(5))}
  %e = tensor.empty() : tensor<64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.reduce {{ arith.maximumf }} ins(%t5 : tensor<ROWSx64xf32>) outs(%i : tensor<64xf32>)
    dimensions = [0]
  return %r : tensor<64xf32>
}}"""
KNOWN = ROW.replace("ROWS", str(ROWS)).replace("(SIZE)", "()")
OPEN = ROW.replace("ROWS", "?").replace("SIZE", "%n")

FAILING = """
func.func @failing(%t: tensor<?xf32>, %at: index) -> f32 {
  %e = math.exp %t : tensor<?xf32>
  %x = tensor.extract %e[%at] : tensor<?xf32>
  %zero = arith.constant 0.0 : f32
  %ok = arith.cmpf ogt, %x, %zero : f32
  cf.assert %ok, "it is none"
  %y = tensor.extract %e[%at] : tensor<?xf32>
  return %y : f32
}"""

HUNGRY = """
func.func @hungry(%n: index) -> f32 {
  %c9 = arith.constant 9 : index
  %x = arith.constant 0.5 : f32
  %a = memref.alloc(%n) : memref<?xf32>
  memref.store %x, %a[%c9] : memref<?xf32>
  %y = memref.load %a[%c9] : memref<?xf32>
  return %y : f32
}"""


def arguments(rows: int = ROWS) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    generator = np.random.default_rng(rows)
    return generator.random((rows, 64), np.float32), generator.random((64, 64), np.float32) / 32


def expected(x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    result: np.ndarray[Any, Any] = (x @ np.linalg.matrix_power(w, 5)).max(axis=0)
    return result


def faults(run: Callable[[], object]) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    run()
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)


def statistics() -> IntermediatesStatistics:
    found = lx.memory.statistics().intermediates
    assert found is not None
    return found


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    """A row of five ops, each of which needs all that the one before gives."""
    return {"known sizes": kernel(KNOWN), "open sizes": kernel(OPEN)}


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Nothing is in use before and after a test."""
    lx.memory.clear()
    limit = lx.memory.limit
    assert statistics().used == 0
    yield
    lx.memory.enabled, lx.memory.limit = True, limit
    assert statistics().used == 0


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sizes", ["known sizes", "open sizes"])
def test_no_page_is_faulted_in_anew(sizes: str, threads: int, rows: dict[str, Any]) -> None:
    run = rows[sizes]
    x, w = arguments()
    for _ in range(3):
        np.testing.assert_allclose(run(x, w, threads=threads), expected(x, w), rtol=1e-4)
    pages = MEGABYTES * 2**20 // os.sysconf("SC_PAGE_SIZE")
    # Of one buffer, whose pages are small, a call would have thousands. How many live at a time is
    # a matter of how the threads take turns, so that any one round may see a new most.
    rounds = [faults(lambda: [run(x, w, threads=threads) for _ in range(5)]) for _ in range(4)]
    assert min(rounds) < pages // 2
    # There is room for the two or three that live at a time, not for all five.
    assert statistics().idle < 3.5 * MEGABYTES * 2**20


def test_calls_at_once_have_buffers_of_their_own(rows: dict[str, Any]) -> None:
    runs = list(rows.values())
    cases = [arguments(rows) for rows in (ROWS, 20_000, 3, ROWS)]
    wanted = [expected(*case) for case in cases]

    def work(number: int) -> None:
        for at in range(number, number + 12):
            x, w = cases[at % 4]
            run = runs[(at + number) % 2] if len(x) == ROWS else runs[1]
            np.testing.assert_allclose(run(x, w, threads=1), wanted[at % 4], rtol=1e-4)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))


def test_a_kernel_that_is_gone_leaves_nothing() -> None:
    run = kernel(FAILING)
    run(np.zeros(1 << 20, np.float32), 5)
    assert statistics().idle > 0
    del run
    gc.collect()
    assert statistics().idle == 0


def test_what_is_idle_is_bounded(rows: dict[str, Any]) -> None:
    run = rows["open sizes"]
    lx.memory.limit = 20 << 20
    for count in range(20_000, 60_000, 10_000):
        run(*arguments(count))
        assert 0 < statistics().idle <= 20 << 20
    run(*arguments(200_000))  # 49 MiB each
    assert statistics().idle <= 20 << 20
    lx.memory.clear()
    assert statistics().idle == 0


@pytest.mark.parametrize("name", ["limit", "enabled"])
def test_nothing_is_kept_where_nothing_may_be(name: str, rows: dict[str, Any]) -> None:
    run = rows["known sizes"]
    run(*arguments())
    setattr(lx.memory, name, 0)
    assert statistics().idle == 0
    x, w = arguments()
    np.testing.assert_allclose(run(x, w), expected(x, w), rtol=1e-4)
    assert statistics().idle == 0


def test_a_failure_loses_nothing() -> None:
    run = kernel(FAILING)
    x = np.full(1 << 20, -1000, np.float32)
    for _ in range(3):
        with pytest.raises(errors.ExecutionError, match="it is none"):
            run(x, 5)
    assert statistics().used == 0
    assert run(np.zeros(1 << 20, np.float32), 5) == 1


def test_memory_that_cannot_be_had_is_an_error() -> None:
    isolated = lx.compile(HUNGRY, isolated=lx.Limits(memory=512 << 20))
    with pytest.raises(errors.ExecutionError, match="out of memory"):
        isolated(256 << 20)
    assert isolated(1 << 20) == 0.5


def test_exported_kernels(tmp_path: Path, rows: dict[str, Any]) -> None:
    rows["known sizes"].export(tmp_path / "row")
    loaded = lx.load(tmp_path / "row")
    x, w = arguments()
    before = statistics()
    np.testing.assert_allclose(loaded(x, w), expected(x, w), rtol=1e-4)
    assert statistics().mapped + statistics().reused > before.mapped + before.reused
    library = tmp_path / "row" / "load_row.py"
    script = (
        f"import sys; sys.path.insert(0, {str(library.parent)!r})\n"
        "import numpy as np, load_row\n"
        f"row = load_row.load()\nx, w = np.ones(({ROWS}, 64), 'f4'), np.ones((64, 64), 'f4')\n"
        "for _ in range(3): assert (row(x, w) == 64.0**5).all()\n"
        "assert 'linalg_ext' not in sys.modules\n"
    )
    if (tmp_path / "row" / "liblx_row.so").exists():
        subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)


@needs_fork
def test_a_forked_child_goes_on() -> None:
    script = f"""
import os, numpy as np, linalg_ext as lx
from linalg_ext.runtime.workspace import intermediates, _MUTEX
run, x = lx.compile({FAILING!r}), np.zeros(1 << 20, np.float32)
run(x, 5, threads=1)
assert lx.memory.statistics().intermediates.idle > 0
import ctypes                                  # as if another thread held it
ctypes.CDLL(None).pthread_mutex_lock(ctypes.c_void_p(intermediates._memory.address + _MUTEX))
child = os.fork()
if child == 0:
    assert lx.memory.statistics().intermediates.idle == 0
    assert run(x, 5, threads=1) == 1
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


class _Pool(Intermediates):
    """A pool whose two functions can be called from here."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        assert self._load(may_compile=True)
        self.set_limit(limit)
        address, size = ctypes.c_void_p, ctypes.c_int64
        take, give = self._memory.words[0], self._memory.words[1]
        self._take = ctypes.CFUNCTYPE(address, address, size)(take)
        self._give = ctypes.CFUNCTYPE(None, address, address, size)(give)

    def take(self, nbytes: int) -> np.ndarray[Any, Any]:
        place = self._take(self._memory.address, nbytes)
        assert place % (2 << 20 if nbytes >= 4 << 20 else 4096) == 0
        memory: Any = (ctypes.c_uint8 * nbytes).from_address(place)
        block: np.ndarray[Any, Any] = np.frombuffer(memory, np.uint8)
        return block

    def give(self, block: np.ndarray[Any, Any]) -> None:
        self._give(self._memory.address, block.ctypes.data, block.nbytes)


def test_blocks_are_disjoint_and_counted() -> None:
    pool = _Pool(96 << 20)

    def work(number: int) -> None:
        generator = np.random.default_rng(number)
        living: list[np.ndarray[Any, Any]] = []
        for _ in range(300):
            block = pool.take(int(2 ** generator.uniform(16, 23.5)))
            block[::4096] = number
            block[-1] = number
            living.append(block)
            if len(living) > 5:
                old = living.pop(int(generator.integers(5)))
                assert (old[::4096] == number).all()
                assert old[-1] == number
                pool.give(old)
        for block in living:
            pool.give(block)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    found = pool.statistics()
    assert found.used == 0
    assert 0 < found.idle <= 96 << 20
    assert found.mapped + found.reused == 4 * 300
    assert found.reused > 100
    pool.clear()
    assert pool.statistics().idle == 0
    assert pool.statistics().unmapped == found.mapped


@pytest.mark.parametrize("limit", [96 << 20, 1 << 70])
def test_the_block_of_a_size_comes_back(limit: int) -> None:
    pool = _Pool(limit)
    for nbytes in (65_536, 65_537, 1 << 20, (8 << 20) - 1, 8 << 20):
        first = pool.take(nbytes)
        place = first.ctypes.data
        assert pool.statistics().used <= max(nbytes * 9 // 8 + 1, nbytes + 65_536)
        pool.give(first)
        again = pool.take(nbytes)
        assert again.ctypes.data == place
        pool.give(again)


def test_what_no_memory_can_hold_is_null() -> None:
    pool = _Pool(96 << 20)
    pool.give(pool.take(1 << 20))
    assert pool._take(pool._memory.address, 1 << 60) is None
    assert pool.statistics().used == 0
    assert pool.statistics().idle == 0
