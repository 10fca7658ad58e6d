"""NumPy's own tests of triangles and diagonals, with its functions under `jit`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from resources import REPOSITORY

FILE = "lib/tests/test_twodim_base.py"


def test_a_file_of_numpys_passes_and_its_calls_are_jitted(tmp_path: Path) -> None:
    account = tmp_path / "account.json"
    done = subprocess.run(
        [sys.executable, "-m", "numpy_suite", FILE, "--account", str(account)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "tests" / "support")},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(account.read_text())[FILE]
    assert found["failed"] == []
    assert found["tests"]["passed"] > 30
    assert found["calls"]["jitted"] > 100
