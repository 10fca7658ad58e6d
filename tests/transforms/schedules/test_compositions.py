"""The nine and random schedules: what is taken keeps the numbers, what is refused changes nothing.

A few of each here; the nightly run has all modules and all ops. `matches.json` holds how many ops
of each took each of the nine: a few rows are counted again here, all of them by

    PYTHONPATH=tests/support python -m schedule_corpus nine \
        --unrun --compare tests/transforms/schedules/matches.json

and with `--record` in the place of `--compare` they are written anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from rewrite_texts import assert_same_results
from schedule_corpus.checks import check_nine, check_random
from schedule_corpus.compositions import Composition, compose, compositions
from schedule_corpus.nine import NINE, transform_all
from schedule_corpus.subjects import names, subject
from schedule_modules import OPS, module

MATCHES = Path(__file__).with_name("matches.json")
FEW = names()[3::64]


@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(sorted(OPS)), compositions())
def test_random_schedules_keep_the_numbers(kind: str, steps: Composition) -> None:
    one = module(kind)
    compose(lx.Schedule(one).match(OPS[kind]), steps)
    assert_same_results(module(kind), one)


@pytest.mark.parametrize("name", FEW)
def test_random_schedules_of_modules_and_ops(name: str) -> None:
    check_random(subject(name), count=4)


@pytest.mark.parametrize("name", NINE)
def test_the_nine_keep_the_numbers(name: str) -> None:
    for each in FEW:
        check_nine(subject(each), name)


def test_the_nine_are_for_the_ops_that_they_were_for() -> None:
    known = json.loads(MATCHES.read_text())
    for each in FEW:
        taken = {name: transform_all(subject(each).module(), name).taken[name] for name in NINE}
        assert taken == known[each], each
