"""The page about gml_st: its snippets run, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

from linalg_ext.bindings import ir
from linalg_ext.ir.context import new_context
from linalg_ext.rewriting.registry import all_passes
from programs import printed_by
from resources import REPOSITORY

PAGE = (REPOSITORY / "docs" / "gml_st.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_snippets_run(tmp_path: Path) -> None:
    printed = printed_by(SNIPPETS, tmp_path)
    assert "gml_st.parallel" in printed
    assert "linalg.exp" in printed


def test_every_pass_of_the_page_exists_and_every_one_on_subsets_is_there() -> None:
    named = set(re.findall(r"`(linalg-ext-[\w-]+)`", PAGE))
    passes = all_passes()
    assert named <= set(passes)
    folder = REPOSITORY / "transforms" / "gml_st"
    files = {f"linalg-ext-{file.stem.replace('_', '-')}" for file in folder.glob("[!_]*.py")}
    assert files & set(passes) == named
    assert len(named) > 15


def test_every_op_of_the_table_exists() -> None:
    first = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    ops = re.findall(r"`((?:gml_st|linalg_ext|linalg)\.\w+)`", " ".join(first))
    assert len(ops) > 20
    with new_context() as context:
        assert [op for op in ops if not context.is_registered_operation(op)] == []
        assert str(ir.Type.parse('!gml_st.subset<"4x?xf32">')) in PAGE


def test_every_file_of_the_page_exists() -> None:
    here = PAGE[PAGE.index("## Tests of the history, and their places here") :]
    rows = re.findall(r"^\| .* \| (`[^|]*`) \|$", here, re.MULTILINE)
    files = re.findall(r"`([\w/]+\.(?:py|mlir))`", " ".join(rows))
    assert len(files) > 15
    folders = (REPOSITORY / "tests", REPOSITORY / "tests/transforms/gml_st/filechecks")
    missing = [name for name in files if not any((each / name).exists() for each in folders)]
    assert missing == []
