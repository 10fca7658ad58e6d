"""The nine and random schedules: what is taken keeps the numbers, what is refused changes nothing.

A few of each here; `python -m schedule_corpus` has all modules and all ops. `matches.json` holds
how many ops of each took each of the nine. To write it anew:

    PYTHONPATH=tests/support python -m schedule_corpus nine \
        --unrun --record tests/transforms/schedules/matches.json

`numbers.jsonl` has what was run to numbers, and why steps were refused. What is in it is not run
again: to go on with it, or to begin anew without it,

    PYTHONPATH=tests/support python -m schedule_corpus nine \
        --log tests/transforms/schedules/numbers.jsonl
    PYTHONPATH=tests/support python -m schedule_corpus random --seed 11 --count 3 \
        --log tests/transforms/schedules/numbers.jsonl
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
from schedule_corpus.log import read
from schedule_corpus.nine import NINE, transform_all
from schedule_corpus.subjects import names, subject
from schedule_modules import OPS, module

MATCHES = Path(__file__).with_name("matches.json")
NUMBERS = Path(__file__).with_name("numbers.jsonl")
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


def test_each_of_the_nine_is_for_most_ops() -> None:
    known = json.loads(MATCHES.read_text())
    for name in NINE:
        assert sum(bool(each[name]) for each in known.values()) > len(known) / 2, name


def test_what_was_run_to_numbers_was_right_and_is_what_is_counted() -> None:
    known = json.loads(MATCHES.read_text())
    entries = read(NUMBERS)
    assert {entry["run"].partition(",")[0] for entry in entries} == {"nine", "random"}
    for entry in entries:
        assert not entry["wrong"], entry["subject"]
        if entry["run"] == "nine":
            taken = {name: entry["taken"].get(name, 0) for name in NINE}
            assert taken == known[entry["subject"]], entry["subject"]
