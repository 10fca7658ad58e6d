"""Fifty random moves: every state is sound, every inverse restores it, numbers stay."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from exported_modules import arrays_of, index_of, module_params
from groupings import check_state, random_graph, random_module, random_moves
from linalg_ext.transforms.grouping import MOVES, Plan, State, apply_move, read_graph, realize
from resources import THOROUGH

MOVES_IN_A_ROW = 50
FEW = ("l1_023_softmax", "l2_030_gemm_groupnorm_hardtanh", "l3_001_mlp")

# A smaller number is no smaller example: there is nothing to shrink.
PHASES = (Phase.explicit, Phase.generate)

seeds = st.integers(0, 2**32).map(random.Random)


@settings(max_examples=10, deadline=None, phases=PHASES)
@given(seeds, st.integers(2, 60))
def test_each_move_is_taken_back_by_its_inverse(rng: random.Random, count: int) -> None:
    state = State(random_graph(rng, count))
    texts, keys, inverses = [repr(state)], [state.key()], []
    for move, inverse in random_moves(state, rng, MOVES_IN_A_ROW):
        check_state(state)
        after, key = repr(state), state.key()
        state.apply(inverse)
        assert (repr(state), state.key()) == (texts[-1], keys[-1]), f"{inverse!r} of {move!r}"
        state.undo()
        assert (repr(state), state.key()) == (after, key), f"undo of {inverse!r}"
        assert state.copy().key() == key
        texts.append(after)
        keys.append(key)
        inverses.append(inverse)
    for inverse, text in zip(reversed(inverses), reversed(texts[:-1]), strict=True):
        state.apply(inverse)
        assert repr(state) == text
    assert state.key() == 0


def test_random_moves_are_of_all_kinds() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(10):
        rng = random.Random(seed)
        state = State(random_graph(rng, 40))
        kinds.update(type(move).__name__ for move, _ in random_moves(state, rng, MOVES_IN_A_ROW))
    assert {kind for kind in MOVES if kinds[kind] < 3} == set()


@settings(max_examples=3, deadline=None, phases=PHASES)
@given(seeds, st.integers(3, 10))
def test_on_ir_of_random_graphs(rng: random.Random, count: int) -> None:
    text = random_module(rng, count)
    module = lx.parse(text, trusted=True)
    before = str(module)
    state = State(read_graph(module))
    moves, inverses = zip(*random_moves(state, rng, MOVES_IN_A_ROW), strict=True)
    grouped = realize(module.clone(), state)
    assert str(lx.parse(str(grouped), trusted=True)) == str(grouped)
    plan = Plan(moves)
    replayed = State(read_graph(module))
    Plan.from_json(plan.to_json()).apply_to(replayed)
    assert str(realize(module.clone(), replayed)) == str(grouped)
    arrays = [rng.randrange(9) + np.arange(16, dtype=np.int32).reshape(4, 4) for _ in range(3)]
    for found, wanted in zip(
        lx.compile(grouped, entry="f")(*arrays), lx.compile(module)(*arrays), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
    Plan(reversed(inverses)).apply_to(state)
    assert str(realize(module.clone(), state)) == before


@settings(max_examples=3, deadline=None, phases=PHASES)
@given(seeds)
def test_each_move_on_ir_is_taken_back_by_its_inverse(rng: random.Random) -> None:
    module = lx.parse(random_module(rng, 8), trusted=True)
    for _ in range(10):
        made = next(random_moves(State(read_graph(module)), rng, 1), None)
        if made is None:  # chance may propose none that is legal
            continue
        move, _ = made
        realize(module, State(read_graph(module)))
        before = str(module)
        inverse = apply_move(module, move)
        apply_move(module, inverse)
        assert str(module) == before, f"{inverse!r} of {move!r}"
        apply_move(module, move)


@pytest.mark.parametrize("path", [p for p in module_params() if THOROUGH or p.id in FEW])
def test_on_modules(path: Path) -> None:
    facts = index_of(path)
    module = lx.parse(path.read_text(), trusted=True)  # MLIR printed it itself
    before = str(module)
    rng = random.Random(path.stem)
    state = State(read_graph(module))
    inverses = [inverse for _, inverse in random_moves(state, rng, MOVES_IN_A_ROW)]
    grouped = realize(module.clone(), state)
    inputs, expected = arrays_of(path)
    results = lx.compile(grouped, entry="main", trusted=True)(*inputs)
    for result, wanted in zip(
        results if isinstance(results, tuple) else (results,), expected, strict=True
    ):
        np.testing.assert_allclose(result, wanted, rtol=facts["rtol"], atol=facts["atol"])
    Plan(reversed(inverses)).apply_to(state)
    assert str(realize(module, state)) == before
