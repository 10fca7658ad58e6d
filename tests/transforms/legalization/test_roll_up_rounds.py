"""Equal rounds on tensors become a loop that computes the same; rounds that differ stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext import cache
from linalg_ext.module import Module
from linalg_ext.transforms.legalization import roll_up_rounds as file

ROUNDS = 40
ROWS = np.random.default_rng(0).random((ROUNDS, 9), np.float32)
ORDER = np.random.default_rng(1).permutation(ROUNDS)


def _recurrence(x: Any) -> Any:
    state = np.zeros(9, np.float32)
    for at in range(ROUNDS):
        state = state * np.float32(0.5) + x[at]
    return state


def _collected(x: Any) -> Any:
    state, states = x[0], []
    for at in range(ROUNDS):
        state = np.tanh(state + x[ROUNDS - 1 - at])
        states.append(state)
    return np.stack(states), state


def _rows_in_an_order(x: Any) -> Any:
    state = x[0] * 0
    for at in ORDER:
        state = np.maximum(state, x[at]) - x[int(at) % 3]
    return state


def _other_constants(x: Any) -> Any:
    state = x[0]
    for at in range(ROUNDS):
        state = state + np.float32(0.1) * (np.sin(np.float32(at * at)) - state)
    return state


def _two_rounds_before(x: Any) -> Any:
    before, now = x[0], x[1]
    for _ in range(2 * ROUNDS):
        before, now = now, np.tanh(before - now * np.float32(0.5))
    return before, now


def _written_in_place(x: Any) -> Any:
    out, total = np.zeros((ROUNDS, 9), np.float32), np.float32(0)
    for at in range(ROUNDS):
        total = total + x[at].sum()
        out[at, 1:] = x[at, 1:] * total
    return out


def _stencil(x: Any) -> Any:
    row = x[0].copy()
    for _ in range(ROUNDS):
        row[1:-1] = (row[2:] + row[:-2]) / 2
    return row


def _mapped(x: Any) -> Any:
    return np.stack([np.sort(x[at]) for at in range(ROUNDS)])


def _some_states(x: Any) -> Any:
    state, states = x[0], []
    for at in range(ROUNDS):
        state = (state @ x[:9, :9]) / np.float32(4)
        if at % 2:
            states.append(state)
    return np.stack(states)


def _table(x: Any) -> Any:
    """A table of two indices, whose rounds share slices of both."""
    table, left, right = np.zeros((9, 9), np.float32), x[0], x[1]
    for i in range(1, 9):
        for j in range(1, 9):
            best = np.minimum(table[i - 1, j], table[i, j - 1]) + np.float32(0.5)
            table[i, j] = np.minimum(best, table[i - 1, j - 1] + left[i] * right[j])
    return table


def _padded(x: Any) -> Any:
    for _ in range(ROUNDS):
        x = np.pad((x[:-2, 1:-1] + x[2:, 1:-1]) / np.float32(2), 1)
    return x


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "a recurrence": (_recurrence, 1),
    "collected": (_collected, 2),
    "rows in an order": (_rows_in_an_order, 1),
    "other constants": (_other_constants, 1),
    "two rounds before": (_two_rounds_before, 1),
    "written in place": (_written_in_place, 1),
    "a stencil": (_stencil, 1),
    "mapped": (_mapped, 2),
    "some states": (_some_states, 1),
    "a table": (_table, 1),
    "padded": (_padded, 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_those_of_all_rounds(name: str) -> None:
    function, loops = FUNCTIONS[name]
    module = lx.jit(lambda x: function(x)).lower(ROWS).module
    assert file.roll_up_rounds(module).changed["scf.for"] >= loops
    module.verify()
    with cache.off():
        rolled = lx.jit(lambda x: function(x))(ROWS)
        with mock.patch.object(file, "rows", return_value=iter(())):
            straight = lx.jit(lambda x: function(x))(ROWS)
    for own, other, numpy_s in zip(*map(_leaves, (rolled, straight, function(ROWS))), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-6)
        np.testing.assert_allclose(own, numpy_s, rtol=1e-5, atol=1e-6)


def _leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def test_a_round_overwrites_its_own_tensors() -> None:
    """Filled once for all rounds, they would be copied in each."""
    buffers = lx.jit(_padded).lower(ROWS).compile().as_text("buffers")
    assert "scf.for" in buffers
    assert "memref.copy" not in buffers


ROUND = """
  %s{n} = tensor.extract_slice %x[{n}, 0] [1, 8] [1, 1] : tensor<9x8xf32> to tensor<8xf32>
  %v{next} = linalg.sub ins(%s{n}, %v{n} : tensor<8xf32>, tensor<8xf32>)
    outs(%e : tensor<8xf32>) -> tensor<8xf32>
"""


def _rounds(old: str = "", new: str = "") -> Module:
    text = [ROUND.format(n=n, next=n + 1) for n in range(8)]
    text[4] = text[4].replace(old, new)
    return Module.parse(
        f"""
        func.func @f(%x: tensor<9x8xf32>, %v0: tensor<8xf32>, %w: tensor<8xf32>)
            -> tensor<8xf32> {{
          %e = tensor.empty() : tensor<8xf32>
          {"".join(text)}
          return %v8 : tensor<8xf32>
        }}""",
        trusted=True,
    )


def test_equal_rounds_are_one_loop() -> None:
    module = _rounds()
    assert file.roll_up_rounds(module, least=8, saved=1).changed.total() == 1
    module.verify()
    assert str(module).count("linalg.sub") == 1
    assert "tensor.extract" not in str(module).replace("tensor.extract_slice", "")


@pytest.mark.parametrize(
    ("difference", "old", "new"),
    [
        ("an op", "linalg.sub", "linalg.add"),
        ("an attribute", "linalg.sub", "linalg.sub {mark}"),
        ("the order of operands", "ins(%s4, %v4", "ins(%v4, %s4"),
        ("an operand", "ins(%s4, %v4", "ins(%s4, %w"),
        ("a round that is left out", "ins(%s4, %v4", "ins(%s4, %v3"),
        ("the tensor that is read", "outs(%e", "outs(%w"),
        ("a stride", "[1, 8] [1, 1] : tensor<9x8xf32>", "[1, 8] [2, 1] : tensor<9x8xf32>"),
    ],
)
def test_rounds_stay_apart_that_differ_in(difference: str, old: str, new: str) -> None:
    assert not file.roll_up_rounds(_rounds(old, new), least=8, saved=1), difference
    shorter = _rounds(old, new)
    assert file.roll_up_rounds(shorter, least=3, saved=1), difference
    shorter.verify()


@pytest.mark.parametrize("axis", [0, 1])
def test_results_of_rounds_that_are_joined(axis: int) -> None:
    row = "tensor<1x8xf32>"
    rounds = [
        f"""%s{n} = tensor.extract_slice %x[{n}, 0] [1, 8] [1, 1] : tensor<40x8xf32> to {row}
        %v{n + 1} = arith.subf %s{n}, %v{n} : {row}"""
        for n in range(40)
    ]
    whole = "tensor<40x8xf32>" if axis == 0 else "tensor<1x320xf32>"
    module = Module.parse(
        f"""
        func.func @f(%x: tensor<40x8xf32>, %v0: {row}) -> {whole} {{
          {"".join(rounds)}
          %j = tensor.concat dim({axis}) {", ".join(f"%v{n + 1}" for n in range(40))}
            : ({", ".join([row] * 40)}) -> {whole}
          return %j : {whole}
        }}""",
        trusted=True,
    )
    kernel = lx.compile(module.clone())
    assert file.roll_up_rounds(module).changed.total() == 2
    module.verify()
    assert "concat" not in str(module)
    x, state, states = np.arange(320, dtype=np.float32).reshape(40, 8), np.ones((1, 8), "f4"), []
    start = state
    for at in range(40):
        state = x[at : at + 1] - state
        states.append(state)
    np.testing.assert_array_equal(kernel(x, start), np.concatenate(states, axis))


def test_offsets_in_any_order_are_looked_up() -> None:
    module = _rounds("%x[4, 0]", "%x[8, 0]")
    assert file.roll_up_rounds(module, least=8, saved=1)
    assert "tensor.extract %" in str(module)


def test_long_elementwise_chains_are_left_to_fusion() -> None:
    def function(x: Any) -> Any:
        for _ in range(ROUNDS):
            x = np.sin(x) * 2
        return x

    assert not file.roll_up_rounds(lx.jit(function).lower(ROWS).module)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["row", "mirror", "add", "scale", "sum"]), st.integers(0, 2)),
        min_size=2,
        max_size=4,
    ),
    st.sampled_from([1, 2, 3, 7]),
    st.booleans(),
    st.booleans(),
)
def test_random_rounds_compute_the_same(
    steps: list[tuple[str, int]], stride: int, odd: bool, collects: bool
) -> None:
    """Rounds on three arrays, one of them with a step of its own."""

    def function(x: Any) -> Any:
        state, states = [x[0], x[1], x[2]], []
        for at in range(ROUNDS):
            for kind, to in steps:
                now, other = state[to], state[(to + 1) % 3]
                if odd and at == ROUNDS // 3:
                    now = now + other
                state[to] = {
                    "row": lambda now, other, at: now - x[at * stride % ROUNDS],
                    "mirror": lambda now, other, at: (now + other[::-1]) * np.float32(0.5),
                    "add": lambda now, other, at: now + other * np.float32(0.125),
                    "scale": lambda now, other, at: now * np.float32(0.5 + at / 100),
                    "sum": lambda now, other, at: now - other.sum() / np.float32(16),
                }[kind](now, other, at)
            states.append(state[0])
        return (*state, *([np.stack(states)] if collects else []))

    kernel = lx.jit(function)
    event("rolled" if file.roll_up_rounds(kernel.lower(ROWS).module) else "straight")
    for own, numpy_s in zip(kernel(ROWS), function(ROWS), strict=True):
        np.testing.assert_allclose(own, numpy_s, rtol=1e-4, atol=1e-5 * np.abs(numpy_s).max())
