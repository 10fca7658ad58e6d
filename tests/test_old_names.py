"""Names of version 0.1 work for a release, and say what they are called now."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from linalg_ext import errors

rewriting: Any = import_module("linalg_ext.rewriting")
"""Untyped: type checkers know no old names."""


def test_a_match_failure_was_called_left() -> None:
    with pytest.warns(DeprecationWarning, match="Left is now MatchFailure"):
        old = rewriting.Left
    assert old is rewriting.MatchFailure
    with pytest.raises(AttributeError, match="no attribute 'Right'"):
        _ = rewriting.Right


def test_a_hint_was_called_cure() -> None:
    error = errors.ShapeError("too long", hint="cut it")
    with pytest.warns(DeprecationWarning, match="error.cure is now error.hint"):
        assert error.cure == "cut it"
    assert "cut it" in str(error)
