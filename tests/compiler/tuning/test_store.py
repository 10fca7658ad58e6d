"""The file that remembers: written whole, shared, and ignored where it is broken."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import linalg_ext as lx
from linalg_ext.compiler.tuning import store
from linalg_ext.target import host


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "folder" / "tuning.json"
    monkeypatch.setenv("LINALG_EXT_TUNING", str(path))
    return path


def test_what_is_remembered_is_there(file: Path) -> None:
    assert lx.tuning.entries() == {}
    store.remember("a", {"x": 1})
    store.remember("b", {"x": 2})
    assert lx.tuning.entries() == {"a": {"x": 1}, "b": {"x": 2}}
    assert lx.tuning.path() == file
    lx.tuning.clear()
    assert lx.tuning.entries() == {}
    lx.tuning.clear()


def test_many_at_once_lose_nothing() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: store.remember(str(number), {"n": number}), range(24)))
    assert set(lx.tuning.entries()) == set(map(str, range(24)))


@pytest.mark.parametrize("text", ["{", "[]", '{"entries": 3}', "\0\xff"])
def test_a_broken_file_is_ignored_with_a_warning(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text, encoding="latin-1")
    with pytest.warns(RuntimeWarning, match="is ignored") as caught:
        assert lx.tuning.entries() == {}
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="is ignored"):
        store.remember("a", {})
    assert lx.tuning.entries() == {"a": {}}


def test_a_file_of_another_format_is_not_read(file: Path) -> None:
    store.remember("a", {})
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "format": store.FORMAT + 1}))
    assert lx.tuning.entries() == {}


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_it_is_written_for_this_user_alone(file: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store.remember("a", {"x": 1})
    finally:
        os.umask(before)
    assert (file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    assert lx.tuning.entries() == {"a": {"x": 1}}


def test_what_others_could_have_written_is_ignored_with_a_warning(file: Path) -> None:
    store.remember("a", {"x": 1})
    for place, mode in ((file, 0o600), (file.parent, 0o700)):
        place.chmod(0o777)
        with pytest.warns(
            RuntimeWarning, match=f"is ignored: the .*{place} .*is writable by other users"
        ):
            assert lx.tuning.entries() == {}
        place.chmod(mode)
    assert lx.tuning.entries() == {"a": {"x": 1}}


def test_where_nothing_can_be_written_it_says_so(file: Path) -> None:
    file.parent.write_text("a file, no folder")
    with pytest.warns(RuntimeWarning, match="not stored"):
        store.remember("a", {})


def test_machine_problem_and_threads_are_in_the_key() -> None:
    here = host()
    keys = {
        store.key_of(here, "p", 1),
        store.key_of(here, "p", 2),
        store.key_of(here, "q", 1),
        store.key_of(replace(here, logical_cores=here.logical_cores + 1), "p", 1),
    }
    assert len(keys) == 4


def test_it_is_in_the_users_cache_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINALG_EXT_TUNING")
    assert lx.tuning.path().name == "tuning.json"
    assert "linalg_ext" in lx.tuning.path().parts
