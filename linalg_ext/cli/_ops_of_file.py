"""The ops that a file defines: the Python of OpDSL, or a text in a notation that is read."""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import runpy
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from linalg_ext.cli._files import decoded
from linalg_ext.errors import ArgumentError, LinalgExtError, SourceLocation

if TYPE_CHECKING:
    from linalg_ext.opdsl import StructuredOp

_RUN_NAME = "__linalg_ext_yaml__"
_IMPORT = "from linalg_ext.opdsl import *"


def ops_of_file(file: Path, names: list[str] | None) -> list[StructuredOp]:
    """Return the ops that a file defines, in order; those of some names, if any are given.

    A file of Python is executed. A file of a package is imported by its full name, so that its
    relative imports work.

    Raises:
        ArgumentError: the file is no such file, does not run, or has no op (of that name).
        NotationError, DefinitionError: an op in it is wrong.
    """
    from linalg_ext.notations.registry import notation_of_file

    if file.suffix != ".py" and notation_of_file(file) is not None:
        return _ops_of_notation(file, names)
    namespace, module = execute(file)
    everything = _all_ops(namespace)
    # Ops that the file imports from elsewhere are left out, unless asked for by name.
    defined = [op for op in everything if op.__module__ == module]
    chosen = _chosen(names, everything, file) if names else defined
    if not chosen:
        raise ArgumentError(
            f"{file} defines no op",
            expected="functions under @structured_op (or @linalg_structured_op)",
            hint=f"{_imported(everything)}begin the file with `{_IMPORT}`",
        )
    return chosen


def _ops_of_notation(file: Path, names: list[str] | None) -> list[StructuredOp]:
    from linalg_ext.notations.registry import definitions
    from linalg_ext.opdsl import StructuredOp

    _source(file, "a file of text")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read = definitions(file)
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)
    ops = [StructuredOp(definition) for definition in read]
    return _chosen(names, ops, file) if names else ops


def execute(file: Path) -> tuple[Mapping[str, Any], str]:
    """Run a file of Python; returns its globals, and its name as a module."""
    source = _source(file)
    _refuse_upstream_language(source, file)
    root, name = _module_name(file)
    # Output of the file must not get between the lines of the YAML.
    with _first_on_path(root), contextlib.redirect_stdout(sys.stderr):
        try:
            if "." in name:
                return _import(name, file), name
            return runpy.run_path(str(file), run_name=_RUN_NAME), _RUN_NAME
        except LinalgExtError:
            raise  # names the user's line already
        except (Exception, SystemExit) as error:
            raise _cannot_run(error, file) from error


def _import(name: str, file: Path) -> Mapping[str, Any]:
    module = importlib.import_module(name)
    if module.__file__ is None or not file.samefile(module.__file__):
        raise ArgumentError(
            f"{file} cannot be imported as {name}: that name is taken by {module.__file__}",
            hint="rename the package, or run from the environment that the file belongs to",
        )
    return vars(module)


def _source(file: Path, expected: str = "a Python file") -> str:
    if file.is_dir():
        raise ArgumentError(f"{file} is a folder", expected=expected)
    return decoded(file.read_bytes(), str(file), expected)


def _module_name(file: Path) -> tuple[Path, str]:
    """Return the folder to import a file from, and its name there, dotted in a package."""
    folder, parts = file.absolute().parent, [file.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


@contextlib.contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


def _refuse_upstream_language(source: str, file: Path) -> None:
    """Raise if a file imports upstream's OpDSL, whose ops are not ops of this library."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return  # running the file reports it
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            if ".linalg.opdsl" in module or module.startswith("linalg_ext.opdsl.lang"):
                raise _upstream_import(module, SourceLocation(str(file), node.lineno))


def _upstream_import(module: str, where: SourceLocation) -> ArgumentError:
    return ArgumentError(
        f"the file imports upstream's OpDSL, {module}",
        where=where,
        hint=f"change that line to `{_IMPORT}`: definitions written for upstream then work as "
        "they are",
    )


def _cannot_run(error: BaseException, file: Path) -> LinalgExtError:
    """Return the error for a file that does not run, at its own innermost line."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        where = SourceLocation(error.filename, error.lineno or 1, column=error.offset)
        return ArgumentError(f"{file} is not Python: {error.msg}", where=where)
    where = _line_of(error, file) or SourceLocation(str(file), 1)
    statement = _relative_import(where, file) if isinstance(error, ImportError) else None
    if statement is not None and statement.split(".")[-1] in ("lang", "opdsl"):
        return _upstream_import(statement, where)
    if isinstance(error, SystemExit):
        return ArgumentError(
            f"{file} ends the program: SystemExit({error.code!r})",
            where=where,
            hint='put the code that runs the file as a program under `if __name__ == "__main__":`',
        )
    from linalg_ext import opdsl

    hint = None
    if isinstance(error, NameError) and error.name in opdsl.__all__:
        hint = f"begin the file with `{_IMPORT}`"
    return ArgumentError(
        f"{file} does not run: {type(error).__name__}: {error}",
        where=where,
        hint=hint,
    )


def _line_of(error: BaseException, file: Path) -> SourceLocation | None:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).absolute() == file.absolute()]
    return SourceLocation(str(file), own[-1].lineno or 1, own[-1].name) if own else None


def _relative_import(where: SourceLocation, file: Path) -> str | None:
    """Return the module that the relative import at a line names, such as `..lang`."""
    for node in ast.walk(ast.parse(_source(file))):
        if isinstance(node, ast.ImportFrom) and node.level and node.lineno == where.line:
            names = [] if node.module else [alias.name for alias in node.names]
            return "." * node.level + (node.module or "") + "".join(names[:1])
    return None


def _all_ops(namespace: Mapping[str, Any]) -> list[StructuredOp]:
    from linalg_ext.opdsl import StructuredOp

    values = [value for value in namespace.values() if isinstance(value, StructuredOp)]
    return list({id(op): op for op in values}.values())


def _chosen(names: list[str], everything: list[StructuredOp], file: Path) -> list[StructuredOp]:
    known = [op.op_name for op in everything]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            raise ArgumentError(
                f"{file} has no op {name!r}",
                expected=f"one of {', '.join(known)}" if known else None,
                hint=f"did you mean {' or '.join(near)}?" if near else None,
            )
    return [op for name in names for op in everything if op.op_name == name]


def _imported(ops: list[StructuredOp]) -> str:
    names = ", ".join(op.op_name for op in ops[:5])
    return f"the file imports {names}: choose one with --op, or " if names else ""
