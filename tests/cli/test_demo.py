"""`linalg-ext demo`: what it says of a compilation is what the kernel says."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from linalg_ext.cache.store import FOLDER
from linalg_ext.cli import demo


def test_the_figures_for_one_compilation_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "kernels"))
    for is_kept in (False, True):
        written = io.StringIO()
        demo._run(Console(file=written, width=500), tmp_path)
        told = written.getvalue()
        row = re.search(r"compiled  in ([\d.]+) ms(, kept)?: (.*)", told)
        assert row is not None
        assert (row[2] is not None) == is_kept
        parts = [float(part) for part in re.findall(r"\w ([\d.]+)(?= \+|$)", row[3].strip())]
        assert len(parts) == 7
        assert sum(parts) == pytest.approx(float(row[1]), abs=0.5)
        if is_kept:
            assert "found on disk in " in told
            assert "compiled in " not in told
        else:
            assert f"compiled in {row[1]} ms, one call" in told
