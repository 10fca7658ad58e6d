"""Kernels on disk: found again as they were, never in the place of another, never half."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import cache
from linalg_ext.cache import keys
from linalg_ext.cache.store import FOLDER
from linalg_ext.compiler import op_calls, op_kernels
from linalg_ext.compiler.einsum import emission, kernels, memo
from linalg_ext.errors import ExecutionError
from linalg_ext.opdsl import D, S, T, TensorDef, TypeFn, const
from linalg_ext.runtime import kernel_cache
from linalg_ext.target import host
from resources import skip_machine

if host().architecture != "x86_64":
    skip_machine("an x86-64 processor")

MATMUL = """
func.func @f(%a: tensor<128x128xf32>, %b: tensor<128x256xf32>) -> tensor<128x256xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x256xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<128x256xf32>) -> tensor<128x256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<128x128xf32>, tensor<128x256xf32>)
                     outs(%i : tensor<128x256xf32>) -> tensor<128x256xf32>
  return %r : tensor<128x256xf32>
}
"""
SCALARS = """
func.func @g(%a: i8, %b: bf16, %c: memref<3xi4>, %d: memref<2x2xf32, strided<[?, 1], offset: 0>>)
    -> (i8, bf16, memref<3xi4>) {
  return %a, %b, %c : i8, bf16, memref<3xi4>
}
"""
FAILING = """
func.func @h(%n: index) -> index {
  %c = arith.constant 3 : index
  %is = arith.cmpi slt, %n, %c : index
  cf.assert %is, "n is too large"
  return %n : index
}
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(FOLDER, str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.fixture
def operands() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return (
        random.standard_normal((128, 128), np.float32),
        random.standard_normal((128, 256), np.float32),
    )


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_kernel_that_is_found_is_the_one_that_was_made(operands: tuple[Any, Any]) -> None:
    made, found = lx.compile(MATMUL), lx.compile(MATMUL)
    assert (made.is_kept, found.is_kept) == (False, True)
    np.testing.assert_array_equal(found(*operands, threads=1), made(*operands, threads=1))
    assert dict(found.stages) == dict(made.stages)
    assert "linalg.matmul" in found.as_text("module")
    assert found.asm() == made.asm()
    assert found.times == made.times
    assert str(found.explain()) == str(made.explain())
    assert "packed contraction" in str(found.explain())
    assert repr(found) == repr(made).replace(" ms: ", " ms, kept: ")


def test_the_code_for_several_threads_is_kept_too(
    operands: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = lx.compile(MATMUL)
    expected = made(*operands, threads=2)
    found = lx.compile(MATMUL)
    monkeypatch.setattr("linalg_ext.compiler.handlers.cut", _never)
    np.testing.assert_array_equal(found(*operands, threads=2), expected)
    assert str(found.explain(threads=2)) == str(made.explain(threads=2))
    assert any("2 threads" in entry.name for entry in cache.entries())


def _never(*arguments: Any, **keywords: Any) -> Any:
    raise AssertionError("this was kept, and is made again")


def test_every_kind_of_argument_and_result() -> None:
    made, found = lx.compile(SCALARS), lx.compile(SCALARS)
    assert found.is_kept
    assert found.signature == made.signature
    given = np.int8(-3), ml_dtypes.bfloat16(1.5), np.array([1, -2, 3], ml_dtypes.int4)
    matrix = np.ones((2, 2), np.float32)
    for a, b in zip(made(*given, matrix), found(*given, matrix), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(np.asarray(a, np.float32), np.asarray(b, np.float32))


def test_failures_are_told_in_the_same_words() -> None:
    lx.compile(FAILING)
    found = lx.compile(FAILING)
    assert found.is_kept
    assert found(2) == 2
    with pytest.raises(ExecutionError, match="`h` stopped: n is too large"):
        found(5)


@pytest.mark.parametrize(
    "options",
    [
        {"checked": False},
        {"opt_level": 1},
        {"trusted": True},
        {"result_dtypes": [np.float32]},
        {"entry": "f"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_other_options_are_another_kernel(options: dict[str, Any]) -> None:
    lx.compile(MATMUL)
    assert not lx.compile(MATMUL, **options).is_kept
    assert lx.compile(MATMUL, **options).is_kept


def test_another_text_target_or_choice_is_another_kernel() -> None:
    lx.compile(MATMUL)
    assert not lx.compile(MATMUL.replace("0.0 : f32", "1.0 : f32")).is_kept
    with lx.target.using(host().without("avx512f") if "avx512f" in host().features else "avx2"):
        assert not lx.compile(MATMUL).is_kept
        assert lx.compile(MATMUL).is_kept
    with kernel_cache.apart("choices", 1):
        assert not lx.compile(MATMUL).is_kept
    assert lx.compile(MATMUL).is_kept


def test_a_changed_library_is_another_kernel(tmp_path: Path) -> None:
    library = tmp_path / "libx.so"
    library.write_bytes(b"one")
    first = kernel_cache.file_stamp(library)
    library.write_bytes(b"other")
    assert kernel_cache.file_stamp(library) != first
    assert (
        kernel_cache.file_stamp("libm.so.6") is None
    )  # the system's loader knows which file it is


def test_a_changed_file_of_this_library_is_another_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "_PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text("1")
    before = keys.makers.__wrapped__()
    assert keys.makers.__wrapped__() == before
    (tmp_path / "a.py").write_text("12")
    after = keys.makers.__wrapped__()
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "b.mlir").write_text("")
    assert len({before, after, keys.makers.__wrapped__()}) == 3


def test_a_wrong_option_is_told_though_a_right_one_was_kept() -> None:
    lx.compile(MATMUL, result_dtypes=["float32"])
    with pytest.raises(lx.errors.SignatureError, match="cannot be handed back"):
        lx.compile(MATMUL, result_dtypes=[">f4"])
    with pytest.raises(lx.errors.SignatureError, match="a list with one dtype"):
        lx.compile(MATMUL, result_dtypes=3)  # type: ignore[call-overload]


@pytest.mark.parametrize("damage", ["cut", "swapped"])
def test_damaged_files_are_made_anew(damage: str, folder: Path, operands: tuple[Any, Any]) -> None:
    expected = lx.compile(MATMUL)(*operands, threads=1)
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            path.write_bytes(content[:-9] if damage == "cut" else content[:-9] + b"\xff" * 9)
    made = lx.compile(MATMUL)
    assert not made.is_kept
    np.testing.assert_array_equal(made(*operands, threads=1), expected)
    assert lx.compile(MATMUL).is_kept


def test_nothing_is_written_where_it_is_off(folder: Path) -> None:
    with cache.off():
        lx.compile(MATMUL)
    assert _files(folder) == {}
    lx.compile(MATMUL)
    with cache.off():
        assert not lx.compile(MATMUL).is_kept


def test_a_full_disk_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any, **keywords: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.Store, "put", full)
    cache._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="not kept: .*No space left") as caught:
        kernel = lx.compile(FAILING)
    assert caught[0].filename == __file__
    assert kernel(1) == 1


def _forget() -> None:
    op_calls._kernels.clear()
    lx.ops.matmul.known_calls = None
    for table in (memo._calls, memo._sought, kernels._specialized):
        table.clear()


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: lx.ops.matmul(a, b),
        lambda a, b: lx.einsum("mk,kn->mn", a, b),
        lambda a, b: lx.einsum("mk,kn->nm", a, b),
    ],
    ids=["op", "einsum", "turned einsum"],
)
def test_calls_of_another_process_are_answered_by_what_this_one_kept(
    call: Callable[[Any, Any], Any],
    operands: tuple[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _forget()
    monkeypatch.setattr(kernels, "SPECIALIZING_PAYS", 0)
    expected = [call(*operands) for _ in range(2)]
    _forget()
    monkeypatch.setattr(op_kernels, "compile_built", _never)
    monkeypatch.setattr(emission, "compile_built", _never)
    found = call(*operands)
    np.testing.assert_array_equal(found, expected[-1])
    assert found.strides == expected[-1].strides
    _forget()


def test_ops_that_differ_in_a_constant_alone_are_other_kernels() -> None:
    def op(number: float) -> Any:
        @lx.structured_op
        def scaled(A=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
            C[D.n] = A[D.n] * TypeFn.cast_signed(T, const(number))

        return scaled

    x = np.ones(4, np.float32)
    np.testing.assert_array_equal(op(2.0)(x), 2 * x)
    np.testing.assert_array_equal(op(3.0)(x), 3 * x)


def test_a_traced_function_is_known_by_what_it_recorded() -> None:
    x = np.arange(8, dtype=np.float32)

    def traced(factor: float) -> Any:
        return lx.jit(lambda array: array * factor + 1)

    np.testing.assert_array_equal(traced(2.0)(x), 2 * x + 1)
    np.testing.assert_array_equal(traced(3.0)(x), 3 * x + 1)
    again = traced(3.0).lower(x).compile()
    np.testing.assert_array_equal(again(x), 3 * x + 1)


def test_another_process_needs_no_bindings(operands: tuple[Any, Any], folder: Path) -> None:
    """Nor does it need them for the threads that share a call."""
    script = textwrap.dedent(
        f"""
        import sys
        import numpy as np
        import linalg_ext as lx
        a, b = np.ones((128, 128), np.float32), np.ones((128, 256), np.float32)
        kernel = lx.compile({MATMUL!r})
        results = [kernel(a, b, threads=2), kernel(a, b, threads=1), lx.ops.matmul(a, b)]
        assert all((result == 128).all() for result in results)
        wanted = sys.argv[1] == "finds"
        assert kernel.is_kept == wanted, kernel
        loaded = {{name for name in sys.modules if name in ("mlir", "torch_mlir", "ml_dtypes")}}
        assert not (wanted and loaded), loaded
        """
    )
    for role in ("makes", "finds"):
        done = subprocess.run(
            [sys.executable, "-c", script, role], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
