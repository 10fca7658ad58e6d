"""`linalg-ext explain`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.cli import main
from linalg_ext.executable.kernel import Kernel

TEXT = """func.func @twice(%x: tensor<640xf32>) -> tensor<640xf32> {
  %y = arith.addf %x, %x : tensor<640xf32>
  return %y : tensor<640xf32>
}
"""
OPEN = TEXT.replace("640", "?")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("twice.mlir").write_text(TEXT)
    Path("open.mlir").write_text(OPEN)
    np.savez("x.npz", in0=np.ones(100, np.float32))
    return "twice.mlir"


def test_plans_and_loops_are_told(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", file]) == 0
    told = capsys.readouterr().out
    assert "loops over vectors, 1 op in one pass" in told
    assert "@lx_entry_twice\n  for 0 to 640 by " in told
    assert "measured" not in told


def test_the_page_is_written_and_named(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", file, "--html", "page.html", "--measure"]) == 0
    assert capsys.readouterr().out.strip() == "page.html"
    html = Path("page.html").read_text()
    assert "time of a call" in html
    assert "// twice.mlir" in html


def test_scripts_read_json(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "open.mlir", "--json", "--inputs", "x.npz", "--target", "host"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["signature"].startswith("twice(")
    assert told["stages"][0]["name"] == "module"
    assert told["measured"]["calls"] >= 3
    assert any("vector.load" in line for line in told["loops"])


def test_steps_are_taken_first(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = TEXT.replace("%y = arith.addf", "%y = linalg.add").replace(
        "%x, %x : tensor<640xf32>",
        "ins(%x, %x : tensor<640xf32>, tensor<640xf32>) "
        "outs(%x : tensor<640xf32>) -> tensor<640xf32>",
    )
    Path(file).write_text(text)
    steps = lx.Schedule(text).match("add").tile([16]).to_json()
    Path("steps.json").write_text(steps)
    assert main(["explain", file, "--schedule", "steps.json", "--html", "page.html"]) == 0
    assert "tile(" in Path("page.html").read_text()


def test_spellings_that_are_not_mlirs_are_shown_as_it_read_them(file: str) -> None:
    Path(file).write_text(
        "func.func @f(%a: tensor<3x2xf32>, %b: tensor<3x4xf32>, %c: tensor<2x4xf32>)"
        " -> tensor<2x4xf32> {\n"
        "  %r = linalg.matmul_transpose_a ins(%a, %b : tensor<3x2xf32>, tensor<3x4xf32>)\n"
        "    outs(%c : tensor<2x4xf32>) -> tensor<2x4xf32>\n  return %r : tensor<2x4xf32>\n}\n"
    )
    assert main(["explain", file, "--html", "page.html"]) == 0
    assert "as MLIR reads it" in Path("page.html").read_text()


def test_an_exported_kernel_is_named_by_its_folder(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lx.compile(TEXT).export("layer", library=False)
    assert main(["explain", "layer", "--measure"]) == 0
    told = capsys.readouterr().out
    assert "loops over vectors" in told
    assert "measured" in told


def test_what_nobody_vouches_for_is_measured_apart(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def called(*arguments: Any, **options: Any) -> None:
        raise AssertionError("it was called in this process")

    monkeypatch.setattr(Kernel, "__call__", called)
    for more in ([], ["--search", "greedy"]):
        assert main(["explain", file, "--measure", *more]) == 0
        assert "measured" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="in this process"):
        main(["--debug", "explain", file, "--measure", "--trusted"])


def test_what_kills_its_process_is_told(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(file).write_text(
        "func.func @f(%a: memref<4xi64>) {\n"
        "  %z = arith.constant 0 : index\n  %x = memref.load %a[%z] : memref<4xi64>\n"
        "  %far = arith.constant 1000000000000 : index\n"
        "  %v = memref.reinterpret_cast %a to offset: [%far], sizes: [4], strides: [1]"
        " : memref<4xi64> to memref<4xi64, strided<[1], offset: ?>>\n"
        "  memref.store %x, %v[%z] : memref<4xi64, strided<[1], offset: ?>>\n  return\n}\n"
    )
    assert main(["explain", file, "--measure", "--unchecked"]) == 1
    assert "SIGSEGV" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["twice.mlir", "--html", "p.html", "--json"], 2, "--html and --json at once"),
        (["twice.mlir", "--threads", "0"], 2, "--threads"),
        (["nowhere.mlir"], 1, "nowhere.mlir: No such file"),
        (["twice.mlir", "--html", "no/p.html"], 1, "no/p.html cannot be written"),
        (["twice.mlir", "--entry", "thrice"], 1, "no function `thrice`"),
        (["twice.mlir", "--target", "z80"], 1, "'z80' is not a known target"),
        (["twice.mlir", "--schedule", "twice.mlir"], 1, "the text is not a schedule"),
        (["twice.mlir", "--inputs", "x.npz"], 1, "x.npz"),
        (["twice.mlir", "--inputs", "twice.mlir"], 1, "twice.mlir cannot be read"),
        (["open.mlir", "--measure"], 1, "leaves sizes open"),
        (["x.npz"], 1, "x.npz is not text"),
        (["."], 1, "has no file kernel.json"),
        ([".", "--entry", "f"], 1, "--entry and the folder of a kernel"),
        ([".", "-O", "2"], 1, "-O and the folder of a kernel"),
        ([".", "--unchecked"], 1, "--unchecked and the folder of a kernel"),
    ],
)
def test_mistakes_are_told(
    file: str, arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *arguments]) == code
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_groups_are_searched_for(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", file, "--search", "greedy"]) == 0
    assert re.search(r"search +greedy, seed 0", capsys.readouterr().out)
    assert main(["explain", file, "--search", "gredy"]) == 1
    assert "'gredy' is not a strategy" in capsys.readouterr().err
