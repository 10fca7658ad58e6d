"""What the library tells through `logging`, and where."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError
from linalg_ext.utils import logs
from linalg_ext.utils.logs import NAMES, VARIABLE, logger

TEXT = """func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("LINALG_EXT_TUNING", str(tmp_path / "tuning.json"))


def told(caplog: pytest.LogCaptureFixture, name: str) -> str:
    return "\n".join(r.getMessage() for r in caplog.records if r.name == f"linalg_ext.{name}")


def test_a_compilation_and_what_is_found_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "linalg_ext")
    lx.compile(TEXT, trusted=True)
    assert "kernel double(tensor<4xf32>) -> (tensor<4xf32>)\n" in told(caplog, "compile")
    assert "the cache has no entry" in told(caplog, "cache")
    assert "kept double(" in told(caplog, "cache")
    caplog.clear()
    lx.compile(TEXT, trusted=True)
    assert told(caplog, "compile") == ""
    assert told(caplog, "cache").startswith("found double(")


def test_what_takes_a_slower_way(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "linalg_ext")
    text = """func.func @folded(%a: tensor<8xi64>, %b: tensor<8xi64>) -> tensor<8xi64> {
      %r = linalg.generic {
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["reduction"]
      } ins(%a : tensor<8xi64>) outs(%b : tensor<8xi64>) {
      ^bb0(%x: i64, %o: i64):
        %w = arith.remsi %x, %o : i64
        linalg.yield %w : i64
      } -> tensor<8xi64>
      return %r : tensor<8xi64>
    }"""
    ((_, reason),) = lx.compile(text, trusted=True).explain().left
    assert told(caplog, "fallbacks") == f"folded: vectorize-loops left {reason}"


def test_what_measuring_found(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "linalg_ext")
    lx.compile(TEXT, trusted=True, tune=0.01)
    assert told(caplog, "tuning").startswith("double(tensor<4xf32>) -> (tensor<4xf32>): measured ")


def test_nothing_is_shown_unless_asked_for(tmp_path: Path) -> None:
    said = {}
    for level in ("", "info"):
        environment = {**os.environ, VARIABLE: level}
        program = f"import linalg_ext as lx; lx.compile({TEXT!r}, trusted=True)"
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        said[level] = ran.stderr
    assert said[""] == ""
    assert "linalg_ext.cache: found double(" in said["info"]  # the first run kept it


@pytest.mark.parametrize(
    ("said", "levels"),
    [
        ("info", {"": logging.INFO}),
        ("compile=info, cache=DEBUG", {"compile": logging.INFO, "cache": logging.DEBUG}),
    ],
)
def test_levels(said: str, levels: dict[str, int]) -> None:
    assert logs._parsed(said) == levels


@pytest.mark.parametrize("said", ["loud", "compiler=info", "compile=", "info,", "compile:info"])
def test_what_is_no_level(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, said)
    with pytest.raises(ArgumentError, match="expected debug, info, warning") as caught:
        logger("compile")
    assert all(name in str(caught.value) for name in NAMES)


def test_records_keep_no_kernel(caplog: pytest.LogCaptureFixture) -> None:
    """Who collects records, as tests do, holds no kernel by them."""
    caplog.set_level(logging.DEBUG, "linalg_ext")
    kernel = weakref.ref(lx.compile(TEXT, trusted=True))
    gc.collect()
    assert told(caplog, "compile")
    assert kernel() is None
