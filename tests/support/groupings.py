"""Random graphs of ops, and random moves on them; what must be true of every state."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from linalg_ext.errors import GroupingError
from linalg_ext.transforms.grouping import (
    ROOT,
    Annotate,
    Deduplicate,
    Dissolve,
    Duplicate,
    Graph,
    Insert,
    Merge,
    Move,
    MoveIn,
    MoveOut,
    Node,
    Reorder,
    Result,
    Split,
    State,
    Value,
)
from linalg_ext.transforms.grouping._state import check_interface

AROUND = """
func.func @f(%x: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  {}
  return %r : tensor<4xf32>
}"""
"""The function around the documented examples of passes on groups."""

TENSOR = Result("tensor<4x4xi32>", True, True, None)
SCALAR = Result("i32", False, False, None)


def random_graph(rng: random.Random, count: int) -> Graph:
    """A graph without IR: some nodes are cheap, some give scalars, some have side effects."""
    nodes: list[Node] = []
    last: int | None = None
    for number in range(count):
        first = max(0, number - 12)
        known = [Value(-1, 0), *(Value(each) for each in range(first, number))]
        reads = tuple(rng.choice(known) for _ in range(rng.randint(0, 3)))
        effect = "it prints" if rng.random() < 0.03 else ""
        result = SCALAR if rng.random() < 0.1 else TENSOR
        cheap = not effect and rng.random() < 0.4
        after = () if last is None else (last,)
        meaning = result if cheap else None
        nodes.append(Node(number, "op", reads, (result,), effect, cheap, after, meaning))
        last = number if effect else last
    used = {read.node for node in nodes for read in node.reads}
    returned = frozenset(Value(each) for each in range(count) if each not in used)
    return Graph("f", tuple(nodes), returned, (), tuple(range(count)))


def random_module(rng: random.Random, count: int) -> str:
    """The text of a function of integers, exact in whatever order they are summed."""
    square, row = "tensor<4x4xi32>", "tensor<?x4xi32>"
    squares, rows = ["%x", "%y"], ["%z"]
    lines = [
        "%c = arith.constant 3 : i32",
        f"%e = tensor.empty() : {square}",
        "%i = arith.constant 0 : index",
        f"%n = tensor.dim %z, %i : {row}",
        f"%d = tensor.empty(%n) : {row}",
    ]
    for at in range(count):
        name, kind = f"%v{at}", rng.choice(["add", "sub", "max", "matmul", "fill", "rows", "pick"])
        a, b, r = rng.choice(squares), rng.choice(squares), rng.choice(rows)
        if kind == "fill":
            lines.append(f"{name} = linalg.fill ins(%c : i32) outs(%e : {square}) -> {square}")
        elif kind == "rows":
            lines += [
                f"{name}e = tensor.empty(%n) : {row}",
                f"{name} = linalg.add ins({r}, {rng.choice(rows)} : {row}, {row})"
                f" outs({name}e : {row}) -> {row}",
            ]
        elif kind == "pick":
            lines += [
                f"{name}s = tensor.extract {a}[%i, %i] : {square}",
                f"{name} = linalg.fill ins({name}s : i32) outs(%e : {square}) -> {square}",
            ]
        else:
            out = b if kind == "matmul" else "%e"
            lines.append(
                f"{name} = linalg.{kind} ins({a}, {b} : {square}, {square})"
                f" outs({out} : {square}) -> {square}"
            )
        (rows if kind == "rows" else squares).append(name)
    body = "\n  ".join(lines)
    return f"""
func.func @f(%x: {square}, %y: {square}, %z: {row}) -> ({square}, {square}, {row}) {{
  {body}
  return {squares[-1]}, {squares[len(squares) // 2]}, {rows[-1]} : {square}, {square}, {row}
}}"""


def random_moves(state: State, rng: random.Random, count: int) -> Iterator[tuple[Move, Move]]:
    """Make up to `count` legal moves on a state; each with the one that takes it back."""
    made = 0
    for _ in range(20 * count):
        move = rng.choice(_PROPOSALS)(state, rng)
        if move is None:
            continue
        before = repr(state)
        try:
            inverse = state.apply(move)
        except GroupingError:
            assert repr(state) == before, f"{move!r} was refused, and left something behind"
            continue
        yield move, inverse
        made += 1
        if made == count:
            return


def check_state(state: State) -> None:
    """Every item stands once, after what it needs; groups are as groups must be."""
    seen = list(state.nodes_of(ROOT))
    assert len(seen) == len(set(seen))
    assert {*seen, *state.removed} >= {node.number for node in state.graph.nodes}
    assert not set(state.removed) & set(seen)
    place = {node: at for at, node in enumerate(seen)}
    for node in seen:
        for value in state.reads(node):
            assert value.node < 0 or place[value.node] < place[node]
            assert value.node < 0 or node in state.users(value.node)
        assert all(place[each] < place[node] for each in state.node(node).after)
    for group in state.groups:
        assert state.children(group)
        assert not any(state.node(each).effect for each in state.nodes_of(group))
        check_interface(state, group)


def _some(items: Any, rng: random.Random) -> int | None:
    listed = list(items)
    return rng.choice(listed) if listed else None


def _place(state: State, rng: random.Random) -> tuple[int, tuple[int, ...]]:
    place = rng.choice([ROOT, *state.groups])
    return place, state.children(place)


def _insert(state: State, rng: random.Random) -> Move | None:
    _, items = _place(state, rng)
    start = rng.randrange(len(items))
    chosen = rng.sample(items[start : start + 8], k=min(len(items) - start, rng.randint(1, 4)))
    notes: dict[str, Any] = {"label": f"g{rng.randrange(5)}"}
    if rng.random() < 0.05:
        notes["preserve"] = True
    return Insert(tuple(chosen), notes, isolated=rng.random() < 0.3)


def _of_group(make: Callable[[State, random.Random, int], Move | None]) -> Any:
    def propose(state: State, rng: random.Random) -> Move | None:
        group = _some(state.groups, rng)
        return None if group is None else make(state, rng, group)

    return propose


def _beside(state: State, rng: random.Random, group: int) -> int:
    items = state.children(state.parent(group))
    at = items.index(group)
    return rng.choice(items[max(0, at - 3) : at + 4])


def _merge(state: State, rng: random.Random, group: int) -> Move | None:
    others = [g for g in state.groups if state.parent(g) == state.parent(group)]
    return Merge(group, rng.choice(others))


def _split(state: State, rng: random.Random, group: int) -> Move | None:
    items = state.children(group)
    return Split(group, tuple(rng.sample(items, k=rng.randint(1, len(items)))))


def _duplicate(state: State, rng: random.Random, group: int) -> Move | None:
    node = _some((v.node for v in state.inputs(group) if v.node >= 0), rng)
    return None if node is None else Duplicate(node, group)


def _deduplicate(state: State, rng: random.Random) -> Move | None:
    nodes = list(state.nodes_of(ROOT))
    cheap = [node for node in nodes if state.node(node).is_cheap]
    copy = _some([*filter(state.is_copy, nodes)] * 9 + cheap, rng)
    if copy is None:
        return None
    same = [node for node in cheap if state.node(node).op == state.node(copy).op and node != copy]
    return Deduplicate(copy, rng.choice(same)) if same else None


def _reorder(state: State, rng: random.Random) -> Move | None:
    _, items = _place(state, rng)
    at = rng.randrange(len(items))
    near = items[max(0, at - 3) : at + 5]
    return Reorder(items[at], rng.choice([*near, None]))


def _annotate(state: State, rng: random.Random, group: int) -> Move | None:
    if rng.random() < 0.2:
        return Annotate(group, "preserve", None)
    sizes = rng.choice([(4, 4), (0, 8), None])
    return Annotate(group, "tiling", sizes)


_PROPOSALS: list[Callable[[State, random.Random], Move | None]] = [
    *[_insert] * 3,
    _of_group(lambda state, rng, group: Dissolve(group)),
    _of_group(_merge),
    _of_group(_split),
    *[_of_group(lambda state, rng, group: MoveIn(_beside(state, rng, group), group))] * 2,
    _of_group(lambda state, rng, group: MoveOut(rng.choice(state.children(group)))),
    *[_of_group(_duplicate)] * 2,
    _deduplicate,
    _reorder,
    _of_group(_annotate),
]
