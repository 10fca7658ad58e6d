"""The Python file beside an exported kernel: NumPy and the shared library, and nothing of ours."""

from __future__ import annotations

import mmap
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.executable import numpy_loader as loader
from linalg_ext.executable.export import sealed
from linalg_ext.executable.loading import opened
from linalg_ext.executable.numpy_loader import RECORD
from linalg_ext.target import host
from resources import c_compiler, skip_machine

if host().architecture != "x86_64":
    skip_machine("an x86-64 processor")

TEXT = """
func.func @every(%a: i8, %b: bf16, %c: memref<3xi4>,
                 %d: memref<2x2xf32, strided<[?, 1], offset: 4>>,
                 %e: tensor<2x2xf64>, %f: tensor<?xi32>, %g: i1,
                 %h: memref<2xvector<4xf32>>)
    -> (i8, bf16, memref<3xi4>, tensor<2x2xf64>, tensor<?xi32>, i1, memref<2xvector<4xf32>>) {
  %n = arith.constant 0 : index
  %v = memref.load %d[%n, %n] : memref<2x2xf32, strided<[?, 1], offset: 4>>
  %w = arith.addf %v, %v : f32
  memref.store %w, %d[%n, %n] : memref<2x2xf32, strided<[?, 1], offset: 4>>
  %s = arith.addi %f, %f : tensor<?xi32>
  %t = arith.mulf %e, %e : tensor<2x2xf64>
  cf.assert %g, "g is false"
  return %a, %b, %c, %t, %s, %g, %h
      : i8, bf16, memref<3xi4>, tensor<2x2xf64>, tensor<?xi32>, i1, memref<2xvector<4xf32>>
}
"""


def arguments() -> list[Any]:
    return [
        np.int8(-3),
        ml_dtypes.bfloat16(1.5),
        np.array([1, -2, 3], ml_dtypes.int4),
        np.arange(6, dtype=np.float32).reshape(2, 3)[:, 1:],
        np.arange(4.0).reshape(2, 2).T,
        np.arange(5, dtype=np.int32),
        True,
        np.arange(8, dtype=np.float32).reshape(2, 4),
    ]


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    c_compiler()
    kernel = lx.compile(TEXT, result_dtypes=[None, None, None, None, np.uint32, None, None])
    return kernel, kernel.export(tmp_path_factory.mktemp("a") / "every", library=True)


@pytest.fixture
def loaded(every: tuple[Any, Path]) -> loader.Kernel:
    return loader.load(every[1])


def test_it_computes_the_same(every: tuple[Any, Path], loaded: loader.Kernel) -> None:
    one, other = arguments(), arguments()
    for a, b in zip(every[0](*one), loaded(*other), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(np.asarray(a, np.float64), np.asarray(b, np.float64))
    np.testing.assert_array_equal(one[3], other[3])
    assert other[3][0, 0] == 2


def test_what_was_checked_is_what_is_loaded(
    every: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(every[1], tmp_path / "every"))
    checksum = loader._checksum

    def swap_after(content: bytes) -> str:
        if content.startswith(b"\x7fELF"):
            (folder / "liblx_every.so").write_bytes(b"another one")
        return checksum(content)

    monkeypatch.setattr(loader, "_checksum", swap_after)
    swapped = loader.load(folder)
    again = loader.load(every[1])  # the system's loader does not take one for the other
    for kernel in (swapped, again):
        np.testing.assert_array_equal(kernel(*arguments())[3], [[0, 4], [1, 9]])


def test_out_is_written(loaded: loader.Kernel) -> None:
    product, doubled = np.empty((2, 2)), np.empty(5, np.uint32)
    found = loaded(*arguments(), out=(None, None, None, product, doubled, None, None))
    assert found[3] is product
    assert found[4] is doubled
    np.testing.assert_array_equal(product, [[0, 4], [1, 9]])
    np.testing.assert_array_equal(doubled, [0, 2, 4, 6, 8])


def _with(position: int, value: Any) -> list[Any]:
    given = arguments()
    given[position] = value
    return given


SHARED = np.zeros((2, 3), np.float32)
FROZEN = np.zeros((2, 3), np.float32)[:, 1:]
FROZEN.flags.writeable = False


@pytest.mark.parametrize(
    ("given", "out", "error", "message"),
    [
        (arguments()[1:], None, TypeError, "takes 8 arguments, got 7"),
        (_with(4, np.zeros((2, 2), np.float32)), None, TypeError, "float32, expected float64"),
        (_with(4, np.zeros((2, 3))), None, ValueError, "argument 4 has shape"),
        (_with(5, np.zeros((2, 3), np.int32)), None, ValueError, "argument 5 has shape"),
        (_with(0, np.zeros(1, np.int8)), None, ValueError, "argument 0 has shape"),
        (_with(3, [[1.0, 2], [3, 4]]), None, TypeError, "argument 3 is written"),
        (_with(3, np.zeros((2, 2), np.float32).T), None, ValueError, "argument 3 has strides"),
        (_with(3, FROZEN), None, ValueError, "argument 3 is read-only"),
        (_with(3, np.broadcast_to(SHARED[:1, :2], (2, 2))), None, ValueError, "read-only"),
        (_with(6, False), None, RuntimeError, "every stopped: g is false"),
        (arguments(), (None,), TypeError, "out has 1 arrays, expected 7"),
        (
            arguments(),
            (None,) * 3 + (np.empty((2, 2), np.float32),) + (None,) * 3,
            TypeError,
            "out 3",
        ),
        (arguments(), (None,) * 4 + (np.empty(4, np.uint32),) + (None,) * 2, ValueError, "out 4"),
    ],
)
def test_wrong_arguments(
    loaded: loader.Kernel, given: list[Any], out: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        loaded(*given, out=out)


def test_memory_that_is_written_is_nobody_elses(loaded: loader.Kernel) -> None:
    given = arguments()
    given[3] = SHARED[:, 1:]
    given[4] = np.ones((2, 2))
    loaded(*given)
    with pytest.raises(ValueError, match="out 3 may share memory"):
        loaded(*given, out=(None, None, None, given[4], None, None, None))
    given[3] = part = np.zeros((2, 4), np.float32)[:, 1:3]
    given[7] = part.base
    with pytest.raises(ValueError, match="argument 3 may share memory"):
        loaded(*given)
    doubled = np.empty(5, np.uint32)
    with pytest.raises(ValueError, match="out 4 has elements that overlap"):
        loaded(*arguments(), out=(None,) * 4 + (_overlapping(doubled),) + (None,) * 2)


def test_out_can_have_any_strides(loaded: loader.Kernel) -> None:
    product, doubled = np.empty((2, 4))[:, ::2], np.empty(10, np.int32)[::2]
    found = loaded(*arguments(), out=(None, None, None, product, doubled, None, None))
    assert found[3] is product
    np.testing.assert_array_equal(product, [[0, 4], [1, 9]])
    np.testing.assert_array_equal(doubled, [0, 2, 4, 6, 8])


def _overlapping(array: Any) -> Any:
    return np.lib.stride_tricks.as_strided(array, (5,), (0,), writeable=True)


def test_it_stands_on_its_own(every: tuple[Any, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(every[1], tmp_path / "elsewhere")
    script = textwrap.dedent(
        """
        import sys
        sys.modules["ml_dtypes"] = None  # as if it were not installed
        import numpy as np
        from load_every import load
        every = load()
        memory = np.zeros((2, 3), np.float32)
        found = every(1, np.uint16(0x3fc0), np.int8([1, -2, 3]), memory[:, 1:], np.ones((2, 2)),
                      np.int32([1, 2]), True, np.ones((2, 4), np.float32))
        assert found[0] == 1 and found[1].dtype == np.uint16 and found[1] == 0x3fc0
        assert (found[3] == 1).all() and (found[4] == [2, 4]).all()
        assert not {name for name in sys.modules if name.startswith(("linalg_ext", "torch_mlir"))}
        """
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys\nsys.path.insert(0, {str(folder)!r})\n{script}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_no_memory_is_lost(tmp_path: Path) -> None:
    """What compiled code allocates for a result goes back: 200 MB in all."""
    c_compiler()
    text = """
    func.func @fresh(%x: tensor<?xf32>) -> tensor<?xf32> {
      %y = arith.addf %x, %x : tensor<?xf32>
      return %y : tensor<?xf32>
    }
    """
    fresh = loader.load(lx.compile(text).export(tmp_path / "x", library=True))
    x = np.ones(1_000_000, np.float32)
    before = _resident()
    for _ in range(50):
        fresh(x)
    assert _resident() - before < 100 << 20


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * mmap.PAGESIZE


def test_what_it_cannot_load_is_refused(every: tuple[Any, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(every[1], tmp_path / "x"))
    path = folder / RECORD
    text = path.read_text()
    record = opened(text.encode(), "")
    for changed, message in (
        ("x", "not a record"),
        (text.replace('"version": 1', '"version": 9'), "version 9; expected version 1"),
        (text.replace('"i32"', '"i64"'), "not as it was written"),
        (sealed(record | {"flags": ["no_such_flag"]}), "a processor with no_such_flag"),
        (sealed(record | {"target": {"architecture": "aarch64"}}), "is for aarch64"),
    ):
        path.write_text(changed)
        with pytest.raises(ValueError, match=message):
            loader.load(folder)
    path.write_text(text)
    (folder / "liblx_every.so").write_bytes(b"")
    with pytest.raises(ValueError, match="not as it was written"):
        loader.load(folder)
    path.write_text(sealed(record | {"files": {"object": "lx_every.o"}}))
    with pytest.raises(OSError, match="no shared library"):
        loader.load(folder)
    with pytest.raises(OSError, match=r"kernel\.json"):
        loader.load(tmp_path / "absent")
