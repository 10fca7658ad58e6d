"""`linalg-ext cache`."""

from __future__ import annotations

from pathlib import Path

import pytest

from linalg_ext import cache
from linalg_ext.cache.keys import digest
from linalg_ext.cache.store import FOLDER, SIZE, Entry
from linalg_ext.cli import main


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(FOLDER, str(tmp_path / "kernels"))
    monkeypatch.setenv(SIZE, "2M")
    store = cache.store()
    assert store is not None
    for name in ("matmul", "[row_sum]"):
        store.put(Entry(digest(name), {}, {"code.o": bytes(1000)}), name=name)
    return tmp_path / "kernels"


def test_what_is_kept_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache"]) == 0
    shown = capsys.readouterr().out
    assert "matmul" in shown
    assert "[row_sum]" in shown
    assert "1.3" in shown  # KiB


def test_where_and_how_much(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "info"]) == 0
    shown = capsys.readouterr().out
    assert str(folder) in shown
    assert "entries  2" in shown
    assert "of 2 MiB" in shown


def test_all_is_removed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "clear"]) == 0
    assert "removed 2 entries" in capsys.readouterr().out
    assert cache.entries() == []


def test_it_can_be_off(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(FOLDER, "off")
    assert main(["cache", "clear"]) == 0
    assert "compiled code is not kept" in capsys.readouterr().out


def test_what_cannot_be_used_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SIZE, "much")
    assert main(["cache", "info"]) == 1
    assert "expected a number of bytes" in capsys.readouterr().err
    monkeypatch.delenv(SIZE)
    folder.chmod(0o777)
    assert main(["cache"]) == 1
    assert "chmod go-w" in capsys.readouterr().err
