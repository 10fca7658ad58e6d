"""What the passes on subsets make of texts, checked line by line, and run before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from filechecks import cases, check_numbers, check_text, transformed

FILES = sorted((Path(__file__).parent / "filechecks").glob("*.mlir"))


@pytest.mark.parametrize(("file", "prefix", "pipeline"), cases(FILES))
def test_the_text(
    file: Path,
    prefix: str,
    pipeline: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = transformed(file, pipeline).to_text(sugar=True)
    check_text(text, file, prefix, tmp_path, capsys)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_numbers(file: Path) -> None:
    assert check_numbers(file) > 0, "no function of the file can be run"
