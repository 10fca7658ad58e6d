"""The tree of errors, a page for each class, with the messages for the mistakes on them.

A page is written by hand in `docs/errors/`: the meaning of the error, a mistake that raises it,
and, under "Mended", the right code. The message below the mistake is raised when the documentation
is built. Classes that only gather others have a page that lists those.
"""

from __future__ import annotations

import inspect
import linecache
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from typing import Any, TypeVar

from docs.generator.page import REPOSITORY, Page, fenced
from linalg_ext import errors
from linalg_ext.errors import LinalgExtError

Kind = TypeVar("Kind", bound=Exception)

_FENCE = re.compile(r"^```(python|console)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_MISSING = re.compile(r"^ModuleNotFoundError: No module named '(\w+)", re.MULTILINE)


def classes() -> list[type[LinalgExtError]]:
    """All of the tree, the base first."""
    error_classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, LinalgExtError)
    ]
    return sorted(error_classes, key=lambda kind: (len(kind.__mro__), kind.__name__))


def written() -> list[Page]:
    """The pages that were written by hand."""
    folder = REPOSITORY / "docs" / "errors"
    return [
        Page(f"errors/{path.name}", path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.md"))
    ]


def pages() -> Iterator[Page]:
    """The tree, and a page for each class that gathers others and has no page of its own."""
    yield Page(
        "errors/index.md",
        "# Errors\n\nEvery error that you can provoke is a `LinalgExtError`. It says what is "
        "wrong, where, what was expected and how to mend it, and is also the built-in exception "
        "that fits, so that `except ValueError` works as in NumPy. Errors of arrays are found "
        "before native code runs.\n\n" + "\n".join(_tree(LinalgExtError, 0)) + "\n",
    )
    written_paths = {page.path for page in written()}
    for kind in classes():
        if kind.__subclasses__() and _path(kind) not in written_paths:
            yield Page(
                _path(kind),
                f"# {kind.__name__}\n\n{_lead(kind)}\n\nIt gathers\n\n"
                + "\n".join(_tree(kind, 0)[1:])
                + "\n",
            )


def with_messages(markdown: str, name: str) -> str:
    """A written page with the error that its mistake raises, and the built-in one that fits."""
    mistake = next(_FENCE.finditer(markdown))
    try:
        message = fenced(f"{errors.__name__}.{name}: {raised(markdown)}")
    except ModuleNotFoundError as missing:
        message = f"(Its message is shown where `{missing.name}` is installed.)"
    markdown = f"{markdown[: mistake.end()]}\n{message}\n{markdown[mistake.end() :]}"
    return f"{markdown}\n`except {_builtin(getattr(errors, name))}` catches it, too.\n"


def with_each_message(markdown: str) -> str:
    """A page of mistakes, with the error that each raises.

    Raises:
        ValueError: nothing is raised by one of them.
    """

    def shown(mistake: re.Match[str]) -> str:
        error = _raised_by(mistake[2], {"__name__": "example"}, LinalgExtError, AttributeError)
        kind = type(error)
        home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        return f"{mistake[0]}\n{fenced(f'{home}{kind.__qualname__}: {error}')}\n"

    return _FENCE.sub(shown, markdown)


def raised(markdown: str) -> LinalgExtError | str:
    """The error of the first example of a page; its text, where it is a command.

    Raises:
        ValueError: the mistake raises nothing, or the mended code raises an error.
        ModuleNotFoundError: a command needs a package that is not installed.
    """
    languages, examples = zip(*(match.groups() for match in _FENCE.finditer(markdown)), strict=True)
    if "console" in languages:
        failed, *mended = (_run(example) for example in examples)
        if not failed or any(mended):
            raise ValueError(f"{examples[0]} should fail, and what follows it should not")
        return failed
    names: dict[str, Any] = {"__name__": "example"}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        error = _raised_by(examples[0], names, LinalgExtError)
        for example in examples[1:]:
            execute(example, names, "mended.py")
    return error


def _raised_by(example: str, names: dict[str, Any], *kinds: type[Kind]) -> Kind:
    try:
        execute(example, names, "example.py")
    except kinds as caught:
        return caught
    raise ValueError(f"nothing is raised by\n{example}")


def execute(example: str, names: dict[str, Any], file: str) -> None:
    """Run an example as a file of that name: errors quote the line that is wrong."""
    linecache.cache[file] = (len(example), None, example.splitlines(True), file)
    exec(compile(example, file, "exec"), names)


def _run(example: str) -> str:
    """Run a command and return the message of its last error, or the empty string for none."""
    command = example.removeprefix("$ ")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")])
        ),
    }
    ran = subprocess.run(
        ["sh", "-c", command.replace("python ", f"'{sys.executable}' ")],
        env=environment,
        capture_output=True,
        text=True,
    )
    if missing := _MISSING.search(ran.stderr):
        raise ModuleNotFoundError(ran.stderr, name=missing[1])
    return ran.stderr.rpartition(f"\n{errors.__name__}.")[2].partition(": ")[2].strip()


def _tree(kind: type[LinalgExtError], depth: int) -> list[str]:
    lines = [f"{'    ' * depth}- [`{kind.__name__}`]({kind.__name__}.md): {_lead(kind)}"]
    for below in sorted(_direct(kind), key=lambda child: child.__name__):
        lines += _tree(below, depth + 1)
    return lines


def _direct(kind: type[LinalgExtError]) -> list[type[LinalgExtError]]:
    return [child for child in classes() if child.__bases__[0] is kind]


def _builtin(kind: type[LinalgExtError]) -> str:
    """The built-in exception that a class also is; Exception, where it is no other."""
    return next(base.__name__ for base in kind.__mro__ if base.__module__ == "builtins")


def _lead(kind: type[LinalgExtError]) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _path(kind: type[LinalgExtError]) -> str:
    return f"errors/{kind.__name__}.md"
