"""What becomes of our own ops that move elements, checked line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from filechecks import cases, check_text, transformed

FILES = sorted((Path(__file__).parent / "filechecks").glob("*.mlir"))


@pytest.mark.parametrize(("file", "prefix", "pipeline"), cases(FILES))
def test_the_text(
    file: Path,
    prefix: str,
    pipeline: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check_text(str(transformed(file, pipeline)), file, prefix, tmp_path, capsys)
