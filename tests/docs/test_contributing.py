"""The files that CONTRIBUTING names are there."""

from __future__ import annotations

import re

from docs.generator.page import REPOSITORY

TEXT = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_each_answer_names_a_file() -> None:
    section = TEXT.partition("## Where is it?")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+\?) \| (.*) \|$", section, re.M)
    assert len(rows) == 10
    for question, answer in rows:
        paths = re.findall(r"`([\w/]+(?:\.py|/))`", answer)
        assert paths, question
        assert all((REPOSITORY / path).exists() for path in paths), question


def test_files_in_the_list_of_additions_are_there() -> None:
    section = TEXT.partition("## To add")[2].partition("\n## ")[0]
    paths = set(re.findall(r"`((?:linalg_ext|transforms|tests|docs|benchmarks)/[\w/.]+)`", section))
    assert len(paths) > 15
    assert [path for path in sorted(paths) if not (REPOSITORY / path).exists()] == []


def test_nothing_is_explained_twice() -> None:
    things = re.findall(r"^- \*\*(.+?)\*\*", TEXT, re.M)
    assert len(things) == len(set(things)) > 15
