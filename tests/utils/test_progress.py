"""The bar of long work: where it is shown, and what it says."""

from __future__ import annotations

import contextlib
import io

import pytest

import linalg_ext as lx
from linalg_ext import cache
from linalg_ext.utils import progress
from linalg_ext.utils.progress import PATIENCE, VARIABLE, Progress

TEXT = """func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}"""


class Terminal(io.StringIO):
    """A text that says of itself that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv(VARIABLE, raising=False)


def shown(seconds: float, kind: type[io.StringIO] = Terminal) -> str:
    """Return the drawing of two steps, the second of which begins after some seconds."""
    times = iter([0.0, 0.0, seconds])
    # A fixture would come too early: pytest sets the stream when the test itself begins.
    with contextlib.redirect_stderr(kind()) as stream:
        with Progress("counting", 2, lambda: next(times)) as bar:
            bar.advance("one")
            bar.advance("two")
        return stream.getvalue()


def test_long_work_is_shown_with_its_step() -> None:
    text = shown(2 * PATIENCE)
    assert "counting" in text
    assert "two" in text


def test_short_work_is_not_shown() -> None:
    assert shown(PATIENCE / 2) == ""


@pytest.mark.parametrize("name", [VARIABLE, "TERM"])
def test_a_variable_leaves_the_bar_out(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, {VARIABLE: "off", "TERM": "dumb"}[name])
    assert shown(2 * PATIENCE) == ""


def test_a_file_is_no_terminal() -> None:
    assert shown(2 * PATIENCE, io.StringIO) == ""


def test_one_bar_is_drawn_at_a_time() -> None:
    with progress.alone():
        assert shown(2 * PATIENCE) == ""
    assert "counting" in shown(2 * PATIENCE)
    assert "counting" in shown(2 * PATIENCE)  # the first one has made room


def test_a_long_compilation_shows_its_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with cache.off(), contextlib.redirect_stderr(Terminal()) as stream:
        lx.compile(TEXT, trusted=True)
    text = stream.getvalue()
    assert "compiling" in text
    assert "machine code" in text
