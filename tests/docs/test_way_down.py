"""The pages on the way down say what the passes do today."""

from __future__ import annotations

import re

import pytest

from docs.generator import way_down
from docs.generator.page import REPOSITORY
from linalg_ext.transforms.pipelines import PHASES


@pytest.mark.parametrize("name", way_down.LIVES)
def test_the_life_of_an_op_is_as_it_is_today(name: str) -> None:
    """`make lives` writes the page anew."""
    written = (REPOSITORY / "docs" / f"life_of_a_{name}.md").read_text(encoding="utf-8")
    assert way_down.life(name) == written
    assert re.findall("^## (.*)$", written, re.M) == [phase.capitalize() for phase in PHASES]


def test_every_pass_stands_in_its_phase_with_its_file() -> None:
    (page,) = way_down.pages()
    text = str(page.content)
    for phase, passes in PHASES.items():
        section = text.partition(f"## {phase.capitalize()}\n")[2].partition("\n## ")[0]
        assert re.findall(r"^\| `([\w,-]+)`", section, re.M) == [*map(way_down._bare, passes)]
    files = set(re.findall(r"`(transforms/[\w/]+\.py)`", text))
    assert len(files) > 50
    assert all((REPOSITORY / file).is_file() for file in files)


def test_the_file_of_an_unknown_pass_is_an_error() -> None:
    assert way_down.file_of("func.func(canonicalize)") == "upstream"
    with pytest.raises(LookupError, match="no pass is called linalg-ext-nothing"):
        way_down.file_of("linalg-ext-nothing")
