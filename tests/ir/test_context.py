"""Contexts on loan: whose they are, and which of them are lent again."""

from __future__ import annotations

from contextlib import suppress

import pytest

from linalg_ext.bindings import ir
from linalg_ext.ir import context
from linalg_ext.ir.context import borrowed_context


@pytest.fixture(autouse=True)
def _nothing_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_idle", [])


def test_a_context_is_lent_again() -> None:
    with borrowed_context() as first:
        pass
    with borrowed_context() as second:
        assert second.context is first.context


def test_two_at_once_have_two() -> None:
    with borrowed_context() as first, borrowed_context() as second:
        assert first.context is not second.context


def test_what_is_too_large_is_not_lent_again() -> None:
    with borrowed_context() as first:
        first.keep = False
    with borrowed_context() as second:
        assert second.context is not first.context


def test_after_an_exception_it_is_not_lent_again() -> None:
    with suppress(KeyError), borrowed_context() as first:
        raise KeyError
    with borrowed_context() as second:
        assert second.context is not first.context


def test_the_next_borrower_decides_about_unregistered_dialects() -> None:
    with borrowed_context() as first:
        first.context.allow_unregistered_dialects = True
    with borrowed_context() as second:
        assert not second.context.allow_unregistered_dialects


def test_a_dialect_that_is_new_is_in_what_is_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    with borrowed_context():
        pass
    seen: list[ir.Context] = []
    monkeypatch.setattr(context, "_loaders", [*context._loaders, seen.append])
    with borrowed_context() as loan:
        assert loan.context in seen


def test_dialects_that_no_lowering_builds_are_loaded_when_a_module_has_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(context, "_idle", [])
    with borrowed_context() as loan:
        assert loan.context.is_dialect_loaded("linalg")
        assert not loan.context.is_dialect_loaded("gpu")
        ir.Module.parse("func.func private @f(!gpu.async.token)", loan.context)
        assert loan.context.is_dialect_loaded("gpu")


def test_none_is_lent_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_MOST_LOANS", 2)
    lent = []
    for _ in range(4):
        with borrowed_context() as loan:
            lent.append(loan.context)
    assert lent[0] is lent[1] is lent[2] is not lent[3]
