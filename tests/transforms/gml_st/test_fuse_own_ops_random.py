"""Random programs of ops that move elements, tiled at random and fused, give what they gave.

With LINALG_EXT_THOROUGH=1 there are hundreds of them, else some.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linalg_ext as lx
import moving_steps as steps
from linalg_ext.module import Module
from resources import THOROUGH
from tiled_modules import Program, Shape, outcome

EXAMPLES = 400 if THOROUGH else 15
SMALL = st.integers(1, 6)


@st.composite
def programs(draw: Any) -> tuple[Program, list[tuple[str, Shape]]]:
    """A program of some ops over two matrices, and its results."""
    shape = (draw(SMALL), draw(SMALL))
    program = Program([shape, shape], is_open=draw(st.booleans()))
    made = [value for value in program.values if value[0].startswith("%x")]
    for _ in range(draw(st.integers(2, 6))):
        made.append(_grown(draw, program, made))
    results = [made[-1]]
    if draw(st.booleans()):
        results.append(draw(st.sampled_from(made[2:])))
    if draw(st.booleans()):
        results[0] = program.sums(made[-1], draw(st.integers(0, 1)))
    return program, results


def _grown(draw: Any, program: Program, made: list[tuple[str, Shape]]) -> tuple[str, Shape]:
    x = draw(st.sampled_from(made[-3:]))
    axis = draw(st.integers(0, 1))
    rows = draw(st.lists(st.integers(-1, x[1][0]), min_size=1, max_size=5))
    match draw(st.integers(0, 8)):
        case 0:
            return program.unary("negf", x)
        case 1:
            return program.binary("sub", x, draw(st.sampled_from(_like(made, x))))
        case 2:
            return program.transpose(x)
        case 3:
            return steps.gather(program, x, rows)
        case 4:
            updates = steps.gather(program, draw(st.sampled_from(_like(made, x))), rows)
            return steps.scatter_sums(program, x, updates, draw(st.permutations(rows)))
        case 5:
            return steps.reverse(program, x, axis)
        case 6:
            alike = [each for each in made if each[1][1 - axis] == x[1][1 - axis]]
            parts = [x, *draw(st.lists(st.sampled_from(alike), min_size=1, max_size=2))]
            return steps.concatenate(program, parts, axis)
        case 7:
            return steps.sort(program, x, axis)
        case _:
            ones = [each for each in made if 1 in each[1]]
            x = draw(st.sampled_from(ones)) if ones else x
            return steps.spread(program, x, tuple(4 if n == 1 else n for n in x[1]))


def _like(made: list[tuple[str, Shape]], x: tuple[str, Shape]) -> list[tuple[str, Shape]]:
    return [each for each in made if each[1] == x[1]]


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(
    programs(),
    st.lists(st.integers(0, 4), min_size=1, max_size=2),
    st.sampled_from(["parallel", "for", "loop"]),
)
def test_fused_moves_give_what_they_gave(
    made: tuple[Program, list[tuple[str, Shape]]], sizes: list[int], form: str
) -> None:
    program, results = made
    text, arrays = program.text(results), program.arrays()
    fused = Module.parse(text)
    lx.transforms.tile_and_fuse(fused, tile_sizes=sizes, form=form)
    for got, want in zip(outcome(fused, arrays), outcome(text, arrays), strict=True):
        np.testing.assert_array_equal(got, want)
