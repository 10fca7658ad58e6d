"""The targets that this machine can run: each level of instructions, for tests to go through."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from linalg_ext import target

if TYPE_CHECKING:
    # The result type of pytest.param; pytest does not export it.
    from _pytest.mark import ParameterSet

_LEVELS = ("avx512f", "avx2", "avx", "fma")


def runnable_targets() -> list[ParameterSet]:
    """For `@pytest.mark.parametrize("one", runnable_targets())`: this machine, and less of it."""
    here = target.host()
    chosen = [target.named(name) for name in target.names()]
    if here.architecture == "x86_64":
        chosen += [here.without(name) for name in _LEVELS if name in here.features]
        half = max(128, here.vector_bits // 2)
        chosen.append(replace(here, name="half as wide", vector_bits=half))
    return [pytest.param(one, id=one.name) for one in chosen if not one.missing_on(here)]
