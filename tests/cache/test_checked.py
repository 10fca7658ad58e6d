"""Files that nobody else can change: at every level, whatever names come to mean meanwhile."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from linalg_ext.cache import checked
from linalg_ext.cache.checked import Rule, make_folders, open_folder, read_file
from linalg_ext.errors import CacheError

RULE = Rule("for a test", "choose another one")
NOBODY = 65534


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can pass."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


def by_another_user(do: Callable[[], None]) -> None:
    """Do something as another user; where this one may not, pretend that we are another one."""
    if os.geteuid():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "geteuid", lambda: NOBODY)
            do()
        return
    child = os.fork()
    if not child:
        status = 1
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            do()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_all_that_is_made_is_for_this_user_alone(place: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with open_folder(place / "a" / "b", RULE, make=True) as folder:
            folder.write("file", b"content")
            folder.folder("c", make=True).close()
        make_folders(place / "d" / "e")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in place.rglob("*")}
    assert modes == {"file": 0o600, **dict.fromkeys("abcde", 0o700)}
    assert read_file(place / "a" / "b" / "file", RULE) == b"content"


def test_every_level_is_checked_each_time(place: Path) -> None:
    with open_folder(place / "a" / "b", RULE, make=True) as folder:
        folder.write("file", b"content")
    for level, mode in ((place, 0o711), (place / "a", 0o700), (place / "a" / "b", 0o700)):
        for wrong in (0o730, 0o703, 0o777):
            level.chmod(wrong)
            with pytest.raises(
                CacheError, match=f"the folder {level} .* is writable by other users"
            ) as told:
                read_file(place / "a" / "b" / "file", RULE)
            assert f"chmod go-w {level}" in str(told.value)
        level.chmod(mode)
    (place / "a" / "b" / "file").chmod(0o660)
    with pytest.raises(CacheError, match=r"the file .* is writable by other users"):
        read_file(place / "a" / "b" / "file", RULE)
    with (
        open_folder(place, RULE) as folder,
        pytest.raises(CacheError, match="is writable by other users"),
    ):
        folder.read("a/b/file")


def test_sticky_folders_are_passed_and_never_the_place_itself(place: Path) -> None:
    (place / "file").write_bytes(b"content")
    (place / "file").chmod(0o600)
    place.chmod(0o1777)
    assert read_file(place / "file", RULE) == b"content"
    with pytest.raises(CacheError, match="is writable by other users"):
        open_folder(place, RULE)
    (place / "below").mkdir(mode=0o700)
    with open_folder(place / "below", RULE) as folder:
        (place / "below").chmod(0o1777)
        folder.folder("again", make=True).close()
    with pytest.raises(CacheError, match="is writable by other users"):
        open_folder(place / "below", RULE)


def test_own_links_are_followed(place: Path) -> None:
    with open_folder(place / "real", RULE, make=True) as folder:
        folder.write("file", b"content")
    (place / "there").symlink_to("real")
    (place / "absolute").symlink_to(place / "there")
    (place / "real" / "other").symlink_to("../there/file")
    assert read_file(place / "absolute" / "other", RULE) == b"content"
    assert read_file(place / "absolute" / ".." / "real" / "file", RULE) == b"content"
    with open_folder(place, RULE) as folder:
        assert folder.read("there/other") == b"content"
    (place / "round").symlink_to("round")
    with pytest.raises(OSError, match=r"round"):
        open_folder(place / "round", RULE)


def test_links_where_others_may_write_are_refused(place: Path) -> None:
    open_folder(place / "real", RULE, make=True).close()
    (place / "open").mkdir()
    (place / "open" / "link").symlink_to(place / "real")
    (place / "open").chmod(0o777)
    with pytest.raises(CacheError, match=r"the folder .* is writable by other users"):
        open_folder(place / "open" / "link", RULE)


def test_links_of_another_user_are_refused(place: Path) -> None:
    open_folder(place / "real", RULE, make=True).close()
    place.chmod(0o1777)
    by_another_user(lambda: (place / "link").symlink_to(place / "real"))
    if os.geteuid():
        return  # the link is ours: only root can make one that is not
    with pytest.raises(CacheError, match=r"the link .*link .* belongs to another user"):
        open_folder(place / "link", RULE)


def test_what_belongs_to_another_user_is_refused(place: Path) -> None:
    place.chmod(0o755)
    (place / "a").mkdir(mode=0o755)
    (place / "a" / "file").write_bytes(b"content")

    def look() -> None:
        for path in (place / "a", place / "a" / "file"):
            with pytest.raises(CacheError, match="belongs to another user"):
                (open_folder if path.is_dir() else read_file)(path, RULE)
        if os.stat("/").st_uid == os.stat(place).st_uid:
            allowing = RULE._replace(may_be_roots=True)
            assert read_file(place / "a" / "file", allowing) == b"content"

    by_another_user(look)


def test_what_was_checked_is_what_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        with open_folder(place / name, RULE, make=True) as folder:
            folder.write("file", name.encode())
    link = place / "link"
    check = checked._check

    def swap_after(found: os.stat_result, where: str, *args: object, **options: object) -> None:
        check(found, where, *args, **options)  # type: ignore[arg-type]
        if where.endswith("first") and os.readlink(link) == "first":
            link.unlink()
            link.symlink_to("second")

    link.symlink_to("first")
    monkeypatch.setattr(checked, "_check", swap_after)
    assert read_file(link / "file", RULE) == b"first"
    link.unlink()
    link.symlink_to("first")
    with open_folder(link, RULE) as folder:
        shutil.rmtree(place / "first")
        (place / "second").rename(place / "first")
        with pytest.raises(FileNotFoundError):
            folder.read("file")


def test_what_is_no_file_is_not_waited_for(place: Path) -> None:
    os.mkfifo(place / "pipe", 0o600)
    (place / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(OSError, match=name):
            read_file(place / name, RULE)
    with pytest.raises(NotADirectoryError):
        open_folder(place / "pipe", RULE, make=True)
