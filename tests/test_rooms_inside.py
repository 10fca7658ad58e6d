"""The order inside the rooms: no packages and no files that import each other in a circle."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from imports import Import, imports_of, library_files, library_imports, module_name

Graph = dict[str, set[str]]


def _modules() -> dict[str, Path]:
    return {module_name(path): path for path in library_files()}


def _module_of(name: str, modules: Iterable[str]) -> str | None:
    """Return the module that an imported name is, or that has it; None for another library's."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


def _package_of(module: str, modules: Mapping[str, Path]) -> str:
    is_package = modules[module].name == "__init__.py"
    return module if is_package else module.rpartition(".")[0]


def _is_lazy_name(found: Import) -> bool:
    """Return True for a name that a package tells type checkers, and loads when it is asked for."""
    is_package = found.path.name == "__init__.py"
    return is_package and found.is_for_types


def _edges(found: Iterable[Import], modules: Mapping[str, Path]) -> list[tuple[str, str]]:
    """Return importers with what they import, without the root package, which offers all."""
    edges = []
    for each in found:
        imported = _module_of(each.imported, modules)
        ends = (each.importer, imported)
        if imported is not None and "linalg_ext" not in ends and not _is_lazy_name(each):
            edges.append((each.importer, imported))
    return edges


def _graph(edges: Iterable[tuple[str, str]]) -> Graph:
    graph: Graph = {}
    for importer, imported in edges:
        if importer != imported:
            graph.setdefault(importer, set()).add(imported)
    return graph


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = _graph(_edges(library_imports(), _modules()))
    assert len(graph) > 600
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_no_packages_import_each_other_in_a_circle() -> None:
    modules = _modules()
    graph = _graph(
        (_package_of(importer, modules), _package_of(imported, modules))
        for importer, imported in _edges(library_imports(), modules)
    )
    graph.pop("linalg_ext", None)
    for imported in graph.values():
        imported.discard("linalg_ext")
    assert len(graph) > 60
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def _is_private_elsewhere(importer: str, imported: str, modules: Mapping[str, Path]) -> bool:
    *folder, name = imported.split(".")
    return name.startswith("_") and _package_of(importer, modules) != ".".join(folder)


def test_private_files_are_imported_from_their_own_folder_alone() -> None:
    modules = _modules()
    found = [
        f"{importer} imports {imported}"
        for importer, imported in _edges(library_imports(), modules)
        if _is_private_elsewhere(importer, imported, modules) and imported != "linalg_ext.__main__"
    ]
    assert found == []


FILES = {
    "linalg_ext.a": Path("linalg_ext/a/__init__.py"),
    "linalg_ext.a.one": Path("linalg_ext/a/one.py"),
    "linalg_ext.a._two": Path("linalg_ext/a/_two.py"),
    "linalg_ext.b": Path("linalg_ext/b/__init__.py"),
    "linalg_ext.b.three": Path("linalg_ext/b/three.py"),
}


def _edges_of(module: str, source: str) -> list[tuple[str, str]]:
    return _edges(imports_of(FILES[module], module, source), FILES)


@pytest.mark.parametrize(
    ("source", "imported"),
    [
        ("from ._two import f", "linalg_ext.a._two"),
        ("def f():\n    from linalg_ext.b.three import g", "linalg_ext.b.three"),
        ("if TYPE_CHECKING:\n    from linalg_ext.b import three", "linalg_ext.b.three"),
        ("from linalg_ext.b import name", "linalg_ext.b"),
        ("import linalg_ext.b.three", "linalg_ext.b.three"),
    ],
)
def test_an_import_of_a_file_is_found(source: str, imported: str) -> None:
    assert _edges_of("linalg_ext.a.one", source) == [("linalg_ext.a.one", imported)]


@pytest.mark.parametrize(
    "source", ["import numpy", "import linalg_ext as lx", "from numpy import a"]
)
def test_imports_of_others_and_of_the_root_do_not_count(source: str) -> None:
    assert _edges_of("linalg_ext.a.one", source) == []


def test_what_a_package_names_for_type_checkers_alone_does_not_count() -> None:
    source = "if TYPE_CHECKING:\n    from linalg_ext.a.one import f"
    assert _edges_of("linalg_ext.a", source) == []
    assert _edges_of("linalg_ext.a", "from linalg_ext.a.one import f") != []


def test_a_private_file_of_another_folder_is_found() -> None:
    assert _is_private_elsewhere("linalg_ext.b.three", "linalg_ext.a._two", FILES)
    assert not _is_private_elsewhere("linalg_ext.a.one", "linalg_ext.a._two", FILES)
    assert not _is_private_elsewhere("linalg_ext.a", "linalg_ext.a._two", FILES)


def test_a_circle_is_found() -> None:
    graph = _graph([("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(graph).prepare()
