"""Each step on a product, a window, an element-wise op and reductions: the same numbers after it.

What the step leaves in focus is recorded beside it: a step that finds other ops than before fails.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import linalg_ext as lx
from rewrite_texts import assert_same_results
from schedule_modules import OPS, module

Steps = Callable[[lx.Schedule], lx.Schedule]


def _on_buffers(kind: str) -> Steps:
    return lambda s: s.bufferize().match(OPS[kind])


CASES: list[tuple[str, str, Steps, dict[str, int]]] = [
    ("tile", "matmul", lambda s: s.tile([3, 5, 4], [2, 0, 1]), {"linalg.matmul": 1}),
    ("tile", "conv", lambda s: s.tile([0, 3, 5]), {"linalg.conv_2d_nhwc_hwcf": 1}),
    ("tile", "reduce", lambda s: s.tile([3, 5]), {"linalg.reduce": 1}),
    ("fuse", "matmul", lambda s: s.fuse([4, 8]), {"linalg.matmul": 1}),
    ("fuse parallel", "generic", lambda s: s.fuse([4, 8], parallel=True), {"linalg.generic": 1}),
    ("tile_subsets", "conv", lambda s: s.tile_subsets([0, 3, 5]), {OPS["conv"]: 1}),
    ("tile_subsets", "generic", lambda s: s.tile_subsets([4, 8], "loop"), {"linalg.generic": 1}),
    (
        "lower_subsets",
        "matmul",
        lambda s: s.tile_subsets([5, 8, 4]).lower_subsets().tile([0, 4]),
        {"linalg.matmul": 1},
    ),
    (
        "parallelize",
        "conv",
        lambda s: s.parallelize([0, 4, 3], mapping=["thread_y", "thread_x"]),
        {"linalg.conv_2d_nhwc_hwcf": 1},
    ),
    ("threads", "reduce", lambda s: s.parallelize(threads=[3]), {"linalg.reduce": 1}),
    ("tile_reduction", "matmul", lambda s: s.tile_reduction([0, 0, 5]), {"linalg.generic": 1}),
    (
        "tile_reduction parallel",
        "maximum",
        lambda s: s.tile_reduction([0, 4], parallel=True),
        {"linalg.generic": 1},
    ),
    ("split_reduction", "matmul", lambda s: s.split_reduction(4), {"linalg.generic": 1}),
    ("split_reduction", "reduce", lambda s: s.split_reduction(8, 1), {"linalg.generic": 1}),
    ("promote", "matmul", lambda s: s.tile([4, 4]).promote([0, 1]), {"linalg.matmul": 1}),
    (
        "promote buffers",
        "conv",
        lambda s: _on_buffers("conv")(s).tile([0, 4, 4]).promote([0], stack=True),
        {"linalg.conv_2d_nhwc_hwcf": 1},
    ),
    ("promote all", "generic", lambda s: s.tile_evenly(1, 3).promote(), {"linalg.generic": 2}),
    ("allocate", "generic", lambda s: s.allocate(), {"linalg.generic": 1}),
    ("allocate stack", "matmul", lambda s: s.tile([4, 4]).allocate("stack"), {"linalg.matmul": 1}),
    ("bufferize", "reduce", lambda s: s.bufferize(), {"linalg.reduce": 1}),
    ("vectorize", "matmul", lambda s: s.tile([4, 8, 4]).vectorize(), {"scf.for": 1}),
    ("vectorize masked", "maximum", lambda s: s.vectorize([32, 32]), {"func.func": 1}),
    (
        "lower_vectors",
        "matmul",
        lambda s: s.tile([4, 8, 4]).vectorize().lower_vectors(),
        {"scf.for": 1},
    ),
    ("lower_vectors dot", "reduce", lambda s: s.vectorize().lower_vectors("dot"), {"func.func": 1}),
    ("loops", "matmul", lambda s: _on_buffers("matmul")(s).lower_to_loops(), {"scf.for": 3}),
    ("loops", "conv", lambda s: _on_buffers("conv")(s).lower_to_loops("affine"), {"affine.for": 7}),
    (
        "loops",
        "reduce",
        lambda s: _on_buffers("reduce")(s).lower_to_loops("parallel"),
        {"scf.for": 1, "scf.parallel": 1},
    ),
    ("finer", "matmul", lambda s: s.finer([5, 8, 4], "matmul"), {"linalg.matmul": 1}),
    ("mmt4d", "matmul", lambda s: s.finer([6, 16, 4], "mmt4d"), {"linalg.mmt4d": 1}),
    ("interchange", "matmul", lambda s: s.interchange([2, 0, 1]), {"linalg.generic": 1}),
    ("peel", "generic", lambda s: s.tile([3, 3]).peel(loop=1), {"linalg.generic": 2}),
    ("peel front", "conv", lambda s: s.tile([0, 3, 3]).peel(front=True), {OPS["conv"]: 2}),
    ("unroll", "matmul", lambda s: s.tile([4, 4]).unroll(3), {"linalg.matmul": 3}),
    (
        "unroll_and_jam",
        "generic",
        lambda s: s.tile([2, 2]).bufferize().unroll_and_jam(2),
        {"linalg.generic": 2},
    ),
    ("pad", "matmul", lambda s: s.pad([8, 16, 10]), {"linalg.matmul": 1}),
    ("pad", "maximum", lambda s: s.pad([8]), {"linalg.generic": 1}),
    (
        "hoist_pads",
        "matmul",
        lambda s: s.tile([8, 8, 4]).pad([8, 8, 4]).hoist_pads(loops=2),
        {"linalg.matmul": 1},
    ),
    ("pack", "matmul", lambda s: s.pack([5, 8, 4]), {"linalg.generic": 1}),
    ("pack", "conv", lambda s: s.pack([0, 0, 0, 4]), {"linalg.generic": 1}),
    (
        "lower packs",
        "generic",
        lambda s: s.pack([5, 8]).propagate_packs().match("pack").decompose(),
        {},
    ),
    ("tile_continuously", "matmul", lambda s: s.tile_continuously(0, 6), {"linalg.matmul": 2}),
    ("tile_evenly", "matmul", lambda s: s.tile_evenly(2, 3), {"linalg.matmul": 2}),
    ("hoist", "matmul", lambda s: s.tile([4, 4, 4]).hoist(), {"linalg.matmul": 1}),
    ("generalize", "conv", lambda s: s.generalize(), {"linalg.generic": 1}),
    ("specialize", "matmul", lambda s: s.interchange([2, 0, 1]).specialize(), {"linalg.matmul": 1}),
    (
        "decompose",
        "conv",
        lambda s: s.tile([0, 1, 0, 0, 1]).decompose(),
        {"linalg.conv_1d_nwc_wcf": 1},
    ),
    ("fuse_elementwise", "generic", lambda s: s.fuse_elementwise().match(), {"linalg.generic": 1}),
    (
        "raise_loops",
        "conv",
        lambda s: _on_buffers("conv")(s).lower_to_loops("affine").raise_loops().match("generic"),
        {"linalg.generic": 1},
    ),
    ("fold_unit_extents", "conv", lambda s: s.fold_unit_extents(), {OPS["conv"]: 1}),
    ("run", "matmul", lambda s: s.tile([4]).run("canonicalize,cse"), {"linalg.matmul": 1}),
]


@pytest.mark.parametrize(
    ("kind", "steps", "focus"),
    [case[1:] for case in CASES],
    ids=[f"{name} of {kind}" for name, kind, *_ in CASES],
)
def test_a_step_keeps_the_numbers(kind: str, steps: Steps, focus: dict[str, int]) -> None:
    changed = module(kind)
    schedule = steps(lx.Schedule(changed).match(OPS[kind]))
    assert dict(schedule.taken[-1].report.focus) == focus
    assert "linalg_ext.schedule" not in str(changed)
    assert_same_results(module(kind), changed)
    again = module(kind)
    schedule.replay(again)
    assert str(again) == str(changed)


def test_tiled_loops_are_nested_as_asked() -> None:
    text = str(lx.Schedule(module("matmul")).match("matmul").tile([5, 8, 4], [2, 0, 1]).module)
    assert text.count("scf.for") == 3
    assert text.index("step %c4") < text.index("step %c5") < text.index("step %c8")


def test_fusion_computes_the_producer_in_the_loop() -> None:
    text = str(lx.Schedule(module("generic")).match("generic").fuse([4]).module)
    assert text.index("scf.for") < text.index("linalg.negf")


def test_parallel_loops_say_what_runs_them() -> None:
    schedule = lx.Schedule(module("generic")).match("generic")
    text = str(schedule.parallelize([4, 8], mapping=["block_x", "thread_x"]).module)
    assert "mapping = [#gpu.block<x>, #gpu.thread<x>]" in text


def test_vectors_become_multiply_adds() -> None:
    schedule = lx.Schedule(module("matmul")).match("matmul").tile([4, 8, 4]).vectorize()
    assert "vector.multi_reduction <add>" in str(schedule.module)
    text = str(schedule.lower_vectors().module)
    assert "vector.multi_reduction" not in text
    assert text.count("vector.outerproduct") == 4


def test_a_step_changes_the_chosen_op_alone() -> None:
    on_buffers = lx.Schedule(module("generic")).bufferize()
    on_buffers.match("generic").lower_to_loops("affine")
    text = str(on_buffers.module)
    assert "linalg.negf" in text
    assert text.count("affine.for") == 2


def test_a_finer_op_may_name_a_function_of_the_users() -> None:
    schedule = lx.Schedule(module("matmul")).match("matmul")
    schedule.finer([4, 8, 16], library_call="my_tile")
    assert 'library_call = "my_tile"' in str(schedule.module)
