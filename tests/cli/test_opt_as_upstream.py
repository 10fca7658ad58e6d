"""Options of mlir-opt in `linalg-ext opt`: the same output for the same options; further ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import linalg_ext as lx
from linalg_ext.cli import main
from linalg_ext.errors import ArgumentError
from resources import REPOSITORY, upstream_tool

FOLDED = """func.func @f(%x: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %y = arith.addi %x, %c0 : i32
  return %y : i32
}
func.func @g(%x: i32) -> i32 {
  return %x : i32
}
"""
PARTS = """func.func @f(%x: i32) -> i32 {
  return %x : i32
}
// -----
// expected-error @below {{undeclared SSA}}
func.func @g() { return %x : i32 }
// -----
func.func @h() -> tensor<8xi32> {
  %c = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32>
  return %c : tensor<8xi32>
}
// -----
func.func @k() {
  // expected-error-re@+1 {{requires {{one|two}} result}}
  "arith.addi"() : () -> ()
}
"""
WRONG = PARTS.replace("undeclared SSA", "nothing of this").replace("one|two", "ten")


def ours(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["opt", *map(str, arguments)])
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def theirs(*arguments: object) -> tuple[int, str, str]:
    ran = subprocess.run(
        [upstream_tool("mlir-opt-22"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize(
    "options",
    [
        "-canonicalize -cse --mlir-print-ir-after-all",
        "-canonicalize -cse -mlir-print-ir-after-all -mlir-print-ir-after-change",
        "-canonicalize --mlir-print-ir-after-change",
        "-canonicalize --mlir-print-ir-before-all --mlir-print-debuginfo",
        "--pass-pipeline=builtin.module(func.func(canonicalize),cse) --mlir-print-ir-after-all",
        "--pass-pipeline=builtin.module(func.func(cse)) --mlir-print-ir-after-all "
        "--mlir-print-ir-module-scope",
        "-canonicalize --mlir-print-ir-after=canonicalize --mlir-print-op-generic",
        "--mlir-print-debuginfo",
    ],
)
def test_ir_is_printed_as_upstream_does(
    options: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "x.mlir").write_text(FOLDED)
    code, *texts = ours(capfd, file, *options.split())
    # Upstream has to be told that it prints modules from one thread.
    wanted_code, *wanted = theirs(file, "--mlir-disable-threading", *options.split())
    assert code == wanted_code
    assert list(map(_plain, texts)) == list(map(_plain, wanted))


def _plain(text: str) -> str:
    """A text with `canonicalize` for how two versions name a pass, and its end trimmed."""
    text = re.sub(r"(IR Dump \w+) \w+ \(([\w-]+)\).* //-", r"\1 \2 //-", text)  # LLVM 22
    return re.sub(r"(IR Dump \w+) \w+: ([\w-]+).* //-", r"\1 \2 //-", text).rstrip()


@pytest.mark.parametrize("text", [PARTS, WRONG])
@pytest.mark.parametrize("verify", [[], ["--verify-diagnostics"]])
def test_parts_of_a_file_are_taken_apart(
    text: str, verify: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "x.mlir").write_text(text)
    options = ["--split-input-file", "--mlir-elide-elementsattrs-if-larger=4", *verify]
    code, out, err = ours(capfd, file, *options)
    wanted = theirs(file, *options)
    assert (code, out) == wanted[:2]
    if verify:
        assert _errors(err) == _errors(wanted[2])


def _errors(text: str) -> list[tuple[str, str]]:
    """The line of each error of the verification, and what it says."""
    found = re.findall(r":(\d+)(?::\d+)?: error: ((?:un)?expected .*)", text)
    return sorted(found)


def test_passes_of_this_library_print_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "x.mlir").write_text(FOLDED)
    name = "linalg-ext-fold-transposes"
    _, _, err = ours(capfd, file, "-cse", f"-{name}", "--mlir-print-ir-after-all")
    shown = re.findall(r"^// -----// IR Dump After (\w+: \S+) //----- //$", err, re.MULTILINE)
    assert shown == ["CSEPass: cse", f"FoldTransposesPass: {name}"]
    options = ["--mlir-print-ir-after-all", "--mlir-print-ir-after-change"]
    assert ours(capfd, file, f"-{name}", *options)[2] == ""


def test_the_time_of_each_pass_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (file := tmp_path / "x.mlir").write_text(FOLDED)
    _, _, err = ours(capfd, file, "-canonicalize", "-cse", "--mlir-timing")
    rows = re.findall(r"^ +[\d.]+ \( *[\d.]+%\)  (\S+)$", err, re.MULTILINE)
    assert rows == ["Parser", "canonicalize", "cse", "Output", "Rest", "Total"]
    assert "... Execution time report ..." in err


def test_a_file_of_python_brings_its_rewrites(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(
        "from linalg_ext.rewriting import module_pass, Report\n"
        '@module_pass("linalg-ext-mine-empty")\n'
        "def mine_empty(module):\n"
        '    """Take every function away."""\n'
        '    report = Report("linalg-ext-mine-empty")\n'
        "    for op in list(module.regions[0].blocks[0].operations):\n"
        "        op.operation.erase()\n"
        '        report.changed["func.func"] += 1\n'
        "    return report\n"
    )
    (file := tmp_path / "x.mlir").write_text(FOLDED)
    code, out, _ = ours(capfd, file, "--load", tmp_path / "mine.py", "-linalg-ext-mine-empty")
    assert (code, out) == (0, "module {\n}\n")
    code, _, err = ours(capfd, file, "--load", tmp_path / "none.py")
    assert code == 1
    assert "none.py: No such file" in err


def test_a_file_of_python_brings_its_dialects(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from linalg_ext.bindings import ir, provider\n"
        "from linalg_ext.dialects.loading import load_dialect\n"
        "from linalg_ext.ir.context import register_dialect\n"
        "import importlib\n"
        'ext = importlib.import_module(f"{provider()}.dialects.ext")\n'
        'class Mine(ext.Dialect, name="mine"): pass\n'
        'class Twice(Mine.Operation, name="twice"):\n'
        "    x: ext.Operand[ir.F32Type]\n"
        "    result: ext.Result[ir.F32Type]\n"
        "def load(context):\n"
        "    with context: load_dialect(Mine)\n"
        "register_dialect(load)\n"
    )
    (file := tmp_path / "x.mlir").write_text(
        'func.func @f(%x: f32) -> f32 {\n  %y = "mine.twice"(%x) : (f32) -> f32\n'
        "  return %y : f32\n}"
    )
    # In a process of its own: a dialect stays registered.
    mine = str(tmp_path / "mine.py")
    command = [sys.executable, "-m", "linalg_ext", "opt", str(file), "--load", mine]
    for options in ([], ["-cse", "--mlir-print-ir-after-all"]):
        ran = subprocess.run(
            [*command, *options], capture_output=True, text=True, cwd=REPOSITORY, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert '"mine.twice"' in ran.stdout
    assert "IR Dump After CSEPass" in ran.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--mlir-print-ir-after=nothing", "-cse"], 1, "nothing, which is not in the pipeline"),
        (["--sugar", "--mlir-print-debuginfo"], 2, "--sugar writes a form of its own"),
        (["--mlir-elide-elementsattrs-if-larger=-1"], 2, "greater than or equal to 0"),
        (["--mlir-print-it-after-all"], 1, "'mlir-print-it-after-all' is not a pass"),
    ],
)
def test_wrong_options_are_named(
    options: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (file := tmp_path / "x.mlir").write_text(FOLDED)
    found, _, err = ours(capfd, file, *options)
    assert found == code
    assert message in " ".join(err.replace("│", " ").split())


def test_errors_name_options_of_the_command_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "x.mlir").write_text('"foo.x"() : () -> ()')
    _, _, err = ours(capfd, file)
    assert "--allow-unregistered-dialect lets ops of unknown dialects pass" in err


def test_python_prints_in_the_same_way(capfd: pytest.CaptureFixture[str]) -> None:
    pipeline = "func.func(canonicalize),linalg-ext-fold-transposes"
    lx.parse(FOLDED).run(pipeline, print_after="all")
    assert capfd.readouterr().err.count("IR Dump After") == 3
    lx.parse(FOLDED).run(pipeline, print_after="change")
    assert capfd.readouterr().err.count("IR Dump After") == 1
    lx.parse(FOLDED).run(pipeline, print_after=["linalg-ext-fold-transposes"], trusted=True)
    assert capfd.readouterr().err.count("IR Dump After") == 1
    with pytest.raises(ArgumentError, match="print_after=3"):
        lx.parse(FOLDED).run(pipeline, print_after=3)  # type: ignore[arg-type]


def test_a_module_tells_its_locations() -> None:
    module = lx.Module.parse(FOLDED, filename='a "b".mlir')
    text = module.to_text(locations=True)
    assert 'loc("a \\"b\\".mlir":3:8)' in text
    assert lx.parse(text).to_text() == module.to_text()
    assert '"func.func"' in module.to_text(generic=True)
    with pytest.raises(ArgumentError, match="sugar= writes a form of its own"):
        module.to_text(sugar=True, locations=True)
