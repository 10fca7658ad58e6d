"""Costs of groups: what they are made of, what makes them less, and what cannot be asked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from costed_modules import AVX2, gelu, model, read, softmax, together, traced, working
from linalg_ext import target
from linalg_ext.errors import LinalgExtError
from linalg_ext.transforms.grouping import Annotate, Cost, Insert, State, TargetModel

ROWS = (200, 300)


def test_costs_add_up() -> None:
    one = Cost.of([("L1", 1e-6), ("nests", 2e-6)], [("bytes of L1", 10)])
    other = Cost.of([("nests", 1e-6), ("exp", 3e-6)])
    both = one + other
    assert both.parts == (("L1", 1e-6), ("nests", 3e-6), ("exp", 3e-6))
    assert both.work == (("bytes of L1", 10),)
    assert both.seconds == pytest.approx(sum(seconds for _, seconds in both.parts))
    assert Cost.sum([]) == Cost(0.0)


def test_a_cost_is_a_table() -> None:
    text = str(Cost.of([("L1", 1e-6), ("nests", 3e-6)], [("bytes of L1", 12345)]))
    assert [line.split() for line in text.splitlines()] == [
        ["time", "4", "us"],
        ["L1", "1", "us", "25%"],
        ["nests", "3", "us", "75%"],
        ["work"],
        ["bytes", "of", "L1", "12,345"],
    ]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [softmax, gelu, lambda x: x @ x.T])
def test_parts_are_the_whole(function: Any, threads: int) -> None:
    state = traced(function, ROWS)
    costs = model(threads)
    found = costs.of_state(state)
    assert found.seconds == pytest.approx(sum(seconds for _, seconds in found.parts))
    each = Cost.sum(costs.of_group(state, item) for item in state.children())
    assert found.seconds == pytest.approx(each.seconds + costs.figures.call)
    assert _bytes(found) > 0


@pytest.mark.parametrize("function", [softmax, gelu, lambda x: np.maximum(x @ x.T, 0.0)])
def test_one_group_is_cheaper_than_each_op_alone(function: Any) -> None:
    state, costs = traced(function, ROWS), model()
    apart = costs.of_state(state)
    together(state)
    joined = costs.of_state(state)
    assert joined.seconds < apart.seconds
    assert _bytes(joined) < _bytes(apart)


def test_a_chain_in_one_pass_moves_what_goes_in_and_out() -> None:
    state, costs = traced(gelu, ROWS), model()
    found = costs.of_group(state, together(state))
    assert _bytes(found) == 2 * 4 * math.prod(ROWS)


def test_operations_are_counted() -> None:
    state, costs = traced(lambda x, y: x @ y, (20, 30), (30, 40)), model()
    assert dict(costs.of_state(state).work)["multiply-adds"] == 2 * 20 * 30 * 40


def test_what_two_groups_share_is_in_memory() -> None:
    state, costs = traced(lambda x: np.sqrt(np.exp(x)), ROWS), model()
    joined = costs.of_group(state, together(state))
    state.undo()
    first, second = working(state)
    state.apply(Insert((first,)))
    state.apply(Insert((second,)))
    apart = Cost.sum(costs.of_group(state, group) for group in state.groups)
    assert _bytes(apart) == 2 * _bytes(joined)


def test_a_tiling_is_asked_without_a_change() -> None:
    state, costs = traced(softmax, (4000, 1000)), model()
    group = together(state)
    before, key = repr(state), state.key()
    asked = costs.what_if(state, group, (8, 0))
    assert (repr(state), state.key()) == (before, key)
    assert costs.what_if(state, group, ()) == costs.of_group(state, group)
    state.apply(Annotate(group, "tiling", (8, 0)))
    assert costs.of_group(state, group) == asked
    tiny = costs.what_if(state, group, (1, 1))
    assert tiny.seconds > asked.seconds


def test_tiles_keep_what_is_between_contractions_near() -> None:
    def two(x: Any, y: Any, z: Any) -> Any:
        return np.maximum(np.maximum(x @ y, 0.0) @ z, 0.0)

    state, costs = traced(two, (4096, 64), (64, 512), (512, 64)), model()
    group = together(state)
    whole, tiled = (costs.what_if(state, group, tiling) for tiling in ((), (64,)))
    assert dict(tiled.work)["multiply-adds"] == dict(whole.work)["multiply-adds"]
    assert dict(tiled.work).get("bytes of memory", 0) < dict(whole.work)["bytes of memory"]


def test_threads_share_what_is_worth_it() -> None:
    large, small = traced(lambda x: x @ x.T, (600, 600)), traced(lambda x: x @ x.T, (6, 6))
    assert model(2).threads == min(2, AVX2.logical_cores)
    if AVX2.logical_cores > 1:
        assert model(2).of_state(large).seconds < 0.7 * model(1).of_state(large).seconds
        assert dict(model(2).of_state(large).parts)["threads"] > 0
    assert model(2).of_state(small) == model(1).of_state(small)


def test_a_faster_machine_costs_less() -> None:
    state = traced(gelu, ROWS)
    seconds = [
        TargetModel(name, threads=1).of_state(state).seconds
        for name in ("generic-x86-64", "avx2", "avx512")
    ]
    assert seconds == sorted(seconds, reverse=True)
    assert len(set(seconds)) == 3


def test_the_target_in_force_is_asked() -> None:
    state = traced(gelu, ROWS)
    with target.using("avx512"):
        found = TargetModel(threads=1)
    assert found.of_state(state) == TargetModel("avx512", threads=1).of_state(state)


def test_groups_that_are_alike_are_looked_up() -> None:
    state, costs = traced(gelu, ROWS), model()
    first = costs.of_group(state, together(state, label="one"))
    state.undo()
    assert costs.of_group(state, together(state, label="two")) is first
    other = traced(gelu, (3, 5))
    assert costs.of_group(other, together(other)).seconds < first.seconds


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda costs, state: costs.of_group(state, 999), "item 999 does not exist"),
        (
            lambda costs, state: costs.of_group(state, "x"),
            "'x' is the label of no group",
        ),
        (lambda costs, state: costs.what_if(state, 999, (8,)), "item 999 does not exist"),
        (lambda costs, state: costs.what_if(state, working(state)[0], (-1,)), "cannot be tiled"),
        (lambda costs, state: costs.what_if(state, working(state)[0], ("8",)), "cannot be tiled"),
        (lambda costs, state: costs.what_if(state, working(state)[0], (1, 1, 1)), r"\[200, 300\]"),
        (lambda costs, state: costs.what_if(state, working(state)[0], 8), "8 is not a tiling"),
        (lambda costs, state: TargetModel("avx3"), "'avx3' is not a known target"),
        (lambda costs, state: TargetModel(threads=0), "threads is 0"),
    ],
)
def test_what_cannot_be_asked(ask: Any, message: str) -> None:
    with pytest.raises(LinalgExtError, match=message):
        ask(model(), traced(np.exp, ROWS))


@pytest.mark.parametrize(
    "type_", ["tensor<f32>", "tensor<0x7xf32>", "tensor<?x7xf64>", "tensor<1x1x1xi8>"]
)
def test_odd_shapes(type_: str) -> None:
    element = type_.rpartition("x")[2].rpartition("<")[2].rstrip(">")
    op = "addi" if element.startswith("i") else "mulf"
    state = read(f"""
    func.func @f(%x: {type_}) -> {type_} {{
      %a = arith.{op} %x, %x : {type_}
      %b = arith.{op} %a, %x : {type_}
      return %b : {type_}
    }}""")
    found = model().of_state(state)
    assert 0 < found.seconds < 1e-3


def test_a_function_without_work_costs_a_call() -> None:
    state = read("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
    costs = model()
    assert costs.of_state(state).seconds == costs.figures.call
    assert isinstance(state, State)


def _bytes(cost: Cost) -> float:
    return sum(count for name, count in cost.work if name.startswith("bytes"))


def test_what_has_no_maps_costs_its_bytes() -> None:
    state = read("""
    func.func @f(%x: tensor<300x200xf32>) -> tensor<302x204xf32> {
      %zero = arith.constant 0.0 : f32
      %r = tensor.pad %x low[1, 2] high[1, 2] {
        ^bb0(%i: index, %j: index):
          tensor.yield %zero : f32
      } : tensor<300x200xf32> to tensor<302x204xf32>
      return %r : tensor<302x204xf32>
    }""")
    moved = [n for name, n in model().of_state(state).work if name.startswith("bytes of")]
    assert sum(moved) == 4 * (300 * 200 + 302 * 204)
