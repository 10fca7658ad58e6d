"""The page about gml_st: its snippets run, and what it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from linalg_ext.bindings import ir
from linalg_ext.context import new_context
from linalg_ext.rewriting.registry import all_passes
from resources import REPOSITORY

PAGE = (REPOSITORY / "docs" / "gml_st.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_snippets_run(tmp_path: Path) -> None:
    program = tmp_path / "page.py"
    program.write_text("\n".join(SNIPPETS), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-W", "error", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert "gml_st.parallel" in result.stdout
    assert "linalg.exp" in result.stdout


def test_every_pass_of_the_page_exists_and_every_one_on_subsets_is_there() -> None:
    named = set(re.findall(r"`(linalg-ext-[\w-]+)`", PAGE))
    passes = all_passes()
    assert named <= set(passes)
    folder = REPOSITORY / "transforms" / "subsets"
    files = {f"linalg-ext-{file.stem.replace('_', '-')}" for file in folder.glob("[!_]*.py")}
    assert files == named


def test_every_op_of_the_table_exists() -> None:
    first = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    ops = re.findall(r"`((?:gml_st|linalg_ext|linalg)\.\w+)`", " ".join(first))
    assert len(ops) > 20
    with new_context() as context:
        assert [op for op in ops if not context.is_registered_operation(op)] == []
        assert str(ir.Type.parse('!gml_st.subset<"4x?xf32">')) in PAGE


def test_every_file_of_the_page_exists() -> None:
    here = PAGE[PAGE.index("## What the history tested") :]
    rows = re.findall(r"^\| .* \| (`[^|]*`) \|$", here, re.MULTILINE)
    files = re.findall(r"`([\w/]+\.(?:py|mlir))`", " ".join(rows))
    assert len(files) > 15
    folders = (REPOSITORY / "tests", REPOSITORY / "tests/transforms/subsets/filechecks")
    missing = [name for name in files if not any((each / name).exists() for each in folders)]
    assert missing == []
