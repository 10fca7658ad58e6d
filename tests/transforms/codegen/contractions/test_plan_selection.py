"""Other plans than the model's: which there are, in what order, and that they compute the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.target import Target
from linalg_ext.transforms.codegen.base.choices import Choices, Variation, choices, choosing
from linalg_ext.transforms.codegen.contractions.contraction_cost import estimate
from linalg_ext.transforms.codegen.contractions.plan_selection import (
    PlannedContraction,
    candidates,
    problem_key,
    varied,
)
from linalg_ext.transforms.codegen.vectorization.vectorize_loops import PlannedLoops
from targets import runnable_targets

Array = np.ndarray[Any, np.dtype[Any]]

PRODUCTS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...], str]] = {
    "square": (lambda a, b: a @ b, ((129, 257), (257, 131)), "f4"),
    "double": (lambda a, b: a @ b, ((61, 300), (300, 75)), "f8"),
    "batch": (lx.ops.batch_matmul, ((3, 33, 65), (3, 65, 47)), "f4"),
    "transposed": (
        lambda a, b: lx.ops.matmul(a, b, permutation_a=[1, 0]),
        ((90, 37), (90, 70)),
        "f4",
    ),
    "bias": (
        lambda a, b: lx.ops.relu(lx.ops.matmul(a, b) - 0.5),
        ((50, 70), (70, 90)),
        "f4",
    ),
}


def _arrays(name: str) -> list[Array]:
    random = np.random.default_rng(0)
    _, shapes, dtype = PRODUCTS[name]
    return [(random.random(shape) - 0.5).astype(dtype) for shape in shapes]


def _all_planned(kernel: lx.Kernel) -> list[PlannedContraction]:
    return [each for each in kernel.explain().decisions if isinstance(each, PlannedContraction)]


def _planned(kernel: lx.Kernel) -> PlannedContraction:
    (planned,) = _all_planned(kernel)
    return planned


def _compiled(name: str, chosen: Choices | None = None) -> lx.Kernel:
    with choosing(chosen or Choices()):
        return lx.jit(PRODUCTS[name][0]).lower(*_arrays(name)).compile().kernel


@pytest.mark.parametrize("name", PRODUCTS)
def test_every_candidate_computes_the_same(name: str) -> None:
    model = _compiled(name)
    arrays = _arrays(name)
    expected = model(*arrays)
    planned = _planned(model)
    others = planned.candidates(6)[1:]
    assert others
    for other in others:
        kernel = _compiled(name, Choices({planned.key: other.variation}))
        assert _planned(kernel).plan == other.plan != planned.plan
        np.testing.assert_allclose(kernel(*arrays), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", runnable_targets())
def test_candidates_are_ordered_and_fit(target: Target) -> None:
    with lx.target.using(target):
        kernel = (
            lx.jit(lambda a, b: a @ b).lower(np.ones((700, 900)), np.ones((900, 800))).compile()
        )
        found = [
            each for each in kernel.explain().decisions if isinstance(each, PlannedContraction)
        ]
        for planned in found:  # a machine without multiply-adds has none
            first, *others = planned.candidates()
            assert first.plan == planned.model
            assert not first.variation
            times = [each.estimate.seconds for each in others]
            assert times == sorted(times)
            for each in others:
                plan = each.plan
                assert plan.row_block % plan.tile.rows == 0
                assert plan.column_block % plan.tile.columns == 0
                registers = plan.tile.rows * plan.tile.vectors + plan.tile.vectors + 1
                assert registers < target.vector_registers
                assert plan.scratch_a * 8 <= 2 * target.cache(2).size


def test_an_estimate_has_its_parts() -> None:
    planned = _planned(_compiled("square"))
    target = planned.target
    time = estimate(planned.plan, target)
    assert time is not None
    assert time.flops == 2 * 129 * 257 * 131
    assert time.moved == 4 * (129 * 257 + 257 * 131 + 129 * 131)
    assert time.products > time.peak > 0
    assert time.seconds == time.products + time.packing + time.result
    unpacked = estimate(replace(planned.plan, pack_a="none", pack_b="none"), target)
    assert unpacked is not None
    assert unpacked.packing == 0


def test_open_sizes_have_no_estimate_and_no_candidates() -> None:
    text = """func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>)
        -> tensor<?x?xf32> {
      %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
        outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
      return %r : tensor<?x?xf32>
    }"""
    # One nest for sums that are short, and one that adds up long ones in blocks.
    products = _all_planned(lx.compile(text))
    assert products
    for planned in products:
        assert estimate(planned.plan, planned.target) is None
        assert candidates(planned.plan, planned.target) == []
        assert varied(planned.plan, Variation(rows=4, vectors=2)) is None
        assert ("model", "none: sizes are known at run time only") in planned.rows()


def test_a_choice_is_of_one_problem() -> None:
    key = _planned(_compiled("square")).key
    chosen = Choices({key: Variation(rows=4, vectors=2)})
    assert _planned(_compiled("square", chosen)).plan.tile.rows == 4
    other = _planned(_compiled("double", chosen))
    assert other.plan == other.model
    assert choices() == Choices()


def test_keys_tell_problems_apart_and_nothing_else() -> None:
    problem = _planned(_compiled("square")).model.problem
    assert problem_key(problem) == _planned(_compiled("square")).key
    assert problem_key(replace(problem, overwrites=not problem.overwrites)) != problem_key(problem)


@pytest.mark.parametrize("streams", [True, False])
def test_streaming_and_narrower_vectors_can_be_chosen(streams: bool) -> None:
    x = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    with choosing(Choices(vector_bits=128, streams=streams)):
        kernel = lx.jit(lambda x: x * x + x).lower(x).compile()
    (loops,) = (each for each in kernel.explain().decisions if isinstance(each, PlannedLoops))
    assert (loops.vector_bits, loops.streams) == (128, streams)
    np.testing.assert_allclose(kernel(x), x * x + x, rtol=1e-6)


def test_a_variation_is_data_and_back() -> None:
    variation = Variation(rows=8, vectors=3, depth_block=256)
    assert Variation.from_data(variation.as_data()) == variation
    assert str(variation) == "tile 8 x 3 vectors; blocks depth 256"
    spoilt: tuple[Any, ...] = (None, [], {"rows": "8"}, {"rows": -1}, {"rows": True}, {"lines": 3})
    for broken in spoilt:
        assert Variation.from_data(broken) is None


KEY = """
import numpy as np, linalg_ext as lx
product = lx.jit(lambda a, b: a.astype("f4") @ b.astype("f4"))
kernel = product.lower(np.ones((30, 40), "f2"), np.ones((40, 50), "f2")).compile().kernel
print(*(decision.key for decision in kernel.explain().decisions if hasattr(decision, "key")))
"""


def test_keys_are_the_same_in_every_process() -> None:
    keys = {
        subprocess.run(
            [sys.executable, "-c", KEY],
            env={**os.environ, "PYTHONHASHSEED": seed, "LINALG_EXT_CACHE": "off"},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in "123456"
    }
    assert len(keys) == 1
    assert keys != {"\n"}
