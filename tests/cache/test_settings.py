"""Where compiled code is kept, and that bad settings are said."""

from __future__ import annotations

from pathlib import Path

import pytest

import linalg_ext.cache as cache
from linalg_ext.cache.store import FOLDER, SIZE, chosen_folder, chosen_size
from linalg_ext.errors import CacheError


def test_the_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "here"))
    assert cache.folder() == tmp_path / "here"
    opened = cache.store()
    assert opened is not None
    assert opened.folder.parent == tmp_path / "here"
    assert cache.entries() == []
    assert cache.clear() == 0


def test_it_can_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, "off")
    assert cache.folder() is None
    assert cache.store() is None
    assert cache.entries() == []


def test_the_users_own_folder_is_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = chosen_folder()
    assert found is not None
    assert found.is_absolute()
    assert "linalg_ext" in found.parts


@pytest.mark.parametrize(
    ("text", "size"), [("", 1 << 30), ("500", 500), ("500M", 500 << 20), ("2 GiB", 2 << 30)]
)
def test_sizes(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv(SIZE, text)
    assert chosen_size() == size


@pytest.mark.parametrize("text", ["many", "-1", "1.5G", "1X"])
def test_what_is_no_size_is_said(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(SIZE, text)
    with pytest.raises(CacheError, match="expected a number of bytes"):
        chosen_size()


def test_a_folder_that_cannot_be_trusted_is_not_used_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv(FOLDER, str(folder))
    with pytest.warns(RuntimeWarning, match="is writable by other users"):
        assert cache.store() is None
    assert cache.store() is None  # said once
    with pytest.raises(CacheError, match="is writable by other users"):
        cache.entries()
