"""How people name groups, what groups say, and how moves print: as they are written."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.errors import GroupingError
from linalg_ext.transforms import grouping
from linalg_ext.transforms.grouping import (
    ROOT,
    Annotate,
    Dissolve,
    Duplicate,
    Insert,
    Merge,
    Move,
    MoveIn,
    MoveOut,
    Plan,
    Reorder,
    Split,
    State,
    TargetModel,
    read_graph,
    realize,
)
from linalg_ext.transforms.grouping._annotations import Note

X = "tensor<4x4xf32>"
TEXT = f"""
func.func @f(%x: {X}) -> {X} {{
  %e = tensor.empty() : {X}
  %a = linalg.exp ins(%x : {X}) outs(%e : {X}) -> {X}
  %b = linalg.tanh ins(%a : {X}) outs(%e : {X}) -> {X}
  %c = linalg.abs ins(%b : {X}) outs(%e : {X}) -> {X}
  %d = linalg.sqrt ins(%c : {X}) outs(%e : {X}) -> {X}
  return %d : {X}
}}"""
E, A, B, C, D = range(5)
MODULE = lx.parse(TEXT)
GRAPH = read_graph(MODULE)


@pytest.fixture
def state() -> State:
    state = State(GRAPH)
    Plan([Insert((A,), {"label": "first"}), Insert((B, C), {"label": "then"})]).apply_to(state)
    return state


def test_a_label_stands_for_its_group(state: State) -> None:
    first, then = state.groups
    assert (state.group("first"), state.group("then"), state.group(then)) == (first, then, then)
    assert (state.item("then"), state.item(B), state.group(ROOT)) == (then, B, ROOT)
    assert state.children("then") == (B, C)
    assert repr(state.data("first")) == "GroupData({'label': 'first'}, is_isolated=False)"
    model = TargetModel("avx2", threads=1)
    assert repr(model) == "<TargetModel of avx2, 1 thread, analytic figures>"
    assert model.of_group(state, "then") == model.of_group(state, then)
    assert model.what_if(state, "then", (2,)) == model.what_if(state, then, (2,))
    with pytest.raises(GroupingError, match="is not a group"):
        state.group(B)


PAIRS: list[tuple[Move, Move]] = [
    (Merge("first", "then"), Merge(5, 6)),
    (Dissolve("then"), Dissolve(6)),
    (Split("then", (C,)), Split(6, (C,))),
    (Annotate("first", "tiling", (2,)), Annotate(5, "tiling", (2,))),
    (Insert(("then", D), {"label": "outer"}), Insert((6, D), {"label": "outer"})),
    (MoveIn("first", "then"), MoveIn(5, 6)),
    (MoveOut(B), MoveOut(B)),
    (Duplicate(E, "then"), Duplicate(E, 6)),
]


@pytest.mark.parametrize(("by_label", "by_number"), PAIRS, ids=repr)
def test_moves_take_labels(state: State, by_label: Move, by_number: Move) -> None:
    other = state.copy()
    undo = state.apply(by_label)
    assert undo == other.apply(by_number)
    assert repr(state) == repr(other)
    assert Plan.from_json(Plan([by_label]).to_json()) == Plan([by_label])
    state.apply(undo)
    assert state.groups == (5, 6)


def test_places_take_labels_too(state: State) -> None:
    assert "there already" in str(state.why_not(Reorder("first", "then")))
    assert "needs" in str(state.why_not(Reorder("then", "first")))


def test_a_label_that_none_or_several_have(state: State) -> None:
    with pytest.raises(GroupingError, match=r"(?s)'thn' is the label of no group.*mean 'then'\?"):
        state.apply(Dissolve("thn"))
    state.apply(Annotate("first", "label", "then"))
    with pytest.raises(GroupingError, match=r"(?s)2 groups have the label 'then'.*5 or 6"):
        state.group("then")
    with pytest.raises(GroupingError, match=r"(?s)'x' is the label of no group.*number of an item"):
        State(GRAPH).group("x")


MOVES = [
    "Insert((1, 2))",
    "Insert((1, 'then'), annotations={'label': 'a \"b\"', 'tiling': (8, 0)}, isolated=True)",
    "Insert((3,), annotations={'at': 3, 'preserve': True, 'weight': 0.5}, group=19)",
    "Dissolve(19)",
    "Dissolve('norm', even_preserved=True)",
    "Merge(19, 'gelu')",
    "Split(19, (3, 4), new=40)",
    "Annotate(19, 'tiling', (64,))",
    "Annotate(19, 'preserve', None)",
    "Annotate(19, 'map', AttributeText('affine_map<(d0) -> (d0)>'))",
    "MoveIn(3, 19)",
    "Reorder(3)",
    "Reorder(3, before=5)",
    "Duplicate(3, 19, readers=(4,))",
    "Deduplicate(20, 3)",
]


@pytest.mark.parametrize("text", MOVES)
def test_a_move_prints_as_it_is_written(text: str) -> None:
    names = {name: getattr(grouping, name) for name in dir(grouping)}
    assert repr(eval(text, names)) == text


VALUES = (
    st.text()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4).map(tuple)
    | st.just(True)
)


@given(VALUES)
@example('a "quoted" \\ text\n\t\x07 é')
@example(())
@example("unit")
def test_what_a_group_says_comes_back_from_ir(value: Note) -> None:
    """As a value of the same type, from the state and from a module that says it."""
    state = State(GRAPH)
    state.apply(Insert((A,), {"label": "g", "said": value}))
    realized = realize(MODULE.clone(), state)
    again = State(read_graph(realized))
    for each in (state, again):
        found = each.data(each.group("g")).annotations["said"]
        assert (found, type(found)) == (value, type(value))
    assert state.key() == again.key()
