"""Each move: what it does, and what it says where it is not legal."""

from __future__ import annotations

import pytest

import linalg_ext as lx
from kernels import normalized
from linalg_ext.errors import ArgumentError, GroupingError, LinalgExtError
from linalg_ext.transforms.grouping import (
    Annotate,
    Deduplicate,
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
    Value,
    read_graph,
    realize,
)

X, R = "tensor<4x4xf32>", "tensor<?x4xf32>"
TEXT = f"""
func.func private @log({X}) -> {X}
func.func @f(%x: {X}, %w: {X}, %z: {R}) -> ({X}, {X}, {R}) {{
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : {X}
  %fill = linalg.fill ins(%c : f32) outs(%e : {X}) -> {X}
  %a = linalg.matmul ins(%x, %w : {X}, {X}) outs(%fill : {X}) -> {X}
  %b = linalg.exp ins(%a : {X}) outs(%e : {X}) -> {X}
  %d = linalg.matmul ins(%b, %w : {X}, {X}) outs(%fill : {X}) -> {X}
  %p = linalg.exp ins(%d : {X}) outs(%e : {X}) -> {X}
  %q = func.call @log(%p) : ({X}) -> {X}
  %i = arith.constant 0 : index
  %s = tensor.extract %q[%i, %i] : {X}
  %t = linalg.fill ins(%s : f32) outs(%e : {X}) -> {X}
  %n = tensor.dim %z, %i : {R}
  %g = tensor.empty(%n) : {R}
  %h = linalg.exp ins(%z : {R}) outs(%g : {R}) -> {R}
  return %t, %q, %h : {X}, {X}, {R}
}}"""
C, E, FILL, A, B, D, P, Q, ZERO, S, T, N, G, H = range(14)
FIRST = 14  # the number of the first group that a move makes


@pytest.fixture(scope="module")
def module() -> lx.Module:
    return lx.parse(TEXT)


@pytest.fixture
def state(module: lx.Module) -> State:
    return State(read_graph(module, "f"))


def test_the_graph_says_what_the_ops_are(state: State) -> None:
    nodes = state.graph.nodes
    assert nodes[A].reads == (Value(-1, 0), Value(-1, 1), Value(FILL))
    assert {n.number for n in nodes if n.is_cheap} == {C, E, FILL, B, P, ZERO, T, N, G, H}
    assert [n.number for n in nodes if n.effect] == [Q]
    assert (nodes[S].after, nodes[ZERO].after) == ((Q,), ())
    assert nodes[E].meaning == nodes[E].meaning != nodes[G].meaning
    assert nodes[B].meaning == nodes[P].meaning  # an exponential of whatever they read
    assert state.graph.returned == {Value(T), Value(Q), Value(H)}
    assert repr(state.graph).splitlines()[1 + A].split() == [
        "3",
        "linalg.matmul",
        "arg0,",
        "arg1,",
        "2",
    ]


def test_insert_and_dissolve(state: State) -> None:
    undo = state.apply(Insert((P, B, D), {"label": "layer", "tiling": (2, 4)}))
    assert state.children(FIRST) == (B, D, P)
    assert state.inputs(FIRST) == (Value(A), Value(E), Value(-1, 1), Value(FILL))
    assert state.outputs(FIRST) == (Value(P),)
    assert state.data(FIRST).annotations == {"label": "layer", "tiling": (2, 4)}
    state.apply(undo)
    assert state.groups == ()


def test_what_is_between_goes_to_where_it_may(state: State) -> None:
    state.apply(Insert((FILL, D, A, B)))
    assert state.children()[:4] == (C, E, FIRST, P)


def test_merge_and_split(state: State) -> None:
    Plan([Insert((A,), {"tiling": (4,)}), Insert((B,)), Insert((D,))]).apply_to(state)
    state.apply(Merge(FIRST + 1, FIRST))
    assert state.children(FIRST + 1) == (A, B)
    assert state.data(FIRST + 1).annotations == {}  # what the one that stays says
    state.apply(Split(FIRST + 1, (A,), new=40))
    assert state.children()[3:5] == (40, FIRST + 1)


def test_nest_and_move_in_and_out(state: State) -> None:
    Plan([Insert((A,)), Insert((B, D)), MoveIn(FIRST, FIRST + 1)]).apply_to(state)
    assert state.children(FIRST + 1) == (FIRST, B, D)
    assert state.parent(A) == FIRST
    state.apply(MoveOut(D))
    assert state.children()[3:5] == (FIRST + 1, D)


def test_duplicate_and_deduplicate(state: State, module: lx.Module) -> None:
    Plan([Insert((A, B)), Insert((D,)), Duplicate(FILL, FIRST + 1)]).apply_to(state)
    copy = FIRST + 2
    assert state.children(FIRST + 1) == (copy, D)
    assert state.reads(D)[2] == Value(copy)
    assert state.reads(copy) == state.reads(FILL)
    assert str(realize(module.clone(), state)).count("linalg.fill") == 3
    state.apply(Deduplicate(copy, FILL))
    assert state.reads(D)[2] == Value(FILL)


def test_reorder(state: State) -> None:
    undo = state.apply(Reorder(ZERO, C))
    assert state.children()[:2] == (ZERO, C)
    state.apply(undo)
    assert state.children() == tuple(range(FIRST))


def test_the_key_is_of_what_groups_hold_and_say(state: State) -> None:
    other = state.copy()
    Plan([Insert((A, B)), Insert((D, P), {"label": "second"})]).apply_to(state)
    Plan([Insert((D, P)), Reorder(ZERO, C), Insert((A, B))]).apply_to(other)
    assert state.key() == other.key() != 0
    other.apply(Annotate(FIRST, "tiling", (4,)))
    assert state.key() != other.key()
    state.apply(Insert((FIRST, FIRST + 1)))
    assert len({state.key(), other.key(), 0}) == 3
    state.undo(3)
    assert state.key() == 0


def test_a_dynamic_destination_is_made_outside(state: State, module: lx.Module) -> None:
    state.apply(Insert((G, H)))
    text = str(realize(module.clone(), state))
    assert text.index("tensor.empty(%") < text.index('"linalg_ext.group"')
    assert normalized(lx.parse(text).ir)


def test_realized_groups_are_read_back(state: State, module: lx.Module) -> None:
    Plan([Insert((A, B), {"label": "g"}), Insert((FIRST, D), isolated=True)]).apply_to(state)
    realized = realize(module.clone(), state)
    again = State(read_graph(realized, "f"))
    assert again.key() == state.key()
    assert str(realize(realized.clone(), again)) == str(realized)


SETUP = Plan([Insert((A, B)), Insert((D, P), {"label": "kept", "preserve": True})])
ILLEGAL: dict[str, tuple[Move, str]] = {
    "no such item": (Insert((99,)), "item 99 does not exist.*print"),
    "nothing": (Insert(()), "the list of items is empty"),
    "twice": (Insert((ZERO, ZERO)), "names an item twice"),
    "two places": (Insert((A, ZERO)), "stands in group 14, .* in the function.*move them"),
    "not convex": (Insert((FILL, D)), "must stay|stands in"),
    "side effects": (Insert((Q,)), "func.call .7. cannot stand in a group: func.call may"),
    "a scalar": (Insert((S,)), "tensor.extract .9. gives f32 to ops outside"),
    "around an effect": (Insert((FIRST + 1, S, T)), "func.call .7. would stand between two parts"),
    "sizes inside": (Insert((N, G)), "index to ops|come from|gives index"),
    "a number that is taken": (Insert((ZERO, N), group=FIRST), "number 14 is taken"),
    "dissolve a node": (Dissolve(A), "matmul .3. is not a group"),
    "dissolve preserved": (Dissolve(FIRST + 1), "kept.* says preserve.*Annotate"),
    "split preserved": (Split(FIRST + 1, (D,)), "says preserve"),
    "merge with preserved": (Merge(FIRST, FIRST + 1), "says preserve"),
    "merge with itself": (Merge(FIRST, FIRST), "with itself"),
    "move into preserved": (MoveIn(T, FIRST + 1), "says preserve"),
    "move out the last": (MoveOut(ZERO), "stands in no group"),
    "move in from elsewhere": (MoveIn(A, FIRST), "does not stand beside"),
    "split all": (Split(FIRST, (A, B)), "would be empty"),
    "split another": (Split(FIRST, (D,)), "does not stand in group 14"),
    "duplicate a product": (Duplicate(A, FIRST), "stands in group 14.* already"),
    "duplicate unread": (Duplicate(ZERO, FIRST), "is not read in group 14"),
    "deduplicate others": (Deduplicate(FILL, E), "does not compute the same as"),
    "deduplicate of other reads": (Deduplicate(B, P), "read other values"),
    "deduplicate a group": (Deduplicate(FIRST, A), "is a group"),
    "reorder past a need": (Reorder(C, ZERO), "linalg.fill .2. needs arith.constant .0."),
    "reorder to where it is": (Reorder(C, E), "there already"),
    "reorder elsewhere": (Reorder(C, A), "does not stand beside"),
    "a wrong order": (Reorder(C, 77), "item 77 does not exist"),
    "orders of others": (Dissolve(FIRST, orders=((-1, (1, 2)),)), "is of other items"),
    "orders against needs": (
        Dissolve(FIRST, orders=((-1, (C, E, FILL, B, A, FIRST + 1, Q, ZERO, S, T, N, G, H)),)),
        "linalg.exp .4. would stand before linalg.matmul .3.",
    ),
}


@pytest.mark.parametrize("mistake", ILLEGAL)
def test_a_move_that_is_not_legal_says_why(state: State, mistake: str) -> None:
    move, said = ILLEGAL[mistake]
    SETUP.apply_to(state)
    before = repr(state)
    with pytest.raises(GroupingError, match=f"(?s){said}"):
        state.apply(move)
    assert repr(state) == before
    assert state.why_not(move)


def test_a_group_that_is_not_convex_says_what_is_between(state: State) -> None:
    with pytest.raises(GroupingError, match=r"(?s)linalg.exp \(4\) would stand .*take 4 into"):
        state.apply(Insert((A, D)))


def test_a_product_is_not_duplicated(state: State) -> None:
    state.apply(Insert((B,)))
    with pytest.raises(GroupingError, match="not cheap"):
        state.apply(Duplicate(A, FIRST))


def test_what_stands_between_others_cannot_move_out(state: State) -> None:
    state.apply(Insert((A, B, D)))
    with pytest.raises(GroupingError, match=r"between linalg.matmul \(3\) and linalg.matmul \(5\)"):
        state.apply(MoveOut(B))


WRONG: dict[str, tuple[object, str]] = {
    "items that are not a list": (lambda: Insert(3), "not a list of items"),  # type: ignore[arg-type]
    "a negative tile": (lambda: Annotate(1, "tiling", (-1,)), "0 for a dimension"),
    "no name": (lambda: Annotate(1, "", 3), "cannot name"),
    "a counted name": (lambda: Annotate(1, "operandSegmentSizes", 3), "counts operands"),
    "a label that is not text": (lambda: Insert((1,), {"label": 3}), "a text"),
    "a value of no kind": (lambda: Annotate(1, "x", object()), "True"),  # type: ignore[arg-type]
    "preserve = False": (lambda: Annotate(1, "preserve", False), "None to take it away"),
    "no JSON": (lambda: Plan.from_json("{"), "not JSON"),
    "no list": (lambda: Plan.from_json("{}"), "a list of moves"),
    "no move": (lambda: Plan.from_json('[{"move": "Insrt"}]'), "move 0 .*Insert, Dissolve"),
    "no such field": (
        lambda: Plan.from_json('[{"move": "Merge", "third": 3}]'),
        "field 'third'.*first",
    ),
    "a field too few": (lambda: Plan.from_json('[{"move": "Merge", "first": 3}]'), "incomplete"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_what_is_no_move_is_refused(mistake: str) -> None:
    make, said = WRONG[mistake]
    with pytest.raises(ArgumentError, match=f"(?s){said}"):
        make()  # type: ignore[operator]


def test_a_plan_names_the_move_that_fails_and_undoes_the_others(state: State) -> None:
    with pytest.raises(GroupingError, match=r"(?s)not a group.*move 1 of 2: Dissolve\(3\)"):
        Plan([Insert((A, B)), Dissolve(A)]).apply_to(state)
    assert state.groups == ()
    with pytest.raises(GroupingError, match="3 moves cannot be taken back"):
        state.undo(3)


def test_another_module_is_refused(state: State) -> None:
    for text in ("func.func @g() { return }", "func.func @f() { return }"):
        with pytest.raises(LinalgExtError, match=r"no function @f|is not the function"):
            realize(text, state)
    with pytest.raises(ArgumentError, match="2 functions with a body: @g, @h"):
        read_graph("func.func @g() { return } func.func @h() { return }")


def test_a_plan_is_realized_at_once(module: lx.Module) -> None:
    clone = module.clone()
    Plan([Insert((A, B)), Insert((D, P)), Merge(FIRST, FIRST + 1)]).realize(clone, "f")
    assert str(clone).count('"linalg_ext.group"') == 1
    lx.transforms.inline_groups(clone)
    assert str(clone) == str(module)


def test_what_reads_two_alike_keeps_both() -> None:
    """A copy that is made again is read in the place of both: that is no way back."""
    x = "tensor<4xf32>"
    text = f"""
func.func @f(%x: {x}) -> {x} {{
  %e = tensor.empty() : {x}
  %a = linalg.exp ins(%x : {x}) outs(%e : {x}) -> {x}
  %b = linalg.exp ins(%x : {x}) outs(%e : {x}) -> {x}
  %r = linalg.sub ins(%a, %b : {x}, {x}) outs(%e : {x}) -> {x}
  return %r : {x}
}}"""
    why = State(read_graph(lx.parse(text))).why_not(Deduplicate(2, 1))
    assert why is not None
    assert "linalg.sub (3) reads both linalg.exp (2) and linalg.exp (1)" in why


def test_destinations_that_inner_groups_alone_had_are_gone_with_them() -> None:
    x = "tensor<4xf32>"
    text = f"""
func.func @f(%x: {x}) -> {x} {{
  %e = tensor.empty() : {x}
  %r = linalg_ext.group "outer" ins(%a = %x: {x}) outs(%o = %e: {x}) {{
    %h = tensor.empty() : {x}
    %s = linalg_ext.group "inner" ins(%b = %a: {x}) outs(%p = %h: {x}) {{
      %g = tensor.empty() : {x}
      %t = linalg.exp ins(%b : {x}) outs(%g : {x}) -> {x}
      linalg_ext.group_yield %t : {x}
    }}
    %u = linalg.tanh ins(%s : {x}) outs(%o : {x}) -> {x}
    linalg_ext.group_yield %u : {x}
  }}
  return %r : {x}
}}"""
    state = State(read_graph(lx.parse(text)))
    names = [state.node(item).op for item in state.nodes_of(state.item("outer"))]
    assert sorted(names) == ["linalg.exp", "linalg.tanh", "tensor.empty"]
