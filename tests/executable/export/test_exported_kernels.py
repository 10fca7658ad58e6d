"""`Kernel.export` and `lx.load`: the same kernel again, elsewhere; and no other."""

from __future__ import annotations

import json
import os
import shutil
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
from linalg_ext.cache import checked
from linalg_ext.errors import ExecutionError, ExportError, TargetError, UnresolvedSymbolError
from linalg_ext.executable.export import sealed
from linalg_ext.executable.loading import opened
from linalg_ext.executable.numpy_loader import RECORD
from linalg_ext.target import host, to_data
from resources import c_compiler, skip_machine

if host().architecture != "x86_64":
    skip_machine("an x86-64 processor")

EVERYTHING = """
func.func @every(%a: i8, %b: bf16, %c: memref<3xi4>,
                 %d: memref<2x2xf32, strided<[?, 1], offset: 4>>,
                 %e: complex<f32>, %f: tensor<?xi32>, %g: i1)
    -> (i8, bf16, memref<3xi4>, complex<f32>, tensor<?xi32>, i1) {
  %n = arith.constant 0 : index
  %v = memref.load %d[%n, %n] : memref<2x2xf32, strided<[?, 1], offset: 4>>
  %w = arith.addf %v, %v : f32
  memref.store %w, %d[%n, %n] : memref<2x2xf32, strided<[?, 1], offset: 4>>
  %s = arith.addi %f, %f : tensor<?xi32>
  return %a, %b, %c, %e, %s, %g : i8, bf16, memref<3xi4>, complex<f32>, tensor<?xi32>, i1
}
"""


def everything() -> tuple[Any, ...]:
    return (
        np.int8(-3),
        ml_dtypes.bfloat16(1.5),
        np.array([1, -2, 3], ml_dtypes.int4),
        np.arange(6, dtype=np.float32).reshape(2, 3)[:, 1:],
        np.complex64(1 - 2j),
        np.arange(5, dtype=np.int32),
        np.True_,
    )


FAILING = """
func.func @failing(%n: index) -> index {
  %c = arith.constant 3 : index
  %is = arith.cmpi slt, %n, %c : index
  cf.assert %is, "n is \\"too large\\" */"
  return %n : index
}
"""


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    kernel = lx.compile(EVERYTHING)
    return kernel, kernel.export(tmp_path_factory.mktemp("a") / "every", library=False)


@pytest.fixture
def copy(every: tuple[Any, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(every[1], tmp_path / "every"))


def test_a_loaded_kernel_is_the_one_that_was_exported(every: tuple[Any, Path]) -> None:
    kernel, folder = every
    loaded = lx.load(folder)
    one, other = everything(), everything()
    for a, b in zip(kernel(*one), loaded(*other), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(np.asarray(a, np.complex64), np.asarray(b, np.complex64))
    np.testing.assert_array_equal(one[3], other[3])  # which it writes
    assert other[3][0, 0] == 2
    assert loaded.signature == kernel.signature
    assert loaded.target == kernel.target
    assert dict(loaded.stages) == dict(kernel.stages)
    assert loaded.asm().partition("\n")[0] == kernel.asm().partition("\n")[0]  # of one function
    assert str(loaded.explain()) == str(kernel.explain())
    assert repr(loaded) == repr(kernel)


def test_what_is_in_the_folder(every: tuple[Any, Path]) -> None:
    kernel, folder = every
    assert {path.name for path in folder.iterdir()} == {
        RECORD,
        "lx_every.o",
        "lx_every.h",
        "load_every.py",
        "stages",
    }
    record = json.loads((folder / RECORD).read_text())
    assert (record["format"], record["version"]) == ("linalg_ext exported kernel", 1)
    assert record["kernel"]["target"]["features"] == sorted(kernel.target.features)
    assert record["kernel"]["signature"]["parameters"][3]["strides"] == [None, 1]
    for number, (name, text) in enumerate(kernel.stages.items()):
        stem = folder / "stages" / f"{number}-{name}"
        assert stem.with_suffix(".mlir").read_text() == text + "\n"
        assert lx.parse(stem.with_suffix(".mlirbc").read_bytes(), trusted=True)


def test_an_export_can_be_exported_again(every: tuple[Any, Path], tmp_path: Path) -> None:
    again = lx.load(every[1]).export(tmp_path / "again", library=False)
    for file in ("lx_every.o", "lx_every.h", RECORD):
        assert (again / file).read_bytes() == (every[1] / file).read_bytes()


def test_stages_need_not_be_shipped(copy: Path) -> None:
    shutil.rmtree(copy / "stages")
    assert dict(lx.load(copy).stages) == {}


def test_failures_are_told_in_the_same_words(tmp_path: Path) -> None:
    loaded = lx.load(lx.compile(FAILING).export(tmp_path / "x", library=False))
    assert loaded(2) == 2
    with pytest.raises(ExecutionError, match='`failing` stopped: n is "too large" \\*/'):
        loaded(3)


def test_open_sizes_are_checked_where_no_tracer_is(tmp_path: Path) -> None:
    n, m, k = (lx.Dim(name) for name in "nmk")
    specs = lx.ShapeDtype((n, m), "f32"), lx.ShapeDtype((m, k), "f32")
    compiled = lx.jit(lambda a, b: a @ b).lower(*specs).compile()
    loaded = lx.load(compiled.export(tmp_path / "x", library=False))
    a, b = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(loaded(a, b), a @ b)
    with pytest.raises(ExecutionError, match="incompatible"):
        loaded(a, b[:2])


def test_code_for_less_needs_less(tmp_path: Path) -> None:
    """The function that is called too: what the engine puts before it is for this machine."""
    with lx.target.using("generic-x86-64"):
        kernel = lx.compile(EVERYTHING)
    folder = kernel.export(tmp_path / "x", library=False)
    record = opened((folder / RECORD).read_bytes(), "")
    assert record["flags"] == ["cmov", "cx8", "fxsr", "mmx", "sse", "sse2"]
    whole = kernel.asm(whole=True).split("\n\n")
    called = next(text for text in whole if text.startswith(f"{record['symbol']}:"))
    assert "movss" in called
    assert " v" not in called  # as all of AVX's
    np.testing.assert_array_equal(lx.load(folder)(*everything())[4], 2 * np.arange(5))


def test_code_for_more_is_refused(tmp_path: Path) -> None:
    if "avx512fp16" in host().features:
        skip_machine("a processor without AVX512-FP16")
    more = {*to_data(host().without("avx"))["features"], *lx.target.named("avx512").features}
    target = lx.target.from_data(
        {**to_data(lx.target.named("avx512")), "features": sorted({*more, "avx512fp16"})}
    )
    with lx.target.using(target):
        folder = lx.compile(FAILING).export(tmp_path / "x", library=False)
    with pytest.raises(TargetError, match=r"needs a processor with .*avx512fp16.*lacks"):
        lx.load(folder)


def test_another_architecture(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite", reason="absent: llvmlite")
    with lx.target.using("aarch64-neon"):
        kernel = lx.compile(FAILING)
    folder = kernel.export(tmp_path / "x")
    assert "void lx_call_lx_entry_failing(" in (folder / "lx_failing.h").read_text()
    with pytest.raises(TargetError, match="a processor with aarch64"):
        lx.load(folder)
    with pytest.raises(ExportError, match="a linker for the shared library is not found"):
        kernel.export(tmp_path / "y", library=True)


Change = Callable[[Path], object]


def _with(**fields: Any) -> Change:
    def change(folder: Path) -> None:
        record = opened((folder / RECORD).read_bytes(), "")
        (folder / RECORD).write_text(sealed(record | fields))

    return change


def _replaced(file: str, old: bytes, new: bytes) -> Change:
    def change(folder: Path) -> None:
        content = (folder / file).read_bytes()
        assert old in content
        (folder / file).write_bytes(content.replace(old, new))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / RECORD).unlink(), " has no file kernel.json"),
        (lambda folder: (folder / "lx_every.o").unlink(), " has no file lx_every.o"),
        (lambda folder: (folder / RECORD).write_text("x"), "not a record of an exported kernel"),
        (lambda folder: (folder / RECORD).write_text("[]"), "not a record of an exported kernel"),
        (_replaced(RECORD, b"linalg_ext exp", b"other exp"), "not a record of an exported kernel"),
        (_replaced(RECORD, b'"version": 1', b'"version": 2'), "version 2 of the format\n.*\n.*1"),
        (_replaced(RECORD, b'"i32"', b'"i64"'), "kernel.json is not as it was written"),
        (_replaced("lx_every.o", b"\x7fELF", b"\x7fFLE"), "lx_every.o is not as it was written"),
        (_replaced("stages/0-module.mlirbc", b"ML", b"LM"), "0-module.mlirbc is not as it was"),
        (_with(signature=None), "kernel.json lacks something"),
        (_with(files={}), "kernel.json lacks something"),
        (_with(unnamed=["apx2"]), "a processor with apx2"),
        (_with(target={}), "a target lacks name"),
        (_with(libraries=["libabsent.so"]), "libabsent.so"),
        (lambda folder: folder.chmod(0o777), "is writable by other users"),
        (lambda folder: folder.parent.chmod(0o770), "is writable by other users"),
        (lambda folder: (folder / "lx_every.o").chmod(0o664), "is writable by other users"),
        (lambda folder: (folder / "stages").chmod(0o777), "is writable by other users"),
    ],
)
def test_what_cannot_be_trusted_or_read_is_refused(
    change: Change, message: str, copy: Path
) -> None:
    change(copy)
    with pytest.raises((ExportError, TargetError, UnresolvedSymbolError), match=message):
        lx.load(copy)


@pytest.mark.parametrize("folder", ["absent", "", "a\0b", 3, None])
def test_what_is_no_folder_is_refused(folder: Any) -> None:
    with pytest.raises(ExportError):
        lx.load(folder)


def test_nothing_but_an_export_is_replaced(every: tuple[Any, Path], tmp_path: Path) -> None:
    kernel = every[0]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("full", "file"):
        with pytest.raises(ExportError, match=f"{name} is there already"):
            kernel.export(tmp_path / name)
    with pytest.raises(ExportError, match="cannot be written"):
        kernel.export(tmp_path / "file" / "x")
    assert (tmp_path / "full" / "a").read_text() == (tmp_path / "file").read_text() == "mine"
    for folder in (None, "", 3):
        with pytest.raises(ExportError, match="expected a path"):
            kernel.export(folder)
    (tmp_path / "empty").mkdir()
    folder = kernel.export(tmp_path / "empty", library=False)
    (folder / "older").write_text("")
    kernel.export(folder, library=False)
    assert not (folder / "older").exists()
    assert sorted(os.listdir(tmp_path)) == ["empty", "file", "full"]


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_nobody_else_may_write_to_what_is_exported(
    every: tuple[Any, Path], tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        folder = every[0].export(tmp_path / "a" / "b" / "x", library=False)
    finally:
        os.umask(before)
    assert not any(path.stat().st_mode & 0o022 for path in (tmp_path / "a").rglob("*"))
    assert lx.load(folder).signature == every[0].signature


def test_a_link_that_is_swapped_after_the_check(
    every: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = lx.compile(FAILING).export(tmp_path / "other", library=False)
    link = tmp_path / "link"
    link.symlink_to(every[1])
    read = checked.Folder.read

    def swap_first(folder: checked.Folder, name: str) -> bytes:
        link.unlink()
        link.symlink_to(other)
        return read(folder, name)

    monkeypatch.setattr(checked.Folder, "read", swap_first)
    assert lx.load(link).signature == every[0].signature
    monkeypatch.undo()
    assert lx.load(link).signature.name == "failing"


def test_links_where_others_may_write_are_refused(copy: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "link").symlink_to(copy)
    assert lx.load(shared / "link").signature.name == "every"
    shared.chmod(0o777)
    with pytest.raises(ExportError, match=r"the folder .*shared.* is writable by other users"):
        lx.load(shared / "link")
    (copy / "lx_every.o").rename(shared / "code.o")
    (copy / "lx_every.o").symlink_to(shared / "code.o")
    with pytest.raises(ExportError, match=r"the folder .*shared.* is writable by other users"):
        lx.load(copy)


@pytest.mark.parametrize("section", [".init_array", ".ctors", ".fini_array.5", ".data.mine"])
def test_code_that_runs_at_loading_is_not_exported(tmp_path: Path, section: str) -> None:
    text = f"""
    llvm.mlir.global internal @first(dense<0> : tensor<1xi64>) {{section = "{section}"}}
      : !llvm.array<1 x i64>
    func.func @f() -> i64 {{
      %p = llvm.mlir.addressof @first : !llvm.ptr
      %x = llvm.load volatile %p : !llvm.ptr -> i64
      return %x : i64
    }}
    """
    kernel = lx.compile(text, "f", trusted=True)
    assert kernel() == 0
    if section.startswith(".data"):
        kernel.export(tmp_path / "f", library=False)
        return
    with pytest.raises(ExportError, match="code that runs when it is loaded"):
        kernel.export(tmp_path / "f", library=False)
    assert not (tmp_path / "f").exists()


def test_a_linker_that_fails_is_told(
    every: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", f"{c_compiler()} --no-such-option")
    with pytest.raises(ExportError, match="does not link") as caught:
        every[0].export(tmp_path / "x")
    assert "no-such-option" in str(caught.value)
    assert not (tmp_path / "x").exists()


def test_without_a_linker(
    every: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    folder = every[0].export(tmp_path / "x")
    assert not list(folder.glob("*.so"))
    with pytest.raises(ExportError, match="a linker for the shared library is not found"):
        every[0].export(tmp_path / "y", library=True)


def test_another_process_needs_no_bindings(every: tuple[Any, Path]) -> None:
    script = textwrap.dedent(
        f"""
        import sys
        import numpy as np
        import linalg_ext as lx
        kernel = lx.load({str(every[1])!r})
        assert "every" in repr(kernel.signature)
        assert kernel.explain()
        loaded = set(sys.modules) & {{"mlir", "torch_mlir"}}
        assert not loaded, loaded
        assert len(kernel.as_text("module")) > 100  # which does
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
