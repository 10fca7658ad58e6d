"""The imports of the library's files, for tests of its structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from resources import REPOSITORY, project_files

FOLDERS = {
    "linalg_ext": "linalg_ext",
    "transforms": "linalg_ext.transforms",
    "opdsl_defs": "linalg_ext.opdsl_defs",
}
"""Each folder of the library, and the package that it is imported as."""


@dataclass(frozen=True)
class Import:
    """One name that an import statement imports.

    Attributes:
        path, line: the place of the statement.
        importer: the module that it stands in.
        imported: the name, with the module that has it: a module or something in one.
        is_for_types: True where it stands under `if TYPE_CHECKING`.
    """

    path: Path
    line: int
    importer: str
    imported: str
    is_for_types: bool = False

    @property
    def room(self) -> str:
        """Return the room of the importer."""
        return room_of(self.importer)

    @property
    def imported_room(self) -> str:
        """Return the room of what is imported."""
        return room_of(self.imported)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.importer} imports {self.imported}"


def room_of(module: str) -> str:
    """Return `errors` of `linalg_ext.errors`, and the empty string of `linalg_ext` itself."""
    return module.split(".")[1] if "." in module else ""


def python_files() -> list[Path]:
    """Return all Python files of the project."""
    return [path for path in project_files() if path.suffix == ".py"]


def library_files() -> list[Path]:
    """Return the Python files of the library."""
    return [path for path in python_files() if path.parts[0] in FOLDERS]


def module_name(path: Path) -> str:
    """Return the module of a file of the library."""
    name = ".".join((FOLDERS[path.parts[0]], *path.with_suffix("").parts[1:]))
    return name.removesuffix(".__init__")


def library_imports() -> list[Import]:
    """Return every import of every file of the library."""
    return [
        found
        for path in library_files()
        for found in imports_of(path, module_name(path), (REPOSITORY / path).read_text())
    ]


def imports_of(path: Path, module: str, source: str) -> Iterator[Import]:
    """Yield every import of a file: in functions, under TYPE_CHECKING and by import_module too."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(source)
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = _names_imported_from(node, package)
        elif isinstance(node, ast.Call) and _is_import_call(node):
            names = [_literal_argument(node)]
        for name in names:
            yield Import(path, getattr(node, "lineno", 0), module, name, node in for_types)


def _names_imported_from(node: ast.ImportFrom, package: str) -> list[str]:
    base = node.module or ""
    if node.level:
        parents = package.split(".")
        base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [node.module])])
    return [f"{base}.{alias.name}" for alias in node.names]


def _is_import_call(node: ast.Call) -> bool:
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("import_module", "__import__") and bool(_literal_argument(node))


def _literal_argument(node: ast.Call) -> str:
    first = node.args[0] if node.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
