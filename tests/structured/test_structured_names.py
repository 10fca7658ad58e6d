"""The names that `linalg_ext.structured` offers."""

from __future__ import annotations

from importlib import import_module

import pytest

from linalg_ext import structured
from resources import REPOSITORY

HOMES = {name: home for home, names in structured._HOMES.items() for name in names.split()}


@pytest.mark.parametrize("name", structured.__all__)
def test_every_public_name_loads_from_its_home(name: str) -> None:
    home = import_module(f"linalg_ext.structured.{HOMES[name]}")
    assert getattr(structured, name) is getattr(home, name)


def test_every_name_with_a_home_is_public() -> None:
    assert sorted(HOMES) == sorted(structured.__all__)


def test_no_module_hides_a_public_name() -> None:
    """Importing `structured.x` binds `x` on the package, over a lazy name `x`."""
    folder = REPOSITORY / "linalg_ext/structured"
    assert {entry.stem for entry in folder.iterdir()} & set(structured.__all__) == set()
