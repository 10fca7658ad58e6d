"""Random schedules: whatever is taken keeps the numbers, whatever is refused changes nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from resources import shared_modules
from rewrite_texts import assert_same_results
from schedule_corpus import check, wander
from schedule_modules import OPS, module


@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(sorted(OPS)), st.integers(0, 2**16))
def test_random_schedules_keep_the_numbers(kind: str, seed: int) -> None:
    one = module(kind)
    schedule = lx.Schedule(one).match(OPS[kind])
    wander(schedule, random.Random(seed))
    assert_same_results(module(kind), one)


@pytest.mark.parametrize("path", shared_modules("l1_0[12]*.mlir"))
def test_random_schedules_of_real_modules(path: Path) -> None:
    check(path, 1)
