"""Descriptions in files, and the figures that later processes find."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from linalg_ext import target
from linalg_ext.errors import TargetError
from linalg_ext.target import stored

MEASURED = replace(target.figures("avx512"), source="measured")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(stored, "_measured", {})
    return tmp_path


def _keep() -> Path:
    path = target.figures_path()
    assert path is not None
    target.save(replace(target.host(), figures=MEASURED), path)
    return path


def test_what_was_measured_is_found() -> None:
    assert target.figures().source == "analytic"
    _keep()
    assert target.figures() == MEASURED
    assert target.figures("host") == MEASURED
    assert target.figures("avx2").source == "analytic"


def test_notes_make_no_other_machine_of_it() -> None:
    _keep()
    assert target.figures(target.host().with_note("a.b", 1)) == MEASURED


@pytest.mark.parametrize("text", ["", "[]", '{"name": "host"}', "\x00"])
def test_a_damaged_file_is_none(text: str) -> None:
    _keep().write_text(text)
    assert target.figures().source == "analytic"


def test_nothing_is_kept_where_the_cache_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", "off")
    assert target.figures_path() is None
    assert target.figures().source == "analytic"


def test_a_file_stands_for_a_machine_that_is_not_here(tmp_path: Path) -> None:
    path = tmp_path / "server.json"
    shipped = replace(target.named("avx2"), name="server", figures=MEASURED)
    target.save(shipped, path)
    with target.using(target.load(path)):
        assert target.current() == shipped
        assert target.figures() == MEASURED


def test_files_that_say_nothing_of_a_machine(tmp_path: Path) -> None:
    path = tmp_path / "server.json"
    with pytest.raises(TargetError, match="cannot be read: No such file"):
        target.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(TargetError, match="is not JSON"):
        target.load(path)
    data = target.to_data(replace(target.named("avx2"), figures=MEASURED))
    del data["figures"]["nest"]
    path.write_text(json.dumps(data))
    with pytest.raises(TargetError, match="lacks nest") as caught:
        target.load(path)
    assert str(path) in str(caught.value)


def test_a_folder_that_is_not_there_takes_no_file(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be written"):
        target.save(target.host(), tmp_path / "absent" / "server.json")
