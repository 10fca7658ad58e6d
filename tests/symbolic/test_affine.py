"""Affine expressions: their values by brute force, their text by MLIR's own."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linalg_ext.bindings import ir
from linalg_ext.errors import DefinitionError
from linalg_ext.ir.context import new_context
from linalg_ext.symbolic.affine import (
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineMap,
    AffineSymbol,
)

DIMS, SYMBOLS = ("a", "b"), ("S", "R")
LEAVES: dict[str, AffineExpr] = {
    **{name: AffineDim(name) for name in DIMS},
    **{name: AffineSymbol(name) for name in SYMBOLS},
}


@dataclass(frozen=True)
class Tree:
    """An expression before anything has simplified it: an operator and two trees, or a leaf."""

    operator: str
    children: tuple[Tree, ...] = ()
    leaf: str | int = 0

    def fold(self, leaf: Callable[[str | int], Any], combine: dict[str, Callable[..., Any]]) -> Any:
        if not self.children:
            return leaf(self.leaf)
        return combine[self.operator](*(child.fold(leaf, combine) for child in self.children))


OURS: dict[str, Callable[..., Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": lambda x, y: x // y,
    "/": lambda x, y: x / y,
    "%": lambda x, y: x % y,
}
VALUES = {**OURS, "/": lambda x, y: -(-x // y)}


def _ours(tree: Tree) -> AffineExpr:
    expr: AffineExpr = tree.fold(
        lambda leaf: AffineConst(leaf) if isinstance(leaf, int) else LEAVES[leaf], OURS
    )
    return expr


def _value(tree: Tree, at: dict[str, int]) -> int:
    value: int = tree.fold(lambda leaf: leaf if isinstance(leaf, int) else at[leaf], VALUES)
    return value


def _text(expr: AffineExpr) -> str:
    return str(AffineMap(DIMS, SYMBOLS, (expr,)))


def _text_of_mlir(tree: Tree) -> str:
    """The same expression built and printed by MLIR; call inside a context."""
    minus_one = ir.AffineConstantExpr.get(-1)

    def leaf(value: str | int) -> ir.AffineExpr:
        if isinstance(value, int):
            return ir.AffineConstantExpr.get(value)
        if value in DIMS:
            return ir.AffineDimExpr.get(DIMS.index(value))
        return ir.AffineSymbolExpr.get(SYMBOLS.index(value))

    expr = tree.fold(
        leaf,
        {
            "+": ir.AffineAddExpr.get,
            "-": lambda x, y: ir.AffineAddExpr.get(x, ir.AffineMulExpr.get(y, minus_one)),
            "*": ir.AffineMulExpr.get,
            "//": ir.AffineFloorDivExpr.get,
            "/": ir.AffineCeilDivExpr.get,
            "%": ir.AffineModExpr.get,
        },
    )
    return str(ir.AffineMapAttr.get(ir.AffineMap.get(len(DIMS), len(SYMBOLS), [expr])))


def _trees() -> st.SearchStrategy[Tree]:
    leaf = st.one_of(st.sampled_from([*DIMS, *DIMS, *SYMBOLS]), st.integers(-4, 6)).map(
        lambda value: Tree("", (), value)
    )
    return st.recursive(
        leaf,
        lambda inner: st.builds(
            lambda operator, x, y: Tree(operator, (x, y)),
            st.sampled_from(["+", "+", "*", "-", "//", "/", "%"]),
            inner,
            inner,
        ),
        max_leaves=9,
    )


@settings(max_examples=300, deadline=None, derandomize=True)
@given(_trees())
def test_simplifying_keeps_the_value(tree: Tree) -> None:
    try:
        expr = _ours(tree)
    except DefinitionError:
        return
    for at in (dict(zip("abSR", v, strict=True)) for v in itertools.product((0, 1, 5), repeat=4)):
        try:
            expected = _value(tree, at)
        except ZeroDivisionError:
            continue
        try:
            got = expr.evaluate({LEAVES[name]: value for name, value in at.items()})
        except ZeroDivisionError:
            pytest.fail(f"{expr} divides by zero where the expression as written does not")
        assert got == expected, (expr, at)


def _random_tree(generator: random.Random, depth: int) -> Tree:
    if depth == 0 or generator.random() < 0.2:
        leaf = generator.choice([*"aabbSR", generator.randint(-4, 6), generator.randint(-4, 6)])
        return Tree("", (), leaf)
    operator = generator.choice(["+", "+", "*", "-", "//", "/", "%"])
    return Tree(operator, tuple(_random_tree(generator, depth - 1) for _ in range(2)))


def test_prints_as_mlir_prints() -> None:
    generator = random.Random(20)
    compared = 0
    with new_context():
        for _ in range(10_000):
            tree = _random_tree(generator, 4)
            try:
                text = _text(_ours(tree))
            except DefinitionError:
                continue
            assert text == _text_of_mlir(tree)
            compared += 1
    assert compared > 2000


A, B, SIZE = LEAVES["a"], LEAVES["b"], LEAVES["S"]


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (2 + A, "a + 2"),
        (SIZE * A + 2, "a * S + 2"),
        (SIZE + A, "a + S"),
        (A + 0, "a"),
        (A * 1, "a"),
        (A - A, "0"),
        (3 * A + A, "a * 4"),
        (3 - A, "-a + 3"),
        (A - B, "a - b"),
        (A - 2 * B, "a - b * 2"),
        ((A * 4 + 3) // 4, "a"),
        ((A * 4) % 2, "0"),
        (A % 8 % 4, "a mod 4"),
        (A - (A // 4) * 4, "a mod 4"),
        (B - (B // SIZE) * SIZE, "b mod S"),
        (A + B - (B // 4) * 4, "a + b mod 4"),
        (8 // SIZE, "8 floordiv S"),
        (7 / SIZE % SIZE, "(7 ceildiv S) mod S"),
    ],
)
def test_canonical_form(expr: AffineExpr, text: str) -> None:
    assert str(expr) == text


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: A * B, "multiplies two dimensions"),
        (lambda: A // B, "divides by a dimension"),
        (lambda: 3 % A, "divides by a dimension"),
        (lambda: A % 0, "must be positive"),
        (lambda: A / -2, "must be positive"),
        (lambda: OURS["+"](A, 0.5), "cannot stand in an index"),
        (lambda: A + True, "cannot stand in an index"),
        (lambda: OURS["+"]("x", A), "cannot stand in an index"),
    ],
)
def test_what_is_not_affine(wrong: Callable[[], object], words: str) -> None:
    with pytest.raises(DefinitionError, match=words) as raised:
        wrong()
    assert __file__ in str(getattr(raised.value.where, "file", ""))


def test_evaluates_on_arrays() -> None:
    grid = np.arange(-3, 4)
    expr = (A - 1) / 2 + A % 3
    values: Any = expr.evaluate({A: grid})
    np.testing.assert_array_equal(values, np.ceil((grid - 1) / 2).astype(int) + np.mod(grid, 3))


def test_names_and_substitution() -> None:
    expr = A * SIZE + B // 2
    assert (expr.dims, expr.symbols) == (("a", "b"), ("S",))
    assert not expr.is_symbolic
    assert str(expr.substitute({SIZE: 2, B: A})) == "a * 2 + a floordiv 2"


def test_maps() -> None:
    full = AffineMap(("a", "b"), ("S",), (A * SIZE, B))
    assert str(full) == "affine_map<(d0, d1)[s0] -> (d0 * s0, d1)>"
    assert not full.is_projected_permutation
    assert full.substitute_symbols({"S": 1}).is_projected_permutation
    assert not AffineMap(("a",), (), (A, A)).is_projected_permutation
