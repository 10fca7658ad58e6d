"""What isolated kernels compile is kept, and run in worker processes alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from isolated_kernels import ADD, isolated
from linalg_ext import cache
from linalg_ext.cache.store import FOLDER, Entry
from linalg_ext.executable.worker_process import exchange
from linalg_ext.runtime import kernel_cache, processes

X = np.ones((500, 3), np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER, str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each process that is started, whether it is to find the compiler loaded."""
    started: list[bool] = []
    fork = processes.fork

    def counted(*, compiles: bool) -> object:
        started.append(compiles)
        return fork(compiles=compiles)

    monkeypatch.setattr(processes, "fork", counted)
    return started


def files(folder: Path) -> dict[Path, bytes]:
    """The files of all entries, without the count of their blocks beside them."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "total")
    return {path: path.read_bytes() for path in paths}


def test_what_was_compiled_is_found(compilations: list[bool]) -> None:
    for count in (1, 2):
        kernel = isolated(ADD)
        np.testing.assert_array_equal(kernel(X, X), 2 * X)
        assert compilations == [True, False][:count]
        assert ("kept" in repr(kernel)) == (count == 2)
        assert "llvm.func" in kernel.as_text()
        kernel.close()
    processes.stop()  # one that has never loaded the compiler
    assert isolated(ADD)(X, X)[0, 0] == 2
    assert compilations == [True, False, False]


def test_code_for_threads_is_kept_with_it(folder: Path) -> None:
    text = """
    func.func @f(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<512x512xf32>
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
      %r = linalg.matmul ins(%a, %b : tensor<512x512xf32>, tensor<512x512xf32>)
        outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
      return %r : tensor<512x512xf32>
    }"""
    a = np.ones((512, 512), np.float32)
    first = isolated(text)
    before = files(folder)
    wanted = first(a, a, threads=2)
    after = files(folder)
    assert len(after) == len(before) == 2
    assert after != before
    again = isolated(text)
    np.testing.assert_array_equal(again(a, a, threads=2), wanted)
    assert files(folder) == after  # nothing was made anew


@pytest.mark.parametrize(
    "other",
    [{"checked": False}, {"opt_level": 3}, {"trusted": True}],
)
def test_other_options_are_other_kernels(compilations: list[bool], other: dict[str, Any]) -> None:
    isolated(ADD)
    isolated(ADD, **other)
    assert compilations == [True, True]


def test_no_other_process_runs_it(folder: Path) -> None:
    kernel = isolated(ADD)
    (summary,) = cache.entries()
    assert summary.name.endswith(", isolated")
    entry = cache.get(summary.key)
    assert entry is not None
    assert set(entry.files) == {"apart"}
    with pytest.raises(KeyError):
        kernel_cache.load(entry)
    assert not lx.compile(ADD).is_kept
    assert kernel(X, X)[0, 0] == 2
    isolated(ADD).close()


def test_what_a_process_apart_says_is_no_path(folder: Path) -> None:
    evil = Entry("../../key", {"recipe": None}, {"../../../evil": b"content"})
    exchange.keep_entries("ab" * 20, [(evil, "../name")])
    assert {path.name for path in files(folder.parent)} == {"apart", "record.jsonl"}
    assert exchange.kept_entries("ab" * 20) == [(evil, "../name")]


@pytest.mark.parametrize(
    "told", [[{"files": {"a": 9}}], [{"files": {"a": -1}}], [{"files": {"a": "1"}}], [3], 3]
)
def test_what_makes_no_sense_is_refused(told: object) -> None:
    with pytest.raises((AttributeError, KeyError, TypeError, ValueError)):
        exchange.entries_of(told, b"abc")


def test_what_is_of_no_use_is_compiled_anew(compilations: list[bool]) -> None:
    kernel = isolated(ADD)
    assert kernel._key is not None
    ((entry, name), *_) = exchange.kept_entries(kernel._key)
    damaged = entry._replace(files={**entry.files, kernel_cache.CODE: b"no code"})
    exchange.keep_entries(kernel._key, [(damaged, name)])
    again = isolated(ADD)
    assert compilations == [True, False, True]
    assert again(X, X)[0, 0] == 2


def test_nothing_is_kept_where_the_cache_is_off(folder: Path) -> None:
    with cache.off():
        assert isolated(ADD)(X, X)[0, 0] == 2
    assert files(folder) == {}
