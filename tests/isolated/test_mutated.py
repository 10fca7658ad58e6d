"""A short run of the fuzz; `PYTHONPATH=tests/support python -m fuzz` is the long one."""

from __future__ import annotations

from fuzz.running import Account, run, source_of
from fuzz.seeds import seeds


def test_mutated_modules_and_arguments_are_results_or_errors_of_the_tree() -> None:
    account = Account()
    for seed in range(36):
        run(seed, account)
    assert account.surprises == []
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
