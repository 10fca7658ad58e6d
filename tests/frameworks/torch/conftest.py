"""PyTorch's random numbers are the same in each run of a test."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seed PyTorch where a test's file has imported it."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
