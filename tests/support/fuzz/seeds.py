"""The modules to begin with: those in the tests' own texts, the samples, the exported ones."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from exported_modules import MODULES
from resources import REPOSITORY

_LONGEST = 20_000
"""Characters; longer modules take long to compile and say little more."""


@functools.cache
def seeds() -> tuple[str, ...]:
    """The texts, in an order that hangs on nothing but the files."""
    found = dict.fromkeys(text for text in _all() if _is_module(text))
    return tuple(found)


def _all() -> Iterator[str]:
    for path in sorted((REPOSITORY / "tests").rglob("*.py")):
        yield from _literals(path)
    for folder in (REPOSITORY / "linalg_ext" / "samples", MODULES):
        for path in sorted(folder.glob("*.mlir")):
            yield path.read_text(encoding="utf-8")


def _literals(path: Path) -> Iterator[str]:
    """The texts in a file that are whole: those with gaps to fill hold no module yet."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def _is_module(text: str) -> bool:
    is_whole = text.count("{") == text.count("}") and "{{" not in text
    return "func.func @" in text and is_whole and len(text) < _LONGEST
