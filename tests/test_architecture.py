"""The shape of the house: which room may import which, and what no file may contain."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from imports import (
    Import,
    imports_of,
    library_files,
    library_imports,
    module_name,
    python_files,
    room_of,
)
from resources import REPOSITORY, project_files
from room_order import TIERS

NARROWER = {
    "opdsl_defs": {"errors", "opdsl"},
    "target": {"errors", "cache", "utils"},
    "cache": {"errors"},
    "utils": {"errors"},
}
"""Rooms that may import less than all that lies below them."""

WITHOUT_MLIR = frozenset({"executable", "target"}).union(
    *TIERS[: TIERS.index(frozenset({"bindings"}))]
)
"""The rooms that load no MLIR: code that is there already is called without it."""

PROVIDERS = {"mlir", "torch_mlir"}
MAY_NAME_A_PROVIDER = {"bindings", "frameworks"}


def _tier(room: str) -> int | None:
    return next((number for number, tier in enumerate(TIERS) if room in tier), None)


def _is_upward(found: Import) -> bool:
    """Return whether an import goes against the order of the rooms."""
    if found.imported.partition(".")[0] != "linalg_ext" or not found.room:
        return False  # another package; or the package root, which offers every room
    if found.room == found.imported_room:
        return False
    if not found.imported_room:
        return found.room != "cli"  # the top of the house uses the public names
    own, other = _tier(found.room), _tier(found.imported_room)
    if own is None or other is None or other > own:
        return True
    return found.room in NARROWER and found.imported_room not in NARROWER[found.room]


def test_every_room_has_a_place_in_the_order() -> None:
    rooms = {room_of(module_name(path)) for path in library_files()} - {""}
    assert {room for room in rooms if _tier(room) is None} == set()


def test_imports_run_one_way() -> None:
    assert [str(found) for found in library_imports() if _is_upward(found)] == []


def test_rooms_of_one_tier_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for found in library_imports():
        if found.imported.startswith("linalg_ext.") and found.room not in ("", found.imported_room):
            graph.setdefault(found.room, set()).add(found.imported_room)
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_only_the_door_names_a_provider_of_the_bindings() -> None:
    named = [
        str(found)
        for found in library_imports()
        if found.imported.partition(".")[0] in PROVIDERS and found.room not in MAY_NAME_A_PROVIDER
    ]
    assert named == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("linalg_ext.definition.model", "from linalg_ext.bindings import ir"),
        ("linalg_ext.definition.model", "def f():\n    from linalg_ext.bindings import ir"),
        ("linalg_ext.opdsl", "from linalg_ext import jit"),
        ("linalg_ext.opdsl.language", "from ..structured import emit"),
        ("linalg_ext.runtime.engine", "import linalg_ext.executable.kernel"),
        (
            "linalg_ext.structured",
            "import importlib\nimportlib.import_module('linalg_ext.compiler')",
        ),
        ("linalg_ext.compiler", "if TYPE_CHECKING:\n    from linalg_ext.cli import main"),
        ("linalg_ext.transforms.tile", "import linalg_ext as lx"),
        ("linalg_ext.transforms.tile", "from linalg_ext import compile"),
        ("linalg_ext.opdsl_defs.matmul", "from linalg_ext.definition import OpDefinition"),
        ("linalg_ext.attic", "from linalg_ext.errors import LinalgExtError"),
    ],
)
def test_an_import_against_the_order_is_found(module: str, source: str) -> None:
    found = list(
        imports_of(Path("__init__.py" if module.count(".") == 1 else "x.py"), module, source)
    )
    assert [_is_upward(each) for each in found if "linalg_ext" in each.imported] == [True]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("linalg_ext.definition.model", "from linalg_ext.errors import DefinitionError"),
        ("linalg_ext.definition.model", "from .maps import Map"),
        ("linalg_ext.transforms.tile", "from linalg_ext.bindings import ir"),
        ("linalg_ext.transforms.tile", "from linalg_ext import errors"),
        ("linalg_ext.executable.kernel", "def f():\n    from linalg_ext.runtime import engine"),
    ],
)
def test_an_import_along_the_order_is_allowed(module: str, source: str) -> None:
    (found,) = imports_of(Path("x.py"), module, source)
    assert not _is_upward(found)


def _loaded_after(statement: str) -> set[str]:
    """The names in `sys.modules` of a fresh interpreter once it has run `statement`."""
    program = f"{statement}\nimport sys; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=REPOSITORY
    )
    return set(result.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = _loaded_after("import linalg_ext")
    assert "linalg_ext" in loaded
    assert {name for name in loaded if name.startswith("linalg_ext.")} == {
        "linalg_ext.utils",
        "linalg_ext.utils.hooks",
        "linalg_ext.utils.module_aliases",
    }
    heavy = {*PROVIDERS, "numpy", "ml_dtypes", "yaml", "rich", "typer", "importlib.metadata"}
    assert loaded & heavy == set()


def test_the_rooms_without_mlir_load_without_it() -> None:
    modules = [module_name(path) for path in library_files()]
    without = sorted(module for module in modules if room_of(module) in WITHOUT_MLIR)
    assert "linalg_ext.errors" in without
    loaded = _loaded_after("import " + ", ".join(without))
    assert {name for name in loaded if name.partition(".")[0] in PROVIDERS} == set()


def test_every_python_file_says_what_it_is() -> None:
    bare = [
        str(path)
        for path in python_files()
        if not ast.get_docstring(ast.parse((REPOSITORY / path).read_text()))
    ]
    assert bare == []


MACHINE_PATH = re.compile(r"(?<![\w.>)\]}])/(?:home|root|Users|work|mnt)/\w|\b[A-Z]:\\\w|/tmp/\w")
TEST_DATA = re.compile(r"\.\./shared\b")


def _lines_with(pattern: re.Pattern[str], *, outside: tuple[str, ...] = ()) -> list[str]:
    found: list[str] = []
    for path in project_files():
        file = REPOSITORY / path
        if path.parts[0] in outside or file.is_symlink():
            continue
        text = file.read_bytes().decode(errors="replace")
        found += [
            f"{path}:{number}: {line.strip()}"
            for number, line in enumerate(text.splitlines(), start=1)
            if pattern.search(line)
        ]
    return found


def test_no_file_names_a_path_of_one_machine() -> None:
    assert _lines_with(MACHINE_PATH) == []


def test_only_tests_and_benchmarks_name_the_test_data() -> None:
    assert _lines_with(TEST_DATA, outside=("tests", "benchmarks")) == []


@pytest.mark.parametrize("text", ["@home/me/x", "see @root/a", "'@tmp/x.mlir'", "@Users/me"])
def test_a_path_of_one_machine_is_found(text: str) -> None:
    assert MACHINE_PATH.search(text.replace("@", "/"))  # so that this file holds none


@pytest.mark.parametrize("text", ["https://x.org/home/y", "pkg/root/a", "tmp_path / 'x'"])
def test_other_text_is_not_taken_for_one(text: str) -> None:
    assert not MACHINE_PATH.search(text)
