"""docs/interfaces.md: its table is whole, its names and tests are there, its example runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from documents import DOCUMENTS
from linalg_ext.structured import StructuredInterface
from resources import REPOSITORY

PAGE = (REPOSITORY / "docs/interfaces.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \| `(\w+)` \|$", PAGE, re.MULTILINE)


def test_every_method_of_the_rfc_is_in_the_table_with_its_mark() -> None:
    expected = json.loads((DOCUMENTS / "destination_style_methods.json").read_text())
    assert len(expected) > 65
    assert {name: mark for name, mark, _, _ in ROWS} == expected


@pytest.mark.parametrize(("method", "here"), [(row[0], row[2]) for row in ROWS])
def test_every_name_is_one_of_the_interface(method: str, here: str) -> None:
    for name in re.findall(r"`(\w+)`", here):
        if name != "mapping":
            assert (
                getattr(StructuredInterface, name).__doc__
                or getattr(StructuredInterface, name).fget.__doc__
            ), method


def test_every_test_is_there() -> None:
    files = Path(__file__).parent.glob("test_*.py")
    tests = {name for file in files for name in re.findall(r"def (test_\w+)\(", file.read_text())}
    assert {row[3] for row in ROWS} - tests == set()


def test_the_examples_give_what_the_page_says() -> None:
    program = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    printed = "".join(re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL))
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True
    )
    assert result.stdout == printed, result.stderr
