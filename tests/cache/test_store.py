"""The store of compiled code: whole entries, many processes, bad files, a bound."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from linalg_ext.cache import keys
from linalg_ext.cache.keys import digest, makers
from linalg_ext.cache.store import RECORD, Entry, Store
from linalg_ext.errors import CacheError

KEY = digest("a kernel")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path, 1 << 20)


def _entry(key: str = KEY, size: int = 100) -> Entry:
    return Entry(key, {"n": 3, "names": ["a"]}, {"code.o": bytes(size), "module": b"\n\0x\n"})


def _place(store: Store, key: str = KEY) -> Path:
    return store.folder / key[:2] / key


def test_what_is_put_is_found(store: Store) -> None:
    assert store.get(KEY) is None
    store.put(_entry(), name="matmul")
    assert store.get(KEY) == _entry()
    (summary,) = store.entries()
    assert (summary.key, summary.name) == (KEY, "matmul")
    assert summary.size == sum(path.stat().st_size for path in _place(store).iterdir())


def test_what_is_there_already_stays(store: Store) -> None:
    store.put(_entry(), name="first")
    store.put(_entry(size=7), name="second")
    assert store.get(KEY) == _entry()
    assert [path.name for path in _place(store).parent.iterdir()] == [KEY]


@pytest.mark.parametrize("file", ["code.o", "module", RECORD])
def test_every_file_says_its_format_and_version(store: Store, file: str) -> None:
    store.put(_entry(), name="matmul")
    start = (_place(store) / file).read_bytes()[:120].decode(errors="replace")
    assert "linalg_ext kernel" in start
    assert "version" in start


@pytest.mark.parametrize("file", ["code.o", "module", RECORD])
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "gone", "foreign", "folder"])
def test_damaged_entries_are_absent_and_can_be_put_again(
    store: Store, file: str, damage: str
) -> None:
    store.put(_entry(), name="matmul")
    path = _place(store) / file
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "gone":
        flipped = bytes([content[-2] ^ 1])
        path.write_bytes(
            {
                "cut": content[:-1],
                "flipped": content[:-2] + flipped + content[-1:],
                "empty": b"",
                "foreign": b"\x7fELF" + content,
            }[damage]
        )
    found = store.get(KEY)
    assert found is None
    store.put(_entry(), name="matmul")
    assert store.get(KEY) == _entry()


def test_another_version_is_absent(store: Store) -> None:
    store.put(_entry(), name="matmul")
    record = _place(store) / RECORD
    record.write_text(record.read_text().replace('"version": 1', '"version": 2'))
    assert store.get(KEY) is None


def test_an_entry_under_another_key_is_absent(store: Store) -> None:
    other = digest("another")
    store.put(_entry(), name="matmul")
    _place(store, other).parent.mkdir(exist_ok=True)
    os.rename(_place(store), _place(store, other))
    assert store.get(other) is None


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    store = Store(tmp_path, 12_000)
    keys = [digest(number) for number in range(12)]
    for number, key in enumerate(keys[:4]):
        store.put(_entry(key, 2000), name=f"k{number}")
        os.utime(_place(store, key), (number, number))
    assert store.get(keys[0]) is not None  # used now
    store.put(_entry(keys[4], 2000), name="k4")
    left = {summary.key for summary in store.entries()}
    assert keys[0] in left
    assert keys[4] in left
    assert keys[1] not in left
    for key in keys[5:]:
        store.put(_entry(key, 2000), name="more")
        assert sum(summary.size for summary in store.entries()) <= store.limit


def test_an_entry_larger_than_the_limit_does_no_harm(tmp_path: Path) -> None:
    store = Store(tmp_path, 100)
    store.put(_entry(size=5000), name="large")
    assert store.entries() == []
    assert store.get(KEY) is None


def test_a_store_is_measured_once_until_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[Store] = []
    measure = Store._measured

    def counted(store: Store) -> Any:
        measured.append(store)
        return measure(store)

    monkeypatch.setattr(Store, "_measured", counted)
    first, second = Store(tmp_path, 200_000), Store(tmp_path, 200_000)
    for number in range(20):
        (first, second)[number % 2].put(_entry(digest(number), 6000), name="k")
    assert len(measured) == 1
    for number in range(20, 60):
        second.put(_entry(digest(number), 6000), name="k")
    assert 2 <= len(measured) <= 40
    assert sum(summary.size for summary in first.entries()) <= first.limit
    (tmp_path / "v1" / "total").unlink()  # as in a store that an earlier version wrote
    measured.clear()
    first.put(_entry(digest("more")), name="k")
    first.put(_entry(digest("still more")), name="k")
    assert len(measured) == 1


def test_clear_removes_all(store: Store) -> None:
    for number in range(3):
        store.put(_entry(digest(number)), name="k")
    assert store.clear() == 3
    assert store.entries() == []
    assert store.clear() == 0


def test_processes_write_at_once_and_one_is_killed(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        from linalg_ext.cache.keys import digest
        from linalg_ext.cache.store import Entry, Store
        store = Store(Path(sys.argv[1]), 200_000)
        for number in range(60):
            key = digest(number)
            content = bytes([number]) * 5000
            store.put(Entry(key, {}, {"code.o": content}), name="k")
            found = store.get(key)
            assert found is None or found.files == {"code.o": content}, number
            if sys.argv[2] == "3" and number == 30:
                os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(number)])
        for number in range(8)
    ]
    codes = [process.wait(timeout=120) for process in processes]
    assert [code for number, code in enumerate(codes) if number != 3] == [0] * 7
    assert codes[3] == -9
    store = Store(tmp_path, 200_000)
    for number in range(60):
        found = store.get(digest(number))
        assert found is None or found.files["code.o"] == bytes([number]) * 5000
    store.put(_entry(digest("last"), 5000), name="k")
    assert sum(summary.size for summary in store.entries()) <= store.limit


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_what_is_made_is_believed_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    store = Store(tmp_path / ".cache" / "linalg_ext" / "kernels", 1 << 20)
    before = os.umask(umask)
    try:
        store.put(_entry(), name="matmul")
        assert store.get(KEY) == _entry()
    finally:
        os.umask(before)
    for path in (tmp_path / ".cache").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
@pytest.mark.parametrize("level", range(3))
def test_folders_that_others_can_write_to_are_refused(
    tmp_path: Path, mode: int, level: int
) -> None:
    store = Store(tmp_path / "kernels", 1 << 20)
    store.put(_entry(), name="matmul")
    assert store.get(KEY) == _entry()
    place = (store.root, store.folder, store.folder / KEY[:2])[level]
    place.chmod(mode)
    for use in (
        lambda: store.get(KEY),
        lambda: store.put(_entry(), name="matmul"),
        lambda: store.remove(KEY),
        store.entries,
    ):
        with pytest.raises(
            CacheError, match=f"the folder {place} .* is writable by other users"
        ) as error:
            use()
        assert f"chmod go-w {place}" in str(error.value)
    place.chmod(0o755)
    assert store.get(KEY) == _entry()


@pytest.mark.parametrize("what", ["entry", RECORD, "code.o"])
def test_a_planted_entry_is_absent_and_removed(store: Store, what: str) -> None:
    store.put(_entry(), name="matmul")
    planted = _place(store) if what == "entry" else _place(store) / what
    planted.chmod(0o777)  # anybody could have put there what it is
    assert store.get(KEY) is None
    assert not _place(store).exists()
    store.put(_entry(), name="matmul")
    if not os.geteuid():
        os.chown(planted, 65534, 65534)
        assert store.get(KEY) is None
    else:
        planted.chmod(0o770)
        assert store.get(KEY) is None
    store.put(_entry(), name="matmul")
    assert store.get(KEY) == _entry()


def test_a_link_in_the_place_of_an_entry_leads_nowhere_else(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other", 1 << 20)
    other.put(_entry(size=7), name="planted")
    (tmp_path / "other").chmod(0o777)
    _place(store).parent.mkdir(parents=True, mode=0o700)
    store.folder.chmod(0o700)
    _place(store).symlink_to(_place(other))
    assert store.get(KEY) is None
    assert not os.path.lexists(_place(store))
    assert _place(other).exists()


def test_a_file_where_the_folder_should_be_is_an_error(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(CacheError, match="cannot be used"):
        Store(place, 1 << 20).get(KEY)


def test_digests_differ_wherever_the_parts_do() -> None:
    parts: list[object] = [
        (),
        ("ab", "c"),
        ("a", "bc"),
        (("a",), "bc"),
        (1,),
        (1.0,),
        (True,),
        ("1",),
        (b"1",),
        (None,),
        ({"a": 1},),
        ({"a": 2},),
        (frozenset({1, 2}),),
        ((1, 2),),
    ]
    assert len({digest(*part) for part in parts if isinstance(part, tuple)}) == len(parts)
    assert digest(frozenset({"x", "y", "z"})) == digest(frozenset({"z", "y", "x"}))
    with pytest.raises(TypeError, match="object"):
        digest(object())


@pytest.mark.parametrize(
    "file", ["compiler/code_generation.py", "runtime/thread_pool.mlir", "bindings"]
)
def test_a_change_to_any_file_of_the_makers_is_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    package = tmp_path / "package"
    names = ("compiler/code_generation.py", "runtime/thread_pool.mlir", "cache/keys.py")
    for name in names:
        (package / name).parent.mkdir(parents=True)
        (package / name).write_text("first")
    bindings = tmp_path / "mlir" / "_mlir_libs" / "libMLIR.so"
    bindings.parent.mkdir(parents=True)
    (tmp_path / "mlir" / "__init__.py").touch()
    bindings.write_text("first")
    monkeypatch.setattr(keys, "_PACKAGE", package)
    monkeypatch.setattr(keys, "PROVIDERS", ("mlir",))
    monkeypatch.syspath_prepend(str(tmp_path))
    made = makers.__wrapped__
    before = made()
    assert made() == before
    changed = bindings if file == "bindings" else package / file
    found = changed.stat()
    changed.write_text("other")  # of the same size, at the same time as far as anybody says
    os.utime(changed, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert (changed.stat().st_size, changed.stat().st_mtime_ns) == (5, found.st_mtime_ns)
    assert made() != before


def test_the_makers_are_this_library_and_the_bindings() -> None:
    names = [text.rsplit(" ", 4)[0] for text in keys._sources()]
    assert str(Path(keys.__file__)) in names
    assert any("/checks/refuse_untrusted.py" in name for name in names)
    assert any("/_mlir_libs/" in name for name in names)
    assert any(name.endswith("/dialects/linalg/__init__.py") for name in names)
