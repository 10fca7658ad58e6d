"""`linalg-ext run`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from linalg_ext.cli import main

TEXT = """
func.func private @helper(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}
func.func @first(%a: tensor<?xf32>, %b: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = arith.subf %a, %b : tensor<?xf32>
  return %0, %a : tensor<?xf32>, tensor<?xf32>
}
func.func @second(%m: memref<2xbf16>) {
  linalg.negf ins(%m : memref<2xbf16>) outs(%m : memref<2xbf16>)
  return
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "x.mlir"
    path.write_text(TEXT)
    return str(path)


@pytest.mark.parametrize("names", [("in1", "in0"), ("arr_1", "arr_0"), ("in10", "in9")])
def test_arguments_by_their_numbers(file: str, tmp_path: Path, names: tuple[str, str]) -> None:
    inputs, outputs = tmp_path / "in.npz", tmp_path / "results"
    one, two = np.ones(3, np.float32), np.full(3, 5, np.float32)
    named: dict[str, Any] = {names[0]: one, names[1]: two, "out0": one}
    np.savez(inputs, **named)
    done = main(["run", file, "--entry", "first", "-i", str(inputs), "-o", str(outputs)])
    assert done == 0
    with np.load(outputs, allow_pickle=False) as results:
        assert results.files == ["out0", "out1"]
        np.testing.assert_array_equal(results["out0"], [4, 4, 4])
        np.testing.assert_array_equal(results["out1"], two)


def test_results_are_shown(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = tmp_path / "in.npz"
    np.savez(inputs, x=np.ones(2, np.float32), y=np.zeros(2, np.float32))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert main(["run", "-", "--entry", "first", "--inputs", str(inputs), "-O", "0"]) == 0
    shown = capsys.readouterr()
    assert "out0: float32 2\n[1. 1.]" in shown.out
    assert "kernel first(" in shown.err
    assert "opt level 0" in shown.err


def test_narrow_floats_and_written_arguments(file: str, tmp_path: Path) -> None:
    inputs, outputs = tmp_path / "in.npy", tmp_path / "out.npz"
    np.save(inputs, np.array([1.5, -2], ml_dtypes.bfloat16))
    assert main(["run", file, "-e", "second", "-i", str(inputs), "-o", str(outputs)]) == 0
    with np.load(outputs, allow_pickle=False) as results:
        np.testing.assert_array_equal(results["out0"].view(ml_dtypes.bfloat16), [-1.5, 2])


def test_assembly(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = tmp_path / "in.npy"
    np.save(inputs, np.zeros(2, ml_dtypes.bfloat16))
    assert main(["run", file, "-e", "second", "-i", str(inputs), "--asm"]) == 0
    assert "lx_entry_second:" in capsys.readouterr().out
    assert main(["run", file, "-e", "second", "--asm"]) == 0
    assert "lx_entry_second:" in capsys.readouterr().out


def fails(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["run", *arguments]) == 1
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return message


def test_mistakes(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = tmp_path / "in.npz"
    np.savez(inputs, np.ones(2))
    assert "several functions" in fails([file], capsys)
    assert "no function `third`" in fails([file, "-e", "third"], capsys)
    assert "takes 2 arguments, got 0" in fails([file, "-e", "first"], capsys)
    assert "takes 2 arguments, got 1" in fails([file, "-e", "first", "-i", str(inputs)], capsys)
    np.savez(inputs, np.ones(2), np.ones(2))
    assert "has dtype float64" in fails([file, "-e", "first", "-i", str(inputs)], capsys)
    assert "No such file" in fails([str(tmp_path / "none.mlir")], capsys)
    assert "No such file" in fails([file, "-i", str(tmp_path / "none.npz")], capsys)


def test_files_that_are_no_arrays(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.npz"
    for content in (b"", b"no arrays", b"PK\3\4 and then nothing"):
        path.write_bytes(content)
        assert "cannot be read" in fails([file, "-i", str(path)], capsys)
    np.savez(path, np.array([{}], dtype=object))
    assert "without Python objects" in fails([file, "-i", str(path)], capsys)


def test_two_names_for_one_argument_are_refused(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = tmp_path / "in.npz"
    one = np.ones(3, np.float32)
    np.savez(inputs, in0=one, arr_0=one, in1=one)
    assert main(["run", file, "--entry", "first", "-i", str(inputs)]) == 1
    assert "the same position" in capsys.readouterr().err


def test_what_does_not_fit_is_looked_for_in_the_file(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = tmp_path / "in.npz"
    np.savez(inputs, np.ones(3), np.ones(3))
    assert main(["run", file, "--entry", "first", "-i", str(inputs)]) == 1
    said = capsys.readouterr().err
    assert "has dtype float64" in said
    assert str(inputs) in said
    assert "line" not in said


def test_a_folder_for_results_is_asked_for_first(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", file, "--outputs", str(tmp_path / "new" / "y.npz")]) == 1
    said = capsys.readouterr().err
    assert "does not exist" in said
    assert "mkdir -p" in said
    assert "compiled" not in said


def test_a_closed_standard_output_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert main(["opt", file, "--canonicalize"]) == 1
    assert "standard output is closed" in capsys.readouterr().err


CRASH = """
func.func @f(%n: i64) -> i64 {
  %p = llvm.mlir.zero : !llvm.ptr
  %x = llvm.load volatile %p : !llvm.ptr -> i64
  return %x : i64
}
"""


def test_what_dies_is_an_error_with_the_name_of_the_signal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, inputs = tmp_path / "crash.mlir", tmp_path / "in.npy"
    path.write_text(CRASH)
    np.save(inputs, np.int64(1))
    message = fails([str(path), "-i", str(inputs), "--trusted"], capsys)
    assert "the kernel died with SIGSEGV in a worker process" in message
    path.write_text("func.func @f() {" + "scf.execute_region {" * 50_000)
    assert "the compilation died with SIGSEGV" in fails([str(path)], capsys)


def test_limits(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", file, "-e", "first", "--explain", "--seconds", "50", "--memory", "99"]) == 0
    assert "within 50 s and 99 MiB" in capsys.readouterr().err
    assert "seconds is 0" in fails([file, "--seconds", "0"], capsys)
    assert "--stack and --in-process at once" in fails(
        [file, "--stack", "1", "--in-process"], capsys
    )


@pytest.mark.parametrize("where", [(), ("--in-process",)])
def test_the_time_of_a_compilation(
    where: tuple[str, ...], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", file, "-e", "first", "--time", *where]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("compiled in ")
    assert all(word in shown for word in ("  llvm ", "  code ", "of this library", "of MLIR"))


@pytest.mark.parametrize("where", [(), ("--in-process",)])
def test_both_ways_show_the_same(
    where: tuple[str, ...], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", file, "-e", "first", "--explain", "--asm", *where]) == 0
    shown = capsys.readouterr().out
    assert "lx_entry_first:" in shown
    assert "kernel first(tensor<?xf32>" in shown
    assert "computes  subf" in shown
