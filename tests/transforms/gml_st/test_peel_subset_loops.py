"""Peeled loops: how many there are, of which sizes, and that they give the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.dialects.gml_st.ir.op_views import LOOPS
from linalg_ext.errors import ArgumentError
from linalg_ext.module import Module
from linalg_ext.transforms.ir_utils.walking import select
from tiled_modules import Program, outcome, short


def peeled(
    shape: tuple[int, int],
    sizes: list[int],
    *,
    form: str = "parallel",
    is_open: bool = False,
    accumulate: bool = False,
    **options: Any,
) -> tuple[Module, int]:
    """Sums over rows of a matrix, tiled and peeled, and how many loops there are then."""
    program = Program([shape], is_open=is_open)
    result = program.sums(program.unary("abs", program.values[0]), 1)
    module = Module.parse(program.text([result]))
    lx.transforms.tile_and_fuse(module, tile_sizes=sizes, form=form, accumulate=accumulate)
    lx.transforms.peel_subset_loops(module, **options)
    arrays = program.arrays()
    wanted = outcome(program.text([result]), arrays)
    np.testing.assert_array_equal(outcome(module, arrays), wanted)
    return module, len(select(module.ir, lambda op: op.name in LOOPS))


@pytest.mark.parametrize("form", ["parallel", "for", "loop"])
def test_what_is_left_over_has_a_loop_of_its_own(form: str) -> None:
    module, loops = peeled((11, 6), [4], form=form)
    assert loops == 2
    # All sizes are static: eight rows by fours, and three.
    assert "?x" not in short(module)
    assert "tensor<4x6xf32>" in short(module)
    assert "tensor<3x6xf32>" in short(module)


@pytest.mark.parametrize(("rows", "step"), [(12, 4), (11, 1), (3, 4), (4, 4)])
def test_loops_without_a_remainder_stay_one(rows: int, step: int) -> None:
    assert peeled((rows, 6), [step])[1] == 1


def test_iterators_are_peeled_one_after_the_other() -> None:
    options: dict[str, Any] = {"form": "for"}
    assert peeled((11, 7), [4, 3], **options)[1] == 3
    assert peeled((11, 7), [4, 3], skip_partial=False, **options)[1] == 4
    assert peeled((11, 7), [4, 3], dims=[1], **options)[1] == 2


def test_open_sizes_are_peeled_where_the_run_finds_the_end() -> None:
    module, loops = peeled((11, 6), [4], is_open=True)
    assert loops == 2
    assert "tensor<4x?xf32>" in short(module)


def test_accumulators_go_on_in_the_second_loop() -> None:
    assert peeled((11, 7), [4, 3], accumulate=True)[1] == 3


def test_an_iterator_that_cannot_be() -> None:
    with pytest.raises(ArgumentError, match="iterators by place"):
        peeled((11, 6), [4], dims=[-1])
