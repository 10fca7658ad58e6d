"""Where `jit` may differ from NumPy: the table of `docs/numbers.md`, and when each row holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy_programs.arrays import Array

Allowed = Callable[[Any, list[Any], Array, Array], Any]

ALLOWED: Mapping[str, Allowed] = {}
"""For each row of the table a function of a step, its operands and both results: where it holds."""
