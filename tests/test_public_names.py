"""The names that `import linalg_ext` offers, and how it answers for those it does not."""

from __future__ import annotations

import ast
import re
from importlib import import_module

import pytest

import linalg_ext
from resources import REPOSITORY

ROOT = REPOSITORY / "linalg_ext"


@pytest.mark.parametrize("name", linalg_ext.__all__)
def test_every_public_name_loads(name: str) -> None:
    module, _, attribute = linalg_ext._LAZY[name].partition(":")
    expected = import_module(module)
    assert getattr(linalg_ext, name) is (getattr(expected, attribute) if attribute else expected)


def test_the_three_lists_agree() -> None:
    """`__all__`, what loads at run time, and what type checkers are told."""
    tree = ast.parse((ROOT / "__init__.py").read_text())
    told = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for block in tree.body
        if isinstance(block, ast.If)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {name: target.replace(":", ".") for name, target in linalg_ext._LAZY.items()} == told
    assert linalg_ext.__all__ == sorted(linalg_ext._LAZY, key=_ruff_order)
    assert {*linalg_ext.__all__, "__version__"} <= set(dir(linalg_ext))


def _ruff_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest: the order that the linter gives `__all__`."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_no_room_hides_a_public_name() -> None:
    """Importing `linalg_ext.x` binds `x` on the package, over a lazy name `x` that is not it."""
    rooms = {entry.name.removesuffix(".py") for entry in ROOT.iterdir()}
    hidden = {
        name: target
        for name, target in linalg_ext._LAZY.items()
        if name in rooms and target != f"linalg_ext.{name}"
    }
    assert hidden == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("transform", "did you mean transforms or random?"),
        ("zzz", "has no attribute 'zzz'; it has Dim, Kernel, "),
    ],
)
def test_an_unknown_name_lists_near_ones(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(message)):
        getattr(linalg_ext, name)
    assert not hasattr(linalg_ext, name)


def test_the_version_is_that_of_the_distribution() -> None:
    assert re.match(r"\d", linalg_ext.__version__)


@pytest.mark.parametrize("name", ["transforms", "opdsl_defs"])
def test_the_folders_behind_the_links_cannot_be_imported_bare(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second copy would register everything twice."""
    monkeypatch.syspath_prepend(REPOSITORY)
    with pytest.raises(ImportError, match=f"import linalg_ext.{name}"):
        import_module(name)
