"""`linalg-ext export`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.cli import main
from linalg_ext.target import host
from resources import skip_machine

TEXT = """
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "twice.mlir"
    path.write_text(TEXT)
    return str(path)


def test_a_module_becomes_a_folder(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if host().architecture != "x86_64":
        skip_machine("an x86-64 processor")
    folder = tmp_path / "out"
    assert main(["export", file, "-o", str(folder), "--target", "generic-x86-64", "--no-link"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        f"{folder}/{name}"
        for name in ("kernel.json", "load_twice.py", "lx_twice.h", "lx_twice.o", "stages/")
    ]
    assert "for generic-x86-64" in shown.err
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(lx.load(folder)(x), 2 * x)


def test_what_is_there_is_not_overwritten(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", file, "-o", str(tmp_path)]) == 1
    assert "is there already, and is not an exported kernel" in capsys.readouterr().err
    assert main(["export", file, "-o", str(tmp_path / "x"), "--target", "z80"]) == 1
    assert "z80" in capsys.readouterr().err
    assert main(["export", file]) == 2
