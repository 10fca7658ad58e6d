"""The shape of the house: which room may import which, and what no file may contain."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from resources import REPOSITORY, project_files
from room_order import TIERS

NARROWER = {
    "opdsl_defs": {"errors", "opdsl"},
    "target": {"errors", "cache", "utils"},
    "cache": {"errors"},
    "utils": {"errors"},
}
"""Rooms that may import less than all that lies below them."""

WITHOUT_MLIR = frozenset({"executable", "target", "worker_process"}).union(
    *TIERS[: TIERS.index(frozenset({"bindings"}))]
)
"""The rooms that load no MLIR: code that is there already is called without it."""

PROVIDERS = {"mlir", "torch_mlir"}
MAY_NAME_A_PROVIDER = {"bindings", "frameworks"}

FOLDERS = {
    "linalg_ext": "linalg_ext",
    "transforms": "linalg_ext.transforms",
    "opdsl_defs": "linalg_ext.opdsl_defs",
}
"""Each folder of the library, and the package that it is imported as."""


@dataclass(frozen=True)
class Import:
    """One import statement: where it stands and what it names."""

    path: Path
    line: int
    importer: str
    imported: str

    @property
    def room(self) -> str:
        return _room(self.importer)

    @property
    def imported_room(self) -> str:
        return _room(self.imported)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.importer} imports {self.imported}"


def _room(module: str) -> str:
    """`errors` of `linalg_ext.errors`; the empty string for `linalg_ext` itself."""
    return module.split(".")[1] if "." in module else ""


def _library_files() -> list[Path]:
    return [path for path in _python_files() if path.parts[0] in FOLDERS]


def _python_files() -> list[Path]:
    return [path for path in project_files() if path.suffix == ".py"]


def _module_name(path: Path) -> str:
    name = ".".join((FOLDERS[path.parts[0]], *path.with_suffix("").parts[1:]))
    return name.removesuffix(".__init__")


def _imports_of(path: Path, module: str, source: str) -> Iterator[Import]:
    """Every import of a file: at the top, in functions, under TYPE_CHECKING, by import_module."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = _names_imported_from(node, package)
        elif isinstance(node, ast.Call) and _is_import_call(node):
            names = [_literal_argument(node)]
        for name in names:
            yield Import(path, getattr(node, "lineno", 0), module, name)


def _names_imported_from(node: ast.ImportFrom, package: str) -> list[str]:
    base = node.module or ""
    if node.level:
        parents = package.split(".")
        base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [node.module])])
    if base == "linalg_ext":
        # Rooms and public names look alike here; a public name is no room, and so it is refused.
        return [f"linalg_ext.{alias.name}" for alias in node.names]
    return [base]


def _is_import_call(node: ast.Call) -> bool:
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("import_module", "__import__") and bool(_literal_argument(node))


def _literal_argument(node: ast.Call) -> str:
    first = node.args[0] if node.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _library_imports() -> list[Import]:
    return [
        found
        for path in _library_files()
        for found in _imports_of(path, _module_name(path), (REPOSITORY / path).read_text())
    ]


def _tier(room: str) -> int | None:
    return next((number for number, tier in enumerate(TIERS) if room in tier), None)


def _is_upward(found: Import) -> bool:
    """Whether an import goes against the order of the rooms."""
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
    rooms = {_room(_module_name(path)) for path in _library_files()} - {""}
    assert {room for room in rooms if _tier(room) is None} == set()


def test_imports_run_one_way() -> None:
    assert [str(found) for found in _library_imports() if _is_upward(found)] == []


def test_rooms_of_one_tier_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for found in _library_imports():
        if found.imported.startswith("linalg_ext.") and found.room not in ("", found.imported_room):
            graph.setdefault(found.room, set()).add(found.imported_room)
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_only_the_door_names_a_provider_of_the_bindings() -> None:
    named = [
        str(found)
        for found in _library_imports()
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
        _imports_of(Path("__init__.py" if module.count(".") == 1 else "x.py"), module, source)
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
    (found,) = _imports_of(Path("x.py"), module, source)
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
    modules = [_module_name(path) for path in _library_files()]
    without = sorted(module for module in modules if _room(module) in WITHOUT_MLIR)
    assert "linalg_ext.errors" in without
    loaded = _loaded_after("import " + ", ".join(without))
    assert {name for name in loaded if name.partition(".")[0] in PROVIDERS} == set()


def test_every_python_file_says_what_it_is() -> None:
    bare = [
        str(path)
        for path in _python_files()
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
