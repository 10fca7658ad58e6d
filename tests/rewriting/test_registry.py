"""Passes are found by walking the packages that hold them."""

from __future__ import annotations

import sys

import pytest

from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting.registry import Catalogue, all_passes, find, register

PASS = '''
from linalg_ext.rewriting import module_pass

@module_pass("linalg-ext-found-{name}")
def {name}(op) -> None:
    """Found in {name}."""
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    root = tmp_path / "found_passes"
    (root / "inner").mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "inner" / "__init__.py").write_text("")
    (root / "one.py").write_text(PASS.format(name="one"))
    (root / "inner" / "two.py").write_text(PASS.format(name="two"))
    (root / "inner" / "helpers.py").write_text("def help(): ...")
    (root / "inner" / "_private.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    yield "found_passes"
    for name in [name for name in sys.modules if name.startswith("found_passes")]:
        del sys.modules[name]


def test_a_new_file_is_found_by_itself(package):
    catalogue = Catalogue(package)
    assert catalogue.names() == {"one", "inner", "two"}
    assert catalogue.attribute("two").pass_name == "linalg-ext-found-two"
    assert f"{package}.one" not in sys.modules
    assert catalogue.attribute("found_one") is find("linalg-ext-found-one")
    with pytest.raises(AttributeError, match="no attribute 'three'"):
        catalogue.attribute("three")
    with pytest.raises(AttributeError):
        catalogue.attribute("_private")


def test_a_pass_defined_again_replaces_itself(package):
    first = Catalogue(package).attribute("one")
    register(first)
    second = type(first)("linalg-ext-found-one", first.function)
    register(second)
    assert find("linalg-ext-found-one") is second

    def one(op) -> None:
        """Another."""

    with pytest.raises(ArgumentError, match="two passes are called"):
        register(type(first)("linalg-ext-found-one", one))


def test_transforms_is_a_catalogue():
    import linalg_ext.transforms

    names = list(all_passes())
    assert "linalg-ext-fold-transposes" in names
    assert names == sorted(names)

    with pytest.raises(AttributeError, match="no attribute 'no_such_transformation'"):
        _ = linalg_ext.transforms.no_such_transformation  # type: ignore[attr-defined]
