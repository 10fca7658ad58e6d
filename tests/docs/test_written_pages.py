"""The Python on the pages that were written by hand runs, each page as one program."""

from __future__ import annotations

import linecache
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.generator.page import REPOSITORY
from resources import skip_absent

DOCS = REPOSITORY / "docs"
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if path.parent.name != "errors"
    and path.stem not in ("first_mistakes", "habits")
    and "```python\n" in path.read_text(encoding="utf-8")
]
EXTRAS = {"torch", "jax", "onnx"}
"""Packages that a page may need and that are not everywhere."""

_FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_there_are_pages() -> None:
    assert {"index", "write_a_rewrite", "ship_a_kernel"} <= {path.stem for path in PAGES}


@pytest.fixture
def levels() -> Iterator[None]:
    """What a page logs is not logged by the tests behind it."""
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    before = [(logger, logger.level) for logger in loggers if logger.name.startswith("linalg_ext")]
    yield
    for logger, level in before:
        logger.setLevel(level)


@pytest.mark.usefixtures("levels")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_python_of_a_page_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = "\n".join(_FENCE.findall(path.read_text(encoding="utf-8")))
    names: dict[str, Any] = {"__name__": path.stem}
    # Definitions and traces read their own source.
    monkeypatch.setitem(
        linecache.cache, path.name, (len(program), None, program.splitlines(True), path.name)
    )
    try:
        exec(compile(program, path.name, "exec"), names)
    except ModuleNotFoundError as missing:
        if missing.name not in EXTRAS:
            raise
        skip_absent(f"the package {missing.name}")


def test_every_written_page_has_a_place_in_the_navigation() -> None:
    navigation = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    for path in DOCS.rglob("*.md"):
        name = path.relative_to(DOCS).as_posix()
        if not path.name.startswith("_") and not name.startswith("errors/"):
            assert f" {name}\n" in navigation, name


def test_every_environment_variable_is_documented() -> None:
    page = (DOCS / "how_to" / "follow_what_happens.md").read_text(encoding="utf-8")
    sources = [
        *(REPOSITORY / "linalg_ext").rglob("*.py"),
        *(REPOSITORY / "transforms").rglob("*.py"),
    ]
    used = {
        name
        for path in sources
        for name in re.findall(r'"(LINALG_EXT_\w+)"', path.read_text(encoding="utf-8"))
    }
    assert used
    assert {name for name in used if f"| `{name}` |" not in page} == set()
