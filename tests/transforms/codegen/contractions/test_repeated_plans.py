"""A contraction that a model holds many times is planned once."""

from __future__ import annotations

from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.problem import Dimension, Problem, classify
from linalg_ext.transforms.codegen.contractions.contraction_plan import make_plan


def problem(stride: int = 32) -> Problem:
    dimensions = [
        Dimension("m", 64, {"A": 16, "C": stride}),
        Dimension("n", 32, {"B": 1, "C": 1}),
        Dimension("k", 16, {"A": 1, "B": 32}),
    ]
    found = classify("f32", dimensions, overwrites=True)
    assert isinstance(found, Problem)
    return found


def test_equal_problems_have_one_plan() -> None:
    assert make_plan(problem(), Machine(64, 32)) is make_plan(problem(), Machine(64, 32))


def test_strides_and_machines_tell_problems_apart() -> None:
    first = make_plan(problem(), Machine(64, 32))
    assert make_plan(problem(stride=40), Machine(64, 32)).problem == problem(stride=40)
    assert make_plan(problem(), Machine(32, 16)).tile != first.tile
