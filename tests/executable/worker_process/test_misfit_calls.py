"""Calls that do not fit, a part of them; `python -m fuzz misfits` makes all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import __main__ as command
from fuzz import misfits, open_modules, running
from fuzz.account import Account
from fuzz.open_modules import OpenModule
from resources import REPOSITORY

_PARTS = 48
"""Of the modules one in so many is called here, another one by each of the tests."""


@pytest.mark.parametrize("part", range(2))
def test_no_misfit_touches_what_is_not_its_own(part: int) -> None:
    words = ("misfits", "--every", str(_PARTS), "--seed", str(part), "--count", "1000")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "tests" / "support")}
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", *words],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in done.stdout
    assert "ExecutionError" in done.stdout


def test_the_modules_are_of_open_sizes_and_some_of_each_kind() -> None:
    modules = open_modules.open_modules()
    assert len({module.name for module in modules}) == len(modules)
    assert all("?" in module.text or "index" in module.text for module in open_modules.written())
    assert len(open_modules.written()) > 130
    assert sum(module.name.startswith("test ") for module in modules) > 300


def outcome(text: str, *fitting: tuple[int, ...] | int, count: int = 40) -> Account:
    account = Account()
    module = OpenModule("a module", text, fitting)
    misfits.run(module, count, 0, account, checked=False)
    assert account.modules == {"compiled": 1}
    return account


READ = """
func.func @f(%a: memref<?xf32>, %i: index) -> f32 {
  %0 = memref.load %a[%i] : memref<?xf32>
  return %0 : f32
}"""

WRITTEN = """
func.func @f(%n: index, %i: index, %x: i8) -> i8 {
  %c0 = arith.constant 0 : index
  %a = memref.alloc(%n) : memref<?xi8>
  memref.store %x, %a[%i] : memref<?xi8>
  %0 = memref.load %a[%c0] : memref<?xi8>
  memref.dealloc %a : memref<?xi8>
  return %0 : i8
}"""

UNWRITTEN = """
func.func @f(%n: index) -> tensor<?xf32> {
  %a = tensor.empty(%n) : tensor<?xf32>
  return %a : tensor<?xf32>
}"""

ON_THE_STACK = """
func.func @f(%n: index) -> f32 {
  %c1 = arith.constant 1 : index
  %a = memref.alloca() : memref<3xf32>
  %0 = memref.load %a[%c1] : memref<3xf32>
  return %0 : f32
}"""


@pytest.mark.parametrize(
    ("text", "fitting", "found"),
    [
        (READ, ((9,), 9), "dies with SIGSEGV"),
        (READ, ((9,), -1), "dies with SIGSEGV"),
        (UNWRITTEN, (5,), "hangs on what memory held before"),
        (ON_THE_STACK, (5,), "hangs on what memory held before"),
    ],
)
def test_it_finds_what_is_wrong(text: str, fitting: tuple[int, ...], found: str) -> None:
    account = outcome(text, *fitting, count=1)
    assert found in account.failures[0]


def test_it_finds_who_writes_beside_a_buffer() -> None:
    assert "a write beside a buffer" in str(outcome(WRITTEN, 9, 60, 1, count=1))


@pytest.mark.parametrize("what", ["mutations", "misfits"])
@pytest.mark.parametrize("failures", [[], ["one"]])
def test_the_exit_status_tells_of_failures(
    what: str, failures: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(*given: object) -> None:
        account = given[-1]
        assert isinstance(account, Account)
        account.failures[:] = failures

    monkeypatch.setattr(running, "run", run)
    monkeypatch.setattr(misfits, "run", run)
    file = tmp_path / "account.json"
    monkeypatch.setattr(sys, "argv", ["fuzz", what, "--count", "3", "--account", str(file)])
    assert command.main() == len(failures)
    assert '"commit": "' in file.read_text()
