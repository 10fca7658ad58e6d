"""opt_einsum with our einsum beneath: the part of its own tests that checks edge cases."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from opt_einsum.testing import build_views

from linalg_ext.errors import LinalgExtError
from opt_einsum_suite import tensordot
from resources import REPOSITORY


def test_its_edge_cases_pass() -> None:
    """All of its tests do in the nightly run."""
    command = [sys.executable, "-m", "opt_einsum_suite", "--", "-k", "edge_cases or input"]
    ran = subprocess.run(
        command, cwd=REPOSITORY / "tests" / "support", capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert " passed" in ran.stdout


def test_its_contractions_come_to_us() -> None:
    a, b = build_views("abc,bd")
    np.testing.assert_allclose(tensordot(a, b, ((1,), (0,))), np.tensordot(a, b, ((1,), (0,))))
    with pytest.raises(LinalgExtError):
        tensordot(a, b, ((0,), (0,)))
