"""Random programs, tiled at random sizes and fused greedily, give what they gave."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.module import Module
from tiled_modules import Program, Shape, outcome

UNARY, BINARY = ("abs", "negf", "square"), ("add", "sub", "max")
SMALL = st.integers(1, 6)


@st.composite
def programs(draw: Any) -> tuple[Program, list[tuple[str, Shape]]]:
    """A program of some ops over two tensors, and its results."""
    rows, columns = draw(SMALL), draw(SMALL)
    program = Program([(rows, columns), (rows, columns)], is_open=draw(st.booleans()))
    for _ in range(draw(st.integers(2, 7))):
        _grow(draw, program)
    last = program.values[-1]
    others = [value for value in program.values[2:-1] if not value[0].endswith("_e")]
    results = [last]
    if others and draw(st.booleans()):
        results.append(draw(st.sampled_from(others)))
    return program, results


def _grow(draw: Any, program: Program) -> None:
    planes = [value for value in program.values if len(value[1]) == 2]
    x = draw(st.sampled_from(planes[-3:]))
    rows, columns = x[1]
    match draw(st.integers(0, 8)):
        case 0:
            program.unary(draw(st.sampled_from(UNARY[:2])), x)
        case 1:
            alike = [value for value in planes if value[1] == x[1]]
            program.binary(draw(st.sampled_from(BINARY)), x, draw(st.sampled_from(alike)))
        case 2:
            program.transpose(x)
        case 3:
            axis = draw(st.integers(0, 1))
            program.broadcast(program.sums(x, axis), x[1], axis)
        case 4:
            axis = draw(st.integers(0, 1))
            alike = [value for value in planes if value[1][1 - axis] == x[1][1 - axis]]
            program.concat([x, draw(st.sampled_from(alike))], axis)
        case 5:
            pads = [draw(st.integers(0, 2)) for _ in range(4)]
            program.pad(x, (pads[0], pads[1]), (pads[2], pads[3]))
        case 6:
            size = (draw(st.integers(1, rows)), draw(st.integers(1, columns)))
            first = (draw(st.integers(0, rows - size[0])), draw(st.integers(0, columns - size[1])))
            program.slice(x, first, size, (1, 1))
        case 7:
            program.gather(x, draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=5)))
        case _:
            program.sums(x, draw(st.integers(0, 1)))


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    programs(),
    st.lists(st.integers(0, 4), min_size=1, max_size=2),
    st.sampled_from(["parallel", "for", "loop"]),
    st.booleans(),
)
def test_fused_programs_give_what_they_gave(
    made: tuple[Program, list[tuple[str, Shape]]], sizes: list[int], form: str, peeled: bool
) -> None:
    program, results = made
    text, arrays = program.text(results), program.arrays()
    fused = Module.parse(text)
    lx.transforms.tile_and_fuse(fused, tile_sizes=sizes, form=form)
    if peeled:
        lx.transforms.peel_subset_loops(fused)
    for got, want in zip(outcome(fused, arrays), outcome(text, arrays), strict=True):
        np.testing.assert_array_equal(got, want)
