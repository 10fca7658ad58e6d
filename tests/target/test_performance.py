"""Figures: what follows from a description, what a file may say, and how they are asked."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from linalg_ext import target
from linalg_ext.errors import TargetError
from linalg_ext.target import Figures, Target
from linalg_ext.target.performance import ANALYTIC, FUNCTIONS

DESCRIBED = [target.named(name) for name in target.names()]
AVX2 = replace(target.named("avx2"), figures=target.figures("avx2"), notes=(("a.b", (8, 64)),))


@pytest.mark.parametrize("machine", DESCRIBED, ids=lambda each: str(each.name))
def test_every_description_has_figures(machine: Target) -> None:
    found = target.figures(replace(machine, name="mine"))
    assert found.source == ANALYTIC
    assert [level.name for level in found.levels[:-1]] == [f"L{c.level}" for c in machine.caches]
    reads = [level.read for level in found.levels]
    assert reads == sorted(reads, reverse=True)
    assert dict(found.contractions)["f32"] < dict(found.multiply_adds)["f32"]


def test_wider_registers_compute_more() -> None:
    narrow, wide = target.figures("generic-x86-64"), target.figures("avx512")
    assert dict(wide.multiply_adds)["f32"] == 4 * dict(narrow.multiply_adds)["f32"]
    assert wide.function_rate("exp", "f32") > narrow.function_rate("exp", "f32")


def test_the_level_that_holds_so_much() -> None:
    figures = target.figures("avx2")
    assert [figures.level_of(size).name for size in (0, 32 << 10, (32 << 10) + 1, 1 << 40)] == [
        *("L1", "L1", "L2", "memory")
    ]


def test_functions_that_are_not_measured_take_as_long_as_others() -> None:
    figures = target.figures("avx2")
    assert figures.function_rate("log1p", "f32") == figures.function_rate("log", "f32")
    assert figures.function_rate("unheard_of", "f32") == figures.function_rate("simple", "f32")
    assert figures.function_rate("exp", "f64") < figures.function_rate("exp", "f32")
    assert figures.rate("contractions", "i64") == dict(figures.contractions)["f64"]
    assert figures.rate("contractions", "bf16") == dict(figures.contractions)["f32"]


def test_a_description_with_figures_goes_through_json() -> None:
    data = json.loads(json.dumps(target.to_data(AVX2)))
    assert target.from_data(data) == AVX2
    assert target.figures(AVX2) is AVX2.figures


def test_what_has_no_figures_has_the_data_that_it_had() -> None:
    assert not {"figures", "notes"} & target.to_data(target.named("avx2")).keys()


def test_the_table_has_all() -> None:
    text = str(AVX2)
    assert "a.b = (8, 64)" in text
    for name in ("L1", "memory", "multiply-adds", "fresh pages", *FUNCTIONS):
        assert name in text


def _without(name: str) -> Any:
    return lambda data: data.pop(name)


def _with(**values: Any) -> Any:
    return lambda data: data.update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("scalar"), "lacks scalar"),
        (_with(speed=3), "has no field speed"),
        (_with(scalar=-1), "scalar is -1"),
        (_with(scalar="fast"), "scalar is 'fast'"),
        (_with(page=float("nan")), "page is nan"),
        (_with(source=7), "source is 7"),
        (_with(threads=0), "threads is 0"),
        (_with(levels=[]), "no level of memory without a bound"),
        (_with(levels=3), "levels is 3"),
        (_with(functions=[1]), "functions is"),
        (lambda data: data["functions"].pop("exp"), "functions lack exp"),
        (lambda data: data["contractions"].pop("f64"), "contractions lack f64"),
        (lambda data: data["levels"].pop(), "no level of memory without a bound"),
        (lambda data: data["levels"].insert(0, data["levels"][1]), "levels of"),
        (lambda data: data["levels"][0].pop("read"), "a level of memory lacks read"),
        (lambda data: data["levels"][0].update(size=-1), "the size of L1 is -1"),
    ],
)
def test_missing_and_wrong_figures_are_named(change: Any, message: str) -> None:
    data = copy.deepcopy(target.to_data(AVX2))
    change(data["figures"])
    with pytest.raises(TargetError, match=message):
        target.from_data(data)


def test_figures_of_another_kind_are_refused() -> None:
    with pytest.raises(TargetError, match="figures are 3"):
        replace(AVX2, figures=3)  # type: ignore[arg-type]
    with pytest.raises(TargetError, match="a set of figures is 3"):
        target.from_data({**target.to_data(AVX2), "figures": 3})
    assert isinstance(AVX2.figures, Figures)
