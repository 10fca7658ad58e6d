"""`linalg-ext target`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linalg_ext import target
from linalg_ext.cli import main


def test_this_machine_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["target"]) == 0
    shown = capsys.readouterr().out
    assert "target host" in shown
    assert "multiply-adds" in shown


def test_a_named_one_as_json_that_can_be_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "avx2.json"
    assert main(["target", "avx2", "--json", "-o", str(path)]) == 0
    assert target.load(path).figures == target.figures("avx2")
    assert main(["target", "--file", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(path.read_text())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["avx3"], 1, "did you mean avx2"),
        (["--file", "absent.json"], 1, "absent.json cannot be read"),
        (["avx2", "--calibrate"], 2, "one of them"),
        (["avx2", "--file", "x.json"], 2, "one of them"),
    ],
)
def test_wrong_calls(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["target", *arguments]) == code
    assert message in " ".join(capsys.readouterr().err.split())
