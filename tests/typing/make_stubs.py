"""Give the type checker a typed view of the bindings: `python make_stubs.py DIRECTORY`.

The bindings' wheel has no `py.typed`, and its native modules have no stubs, so a type checker sees
`Any` through it. This writes `DIRECTORY/torch_mlir`: links to the wheel's own Python files, and a
stub, made by nanobind, for every native module. `DIRECTORY` then goes on `mypy_path`.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import sys
from pathlib import Path

from nanobind import stubgen

PROVIDER = "torch_mlir"

SKIPPED = ("torch", "extras", "tools", "__pycache__")
"""Folders that need PyTorch, or hold no module of the bindings."""

NATIVE = (
    "_mlir",
    "_mlirDialectsLLVM",
    "_mlirDialectsLinalg",
    "_mlirDialectsPDL",
    "_mlirDialectsTransform",
    "_mlirExecutionEngine",
    "_mlirTransformInterpreter",
)
"""Native modules that the Python files which `linalg_ext.bindings` opens import from."""

AMENDMENTS = (
    # The natives call their package `_mlir`; here it is a part of the provider.
    (r"(?<![\w.])_mlir\.ir\b", f"{PROVIDER}._mlir_libs._mlir.ir"),
    # A bare `Value` is a value of any type, as it is at run time.
    (r"(?m)^_T = TypeVar\(\"_T\", bound=Type\)$", '_T = TypeVar("_T", bound=Type, default=Type)'),
    (r"(?m)^    TypeVar,\n", ""),
    (r"(?m)^from typing_extensions import ", "from typing_extensions import TypeVar, "),
    # Untyped; without them the classes inherit the typed ones of `Sequence[Element]`.
    (r"(?m)^    def __(getitem__\(self, key|len__\(self), /\):\n        \"\"\".*\"\"\"\n", ""),
    # What the wheel's own subclass of Context adds.
    (
        r"(?m)^class Context:\n    def __init__\(self\) -> None:",
        "class Context:\n    def __init__("
        "self, load_on_create_dialects: Sequence[str] | None = None,"
        " thread_pool: ThreadPool | None = None) -> None:",
    ),
)
"""Regular expressions and what replaces them in every generated stub."""


def installed_root() -> Path:
    """Where the provider is installed."""
    spec = importlib.util.find_spec(PROVIDER)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{PROVIDER} is not installed in {sys.prefix}: pip install torch-mlir")
    return Path(spec.submodule_search_locations[0])


def link_sources(source: Path, target: Path) -> None:
    """Mirror the tree of `.py` files under `source` as links."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(source.iterdir()):
        if entry.is_dir() and entry.name not in SKIPPED:
            link_sources(entry, target / entry.name)
        elif entry.suffix == ".py":
            (target / entry.name).symlink_to(entry)


def write_stubs(libraries: Path) -> None:
    """Write a stub for every native module into `libraries`, the package `_mlir_libs`."""
    native = importlib.import_module(f"{PROVIDER}._mlir_libs._mlir.ir")
    # On import the wheel puts a subclass, local to a function, in the place of the native Context;
    # a stub can only describe the native one.
    native.Context = native._Context  # type: ignore[attr-defined]
    modules = [f"--module={PROVIDER}._mlir_libs.{module}" for module in NATIVE]
    stubgen.main(
        ["--quiet", "--recursive", "--include-private", f"--output-dir={libraries}", *modules]
    )
    for stub in libraries.rglob("*.pyi"):
        stub.write_text(amended(stub.read_text()))


def amended(stub: str) -> str:
    """The text of a generated stub, mended where nanobind cannot know better."""
    for pattern, replacement in AMENDMENTS:
        stub = re.sub(pattern, replacement, stub)
    return stub


def main(arguments: list[str]) -> None:
    """Rebuild the view from nothing: a newer wheel may have dropped a module."""
    if len(arguments) != 1:
        raise SystemExit("usage: python make_stubs.py DIRECTORY")
    package = Path(arguments[0]) / PROVIDER
    shutil.rmtree(package, ignore_errors=True)
    link_sources(installed_root(), package)
    write_stubs(package / "_mlir_libs")


if __name__ == "__main__":
    main(sys.argv[1:])
