"""`linalg-ext opt`."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from linalg_ext.cli import main

TEXT = """func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  %c = arith.addi %a, %a : i32
  %d = arith.muli %b, %c : i32
  return %d : i32
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.mlir"
    path.write_text(TEXT)
    return str(path)


@pytest.mark.parametrize(
    "passes",
    [
        ["-p", "canonicalize,cse"],
        ["--pass-pipeline=builtin.module(cse)"],
        ["-p=cse"],
        ["-cse"],
        ["--canonicalize=max-iterations=3", "-cse"],
        ["-print-op-stats", "-cse", "--trusted"],
    ],
)
def test_runs_passes_in_every_spelling(file, passes, capsys):
    for arguments in ([file, *passes], [*passes, file]):
        assert main(["opt", *arguments]) == 0
        assert capsys.readouterr().out.count("arith.addi") == 1


def test_reads_standard_input_and_writes_a_file(monkeypatch, tmp_path, capsys):
    for name in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
        assert main(["opt", *name, "-cse", "-o", str(tmp_path / "out.mlir")]) == 0
        assert (tmp_path / "out.mlir").read_text().count("arith.addi") == 1
        assert capsys.readouterr().out == ""


def test_unknown_dialects(tmp_path, capsys):
    path = tmp_path / "x.mlir"
    path.write_text('"foo.x"() : () -> ()')
    assert main(["opt", str(path)]) == 1
    assert "unregistered dialect" in capsys.readouterr().err
    assert main(["opt", str(path), "--allow-unregistered-dialect", "-cse"]) == 0
    assert "foo.x" in capsys.readouterr().out


def test_print_after_all(file, capsys):
    assert main(["opt", file, "-p", "func.func(canonicalize),cse", "--print-after-all"]) == 0
    shown = capsys.readouterr().err
    assert "IR Dump After CanonicalizerPass: canonicalize" in shown
    assert "IR Dump After CSEPass: cse" in shown


def test_list_names_our_passes(capsys):
    from linalg_ext.rewriting import module_pass

    @module_pass("linalg-ext-listed")
    def listed(op) -> None:
        """What the list says."""

    assert main(["opt", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.startswith("linalg-ext-listed ")] == [
        ["linalg-ext-listed", "What", "the", "list", "says."]
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["opt", "/nonexistent.mlir"], 1, "No such file"),
        (["opt", "{file}", "-p", "canonicalise"], 1, "did you mean canonicalize"),
        (["opt", "{file}", "-p", "cse", "-cse"], 2, "not both"),
        (["opt", "{file}", "{file}.b"], 2, "one file at a time"),
        (["opt", "{file}", "-o"], 2, "requires an argument"),
        (["nope"], 2, "No such command"),
    ],
)
def test_wrong_calls(arguments, code, message, file, capsys):
    assert main([argument.format(file=file) for argument in arguments]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_an_error_in_the_text_names_the_file(tmp_path, capsys):
    path = tmp_path / "bad.mlir"
    path.write_text("func.func @f( {")
    assert main(["opt", str(path)]) == 1
    assert f"{path}:1:14:" in capsys.readouterr().err
    path.write_bytes(b"\xff\xfe\x00")
    assert main(["opt", str(path)]) == 1
    assert "not UTF-8" in capsys.readouterr().err


def test_debug_shows_the_traceback(file):
    with pytest.raises(Exception, match="zzzz"):
        main(["--debug", "opt", file, "-zzzz"])


def test_help_loads_neither_mlir_nor_numpy():
    code = (
        "import sys\nfrom linalg_ext.cli import main\nassert main(['--help']) == 0\n"
        "assert not {'numpy', 'mlir', 'torch_mlir'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "opt" in done.stdout


def test_sugar_is_read_and_printed(tmp_path, capsys):
    path = tmp_path / "x.mlir"
    path.write_text("""func.func @f(%a: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<3x4xf32> {
      %e = tensor.empty() : tensor<3x4xf32>
      %r = linalg.add ins(%a : tensor<4x3xf32>, %b : tensor<3xf32>) outs(%e : tensor<3x4xf32>)
        transpose_a, broadcast_b = [1] : tensor<3x4xf32>
      return %r : tensor<3x4xf32> }""")
    assert main(["opt", str(path), "-canonicalize"]) == 0
    assert "indexing_maps" in capsys.readouterr().out
    assert main(["opt", str(path), "-canonicalize", "--sugar"]) == 0
    printed = capsys.readouterr().out
    assert "permutation_a = [1, 0], broadcast_b = [1] : tensor<3x4xf32>" in printed
    path.write_text(printed)
    assert main(["opt", str(path), "--sugar"]) == 0
    assert capsys.readouterr().out == printed
    path.write_text(printed.replace("broadcast_b = [1]", "broadcast_b = [0]"))
    assert main(["opt", str(path)]) == 1
    assert f"{path}, line 4, column" in capsys.readouterr().err
