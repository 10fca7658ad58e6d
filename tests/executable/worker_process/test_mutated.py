"""A short run of the fuzz; `PYTHONPATH=tests/support python -m fuzz` is the long one."""

from __future__ import annotations

from typing import NoReturn

import pytest

from fuzz import running
from fuzz.account import Account
from fuzz.running import run, source_of
from fuzz.seeds import seeds
from linalg_ext.errors import CrashError


def test_mutated_modules_and_arguments_are_results_or_errors_of_the_tree() -> None:
    account = Account()
    for seed in range(60):
        run(seed, account)
    assert account.failures == []
    # It says something only where some compile, some do not, and some calls come to their end.
    assert account.modules["done"] > 2
    assert account.modules["ParseError"] > 10
    assert account.calls["done"] > 3
    assert sum(account.calls.values()) > account.calls["done"]


def test_a_number_makes_the_same_module_again_and_others_another() -> None:
    assert len(seeds()) > 100
    modules = [source_of(seed) for seed in range(40)]
    assert modules == [source_of(seed) for seed in range(40)]
    assert len(set(modules)) > 30


PLAIN = "func.func @f(%x: f32) -> f32 { return %x : f32 }"
DEADLY = """func.func @f(%o: memref<1x2x1xf32>) {
  linalg.transpose ins(%o : memref<1x2x1xf32>) outs(%o : memref<1x2x1xf32>)
    permutation = [2, 1, 1000000000000000000000000000000]
  return
}"""
LLVM = "func.func @f(%x: !llvm.ptr) { %0 = llvm.load %x : !llvm.ptr -> i32 return }"


@pytest.mark.parametrize(
    ("death", "told"),
    [
        ("the compilation died with SIGSEGV in a worker process", "SIGSEGV"),
        ("the compilation did not come to an end within 30 s", "too long"),
        ("the worker process ran out of memory", "no memory"),
        ("a worker process failed with KeyError", "failed with KeyError"),
    ],
)
def test_what_ends_a_process_is_a_failure_but_for_what_security_names(
    death: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def isolate(*_: object, **__: object) -> NoReturn:
        raise CrashError(death)

    monkeypatch.setattr(running, "isolate", isolate)
    monkeypatch.setattr(running, "_source", lambda dice: PLAIN)
    account = Account()
    run(5, account)
    (failure,) = account.failures
    assert failure.startswith("--seed 5 --count 1, the compilation: ")
    assert told in failure
    monkeypatch.setattr(running, "_source", lambda dice: LLVM)
    account = Account()
    run(5, account)
    assert bool(account.failures) == told.startswith("failed")
    assert len(account.failures) + len(account.apart) == 1


def test_a_text_that_kills_the_parser_is_an_error_by_its_guard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "_source", lambda dice: DEADLY)
    account = Account()
    run(5, account)
    assert account.failures == []
    assert account.apart == ["--seed 5 --count 1, the compilation: SIGSEGV"]
