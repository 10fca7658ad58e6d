"""Benchmarks set up the libraries that they run beside: tests of other rooms see none of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def jax_as_it_was() -> Iterator[None]:
    """Have JAX compute in 32 bits again, as it does unless it is told otherwise."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_enable_x64", False)
