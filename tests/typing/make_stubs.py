"""Give the type checker a typed view of the bindings: `python make_stubs.py DIRECTORY`.

The bindings' wheel has no `py.typed`, its native modules have no stubs, and its dialect modules
redefine what they star-import, of which a type checker keeps the first definition and Python the
last. This writes `DIRECTORY/torch_mlir`, to go on `mypy_path`: a stub, made by nanobind, for every
native module, and the wheel's own Python files, as links where they can be read as they are.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from nanobind import stubgen

PROVIDER = "torch_mlir"

SKIPPED = ("torch", "tools", "__pycache__")
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
    # A bare `Value` is a value of any type, and a value of a memref type is one of them.
    (
        r"(?m)^_T = TypeVar\(\"_T\", bound=Type\)$",
        '_T = TypeVar("_T", bound=Type, default=Type, covariant=True)',
    ),
    (r"(?m)^    TypeVar,\n", ""),
    (r"(?m)^from typing_extensions import ", "from typing_extensions import Literal, TypeVar, "),
    # Untyped; without them the classes inherit the typed ones of `Sequence[Element]`.
    (r"(?m)^    def __(getitem__\(self, key|len__\(self), /\):\n        \"\"\".*\"\"\"\n", ""),
    # What the wheel's own subclass of Context adds.
    (
        r"(?m)^class Context:\n    def __init__\(self\) -> None:",
        "class Context:\n    def __init__("
        "self, load_on_create_dialects: Sequence[str] | None = None,"
        " thread_pool: ThreadPool | None = None) -> None:",
    ),
    # Text; the binary form is bytes, and `write_bytecode` is there for it.
    (
        r"def get_asm\(self, binary: bool = False,(.*)\) -> object:",
        r"def get_asm(self, binary: Literal[False] = False,\1) -> str:",
    ),
    (
        r"def attach_diagnostic_handler\(self, callback: object\) -> object:",
        "def attach_diagnostic_handler("
        "self, callback: Callable[[Diagnostic], bool]) -> DiagnosticHandler:",
    ),
)
"""Regular expressions and what replaces them in every generated stub."""


def installed_root() -> Path:
    """Where the provider is installed."""
    spec = importlib.util.find_spec(PROVIDER)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{PROVIDER} is not installed in {sys.prefix}: pip install torch-mlir")
    return Path(spec.submodule_search_locations[0])


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
        text = stub.read_text()
        for pattern, replacement in AMENDMENTS:
            text = re.sub(pattern, replacement, text)
        stub.write_text(text)


def mirror(source: Path, target: Path) -> None:
    """Mirror the `.py` files under `source`: as links, but where a type checker would misread."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(source.iterdir()):
        if entry.is_dir() and entry.name not in SKIPPED:
            mirror(entry, target / entry.name)
        elif entry.suffix == ".py":
            original = entry.read_text()
            readable = readable_text(entry, original)
            if readable == original:
                (target / entry.name).symlink_to(entry)
            else:
                (target / entry.name).write_text(readable)


def readable_text(path: Path, text: str) -> str:
    """The text of one of the wheel's files, such that a type checker sees what Python does."""
    if path.name.endswith("_ops_gen.py"):
        return with_any_operands(text)
    imports = StarImports(path)
    module = imports.visit(ast.parse(text))
    return ast.unparse(module) if imports.changed else text


def with_any_operands(text: str) -> str:
    """Let builders of generated ops take values of any type.

    Their parameters say `Value[IntegerType]`, but the type of a value is known at run time only:
    every call would need a cast. Results keep what they say.
    """

    def relax(signature: re.Match[str]) -> str:
        return re.sub(r"_ods_ir\.Value\[_ods_ir\.\w+\]", "_ods_ir.Value", signature[0])

    return re.sub(r"(?m)^ *def \w+\(.*\)(?= ->|:$)", relax, text)


class StarImports(ast.NodeTransformer):
    """Leave out of star imports what the same module redefines further down.

    `from .generated import *` and then `class Op(Op)` become `from .generated import Op as
    _Generated_Op, Other as Other, ...` and `class Op(_Generated_Op)`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.later: set[str] = set()
        self.changed = False

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Go through the statements from the last to the first: what was seen comes later."""
        for statement in reversed(list(flattened(node.body))):
            match statement:
                case ast.ClassDef() | ast.FunctionDef():
                    self.later.add(statement.name)
                case ast.Assign(targets=[ast.Name(id=name)]):
                    self.later.add(name)
                case ast.ImportFrom(level=level, names=[ast.alias(name="*")]) if level:
                    self.rewrite_import(statement)
        return super().generic_visit(node)  # type: ignore[return-value]

    def rewrite_import(self, node: ast.ImportFrom) -> None:
        """Spell out one star import if it brings names that something later redefines."""
        names = defined_names(imported_file(self.path, node))
        if not self.later.isdisjoint(names):
            node.names = [
                ast.alias(name, f"_Generated_{name}" if name in self.later else name)
                for name in sorted(names)
            ]
            self.changed = True
        self.later |= names

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Name the class of before in `class Op(Op)`."""
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id == node.name:
                base.id = f"_Generated_{base.id}"
        return node


def flattened(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Top-level statements, those inside `try` included."""
    for statement in body:
        if isinstance(statement, ast.Try):
            yield from flattened(statement.body)
        else:
            yield statement


def imported_file(importer: Path, statement: ast.ImportFrom) -> Path | None:
    """The Python file that a relative import reads; None for a native module."""
    base = importer.parents[statement.level - 1].joinpath(*(statement.module or "").split("."))
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((candidate for candidate in candidates if candidate.exists()), None)


@functools.cache
def defined_names(path: Path | None) -> frozenset[str]:
    """The public classes, functions and variables that a file itself defines."""
    text = path.read_text() if path else ""
    found = re.findall(r"(?m)^(?:class |def |(?=\w+ = ))([A-Za-z]\w*)", text)
    return frozenset(found)


def main(arguments: list[str]) -> None:
    """Rebuild the view from nothing: a newer wheel may have dropped a module."""
    if len(arguments) != 1:
        raise SystemExit("usage: python make_stubs.py DIRECTORY")
    package = Path(arguments[0]) / PROVIDER
    shutil.rmtree(package, ignore_errors=True)
    mirror(installed_root(), package)
    write_stubs(package / "_mlir_libs")


if __name__ == "__main__":
    main(sys.argv[1:])
