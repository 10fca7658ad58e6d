"""`--json`: a document on standard output, and nothing else there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from command_files import write_files
from linalg_ext import transforms
from linalg_ext.cli import main
from linalg_ext.cli._files import array_data


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_results(capsys: pytest.CaptureFixture[str]) -> None:
    ran = document(capsys, "run", "FILE.mlir", "-i", "x.npz", "--in-process")
    assert ran["results"] == {"out0": {"dtype": "float32", "shape": [4], "values": [0, 1, 2, 3]}}
    assert ran["signature"] == "f(tensor<4xf32>) -> (tensor<4xf32>)"
    assert ran["milliseconds"] > 0


def test_results_in_a_file_are_not_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    ran = document(capsys, "run", "FILE.mlir", "-i", "x.npz", "-o", "y.npz", "--in-process")
    assert (ran["outputs"], ran["results"]) == ("y.npz", {})


def test_an_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = document(capsys, "run", "FILE.mlir", "--explain", "--in-process")
    assert first["title"].startswith("kernel f(")
    assert [row["name"] for row in first["rows"]] == ["target", "threads"]


def test_passes(capsys: pytest.CaptureFixture[str]) -> None:
    passes = {each["name"]: each for each in document(capsys, "opt", "--list")}
    folding = passes["linalg-ext-fold-transposes"]
    assert folding["summary"] == transforms.fold_transposes.summary
    assert folding["options"][0].startswith("results: true or false")


def test_a_module_is_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "FILE.mlir", "--json"]) == 2
    assert "--json goes with --list" in capsys.readouterr().err
    assert main(["run", "FILE.mlir", "--json", "--asm"]) == 2


def test_what_is_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = document(capsys, "export", "FILE.mlir", "-o", "layer", "--no-link")
    assert done["folder"] == str(folder / "layer")
    assert str(folder / "layer" / "kernel.json") in done["files"]
    assert all(Path(name).is_file() for name in done["files"])


def test_what_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "FILE.mlir", "-i", "x.npz", "--in-process"]) == 0
    capsys.readouterr()
    kept = document(capsys, "cache", "list")
    assert kept["folder"] == str(folder / "cache")
    assert kept["size"] == sum(each["size"] for each in kept["entries"]) > 0
    cleared = document(capsys, "cache", "clear")
    assert (cleared["removed"], cleared["entries"]) == (len(kept["entries"]), [])


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (np.array([[True, False]]), [[True, False]]),
        (np.array(-3, np.int8), -3),
        (np.array([1 + 2j]), [[1.0, 2.0]]),
        (np.array([1.5, -np.inf, np.nan], ml_dtypes.bfloat16), [1.5, "-inf", "nan"]),
        (np.zeros((2, 0)), [[], []]),
        (np.array([3], ml_dtypes.int4), [3]),
    ],
)
def test_values(array: Any, values: object) -> None:
    data = array_data(array)
    assert data == {"dtype": array.dtype.name, "shape": list(array.shape), "values": values}
    assert json.loads(json.dumps(data, allow_nan=False)) == data
