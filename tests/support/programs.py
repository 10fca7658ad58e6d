"""Python programs run as a reader of a page would run them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def printed_by(snippets: Sequence[str], folder: Path) -> str:
    """What a program of these snippets prints, from a file, so that errors have lines.

    It has a process of its own, in which warnings are errors, and must end well.
    """
    program = folder / "page.py"
    program.write_text("\n".join(snippets), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-W", "error", program], capture_output=True, text=True, cwd=folder
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
