"""Docstrings keep the rules for sentences that a machine can see: CONTRIBUTING has all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from resources import REPOSITORY, project_files

FOLDERS = ("linalg_ext", "transforms", "opdsl_defs", "benchmarks", "docs", "notebooks")
FIRST = re.compile(r"(What|Where|Whether|How|Which|Who|Whoever|Whatever|Of)\b")
"""Words that a docstring does not begin with: the subject comes first."""


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Each text that stands by itself, with its line."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", ())
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                text = statement.value.value
                if isinstance(text, str):
                    yield statement.lineno, text.strip()


def _texts() -> Iterator[tuple[Path, int, str]]:
    for path in project_files():
        if path.suffix == ".py" and path.parts[0] in FOLDERS:
            for line, text in docstrings((REPOSITORY / path).read_text(encoding="utf-8")):
                yield path, line, text


def test_the_subject_comes_first() -> None:
    found = [
        f"{path}:{line}: {text.splitlines()[0]}"
        for path, line, text in _texts()
        if FIRST.match(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "source", ['def f():\n    """What is left."""', '"""Of all."""', 'X = 1\n"""Whether."""']
)
def test_a_riddle_is_found(source: str) -> None:
    assert [FIRST.match(text) is not None for _, text in docstrings(source)] == [True]


@pytest.mark.parametrize("source", ['"""The whole."""', '"""Offsets."""', '"""Whole rows."""'])
def test_a_noun_is_none(source: str) -> None:
    assert not any(FIRST.match(text) for _, text in docstrings(source))


def test_the_glossary_defines_each_term_once() -> None:
    page = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", page, re.MULTILINE)
    terms = [term for term in terms if term not in ("term", "---")]
    assert len(terms) == len(set(terms)) > 60
