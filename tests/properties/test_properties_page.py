"""docs/six_properties.md: every file, op, pass and test that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from linalg_ext.ir.context import new_context
from linalg_ext.rewriting.registry import all_passes
from resources import REPOSITORY

PAGE = (REPOSITORY / "docs/six_properties.md").read_text(encoding="utf-8")
HERE = Path(__file__).parent


def test_every_file_is_there_and_none_is_left_out() -> None:
    named = set(re.findall(r"`(test_property_\w+\.py)`", PAGE))
    assert named == {path.name for path in HERE.glob("test_property_*.py")}


def test_every_metadata_op_has_a_row_and_its_test() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| .* \| `(test_\w+)` \|$", PAGE, re.MULTILINE)
    documents = "view subview transpose reshape range slice tile intersection convex_union"
    assert [row[0] for row in rows] == [*documents.split(), "difference"]
    tests = re.findall(r"def (test_\w+)\(", (HERE / "test_metadata_ops.py").read_text())
    assert {row[2] for row in rows} <= set(tests)


def test_every_op_and_every_pass_exists() -> None:
    table = PAGE[PAGE.index("| document | op |") :].partition("\n\n")[0]
    names = re.findall(r"`((?:memref|tensor|linalg|linalg_ext|gml_st)\.\w+)`", table)
    assert len(names) > 15
    with new_context() as context:
        assert [name for name in names if not context.is_registered_operation(name)] == []
    assert set(re.findall(r"`(linalg-ext-[\w-]+)`", PAGE)) <= set(all_passes())
