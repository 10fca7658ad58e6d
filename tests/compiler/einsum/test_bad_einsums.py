"""Wrong calls of einsum: each message names the mistake, the place and the hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import (
    ArgumentError,
    ArgumentTypeError,
    ArityError,
    DTypeError,
    LayoutError,
    LinalgExtError,
    NotationError,
    PathError,
    ShapeError,
)

A = np.ones((2, 3))
B = np.ones((3, 4))
V = np.ones(3)
INTS = np.ones((2, 3), np.int64)
CHAIN = ("ab,bc,cd", A, B, np.ones((4, 5)))
READ_ONLY = np.ones(3)
READ_ONLY.flags.writeable = False

CASES: list[tuple[str, Callable[[], Any], type[LinalgExtError], list[str]]] = [
    (
        "no argument",
        lambda: lx.einsum(),
        ArityError,
        ["no subscripts", "einsum('ij,jk->ik', a, b)"],
    ),
    ("operand alone", lambda: lx.einsum(A), ArityError, ["operand alone", "[0, 1]"]),
    ("subscripts alone", lambda: lx.einsum("ij"), ArityError, ["1 term", "0 operands", "'ij'"]),
    ("bytes", lambda: lx.einsum(b"ij", A), ArgumentTypeError, ["bytes", "'mk,kn->mn'"]),
    (
        "character",
        lambda: lx.einsum("i%j", A),
        NotationError,
        ["'%' is not a label", "'i%j'\n    ^"],
    ),
    ("digit", lambda: lx.einsum("i1", A), NotationError, ["'1' is not a label", "letters a to z"]),
    ("greek", lambda: lx.einsum("iδ", A), NotationError, ["'δ' is not a label"]),
    ("dash", lambda: lx.einsum("i-j", A), NotationError, ["'-' alone", "write '->'"]),
    ("angle", lambda: lx.einsum("ij>i", A), NotationError, ["'>' alone", "write '->'"]),
    ("two arrows", lambda: lx.einsum("ij->i->", A), NotationError, ["second '->'", "one arrow"]),
    ("comma after", lambda: lx.einsum("ij->i,j", A), NotationError, ["comma after '->'"]),
    ("one dot", lambda: lx.einsum(".ij", A), NotationError, ["1 dot ", "'...'"]),
    ("two dots", lambda: lx.einsum("i..", A), NotationError, ["2 dots", "'i..'\n    ^"]),
    ("four dots", lambda: lx.einsum("i....", A), NotationError, ["4 dots"]),
    ("ellipsis twice", lambda: lx.einsum("...i...", A), NotationError, ["second ellipsis"]),
    ("two in result", lambda: lx.einsum("...->......", A), NotationError, ["6 dots"]),
    ("unknown in result", lambda: lx.einsum("ij->ik", A), NotationError, ["'k'", "labels", "i, j"]),
    ("twice in result", lambda: lx.einsum("ij->ii", A), NotationError, ["'i' is twice", "view"]),
    ("lost ellipsis", lambda: lx.einsum("...j->j", A), NotationError, ["1 broadcast", "'...'"]),
    ("too many operands", lambda: lx.einsum("ij", A, B), ArityError, ["1 term", "2 operands"]),
    ("too few operands", lambda: lx.einsum("ij,jk", A), ArityError, ["2 terms", "1 operand"]),
    ("rank too low", lambda: lx.einsum("ijk", A), ShapeError, ["operand 0", "rank 2", "3 labels"]),
    ("rank too high", lambda: lx.einsum("i", A), ShapeError, ["(2, 3)", "add '...'"]),
    ("second term", lambda: lx.einsum("ij,j", A, B), ShapeError, ["operand 1", "'ij,j'\n      ^"]),
    ("ellipsis rank", lambda: lx.einsum("i...jk", A), ShapeError, ["rank at least 3"]),
    ("sizes", lambda: lx.einsum("ij,jk", A, B.T), ShapeError, ["label 'j'", "3", "4", "operand 1"]),
    ("diagonal", lambda: lx.einsum("ii", A), ShapeError, ["label 'i'", "size 2 and size 3"]),
    ("stretched diagonal", lambda: lx.einsum("ii", A[:1]), ShapeError, ["size 1 and size 3"]),
    (
        "ellipsis sizes",
        lambda: lx.einsum("...i,...i", A, np.ones((4, 3))),
        ShapeError,
        ["broadcast dimension -1", "size 2", "size 4"],
    ),
    ("label number", lambda: lx.einsum(V, [52]), NotationError, ["label 52", "0 to 51"]),
    ("negative label", lambda: lx.einsum(V, [-1], [0]), NotationError, ["label -1"]),
    ("no list", lambda: lx.einsum(V, 0), ArgumentTypeError, ["sublist of operand 0", "is 0"]),
    ("text list", lambda: lx.einsum(V, "i"), ArgumentTypeError, ["sublist", "one string first"]),
    ("float label", lambda: lx.einsum(V, [0.5]), ArgumentTypeError, ["0.5", "integers"]),
    ("result list", lambda: lx.einsum(V, [0], [1]), NotationError, ["'B' of the result"]),
    ("out type", lambda: lx.einsum("i->", V, out=[0]), ArgumentTypeError, ["out= is a list"]),
    ("out shape", lambda: lx.einsum("i", V, out=A), ShapeError, ["(2, 3)", "(3,)"]),
    ("out read-only", lambda: lx.einsum("i", V, out=READ_ONLY), LayoutError, ["read-only"]),
    (
        "out overlaps itself",
        lambda: lx.einsum("i", V, out=np.lib.stride_tricks.as_strided(np.ones(1), (3,), (0,))),
        LayoutError,
        ["overlap"],
    ),
    (
        "out dtype",
        lambda: lx.einsum("i", V, out=np.ones(3, int)),
        DTypeError,
        ["the result is float64", "out= is int64", "'safe'", "'unsafe'"],
    ),
    (
        "out holds it not",
        lambda: lx.einsum("i->", V / 2, out=np.array(0), optimize=True),
        DTypeError,
        ["does not hold", "exactly"],
    ),
    (
        "casting",
        lambda: lx.einsum("i", V, dtype="i4"),
        DTypeError,
        ["operand 0", "int32", "'safe'"],
    ),
    ("casting no", lambda: lx.einsum("ij", INTS, dtype="f8", casting="no"), DTypeError, ["'no'"]),
    ("casting name", lambda: lx.einsum("i", V, casting="maybe"), ArgumentError, ["'same_kind'"]),
    ("casting type", lambda: lx.einsum("i", V, casting=[]), ArgumentError, ["casting=[]"]),  # type: ignore[arg-type]
    ("dtype", lambda: lx.einsum("i", V, dtype="floot"), DTypeError, ["dtype='floot'"]),
    ("dtype unknown", lambda: lx.einsum("i", V, dtype="U3"), DTypeError, ["dtype= "]),
    ("compute_type", lambda: lx.einsum("i", V, compute_type="g"), DTypeError, ["compute_type="]),
    ("complex", lambda: lx.einsum("i", V, compute_type="c16"), DTypeError, ["dtype=complex128"]),
    ("longdouble", lambda: lx.einsum("i", V.astype("g")), DTypeError, ["operand 0", "MLIR"]),
    ("objects", lambda: lx.einsum("i", V.astype(object)), DTypeError, ["object", "astype"]),
    ("text", lambda: lx.einsum("i", ["a", "b"]), DTypeError, ["operand 0", "<U1"]),
    (
        "ragged",
        lambda: lx.einsum("ij", [[1], [1, 2]]),
        ArgumentTypeError,
        ["operand 0", "not an array"],
    ),
    ("masked", lambda: lx.einsum("i", np.ma.ones(3)), ArgumentError, ["masked", "filled"]),
    ("order", lambda: lx.einsum("i", V, order="W"), ArgumentError, ["order='W'", "'K'"]),
    ("order type", lambda: lx.einsum("i", V, order=1), ArgumentTypeError, ["order=1"]),  # type: ignore[arg-type]
    ("kind", lambda: lx.einsum("i", V, kind="max-"), ArgumentError, ["'max-'", "'min+'", "mean"]),
    ("kind type", lambda: lx.einsum("i", V, kind=1), ArgumentTypeError, ["kind=1"]),  # type: ignore[arg-type]
    ("ordered", lambda: lx.einsum("i->", V * 1j, kind="max+"), DTypeError, ["no order"]),
    ("no sum", lambda: lx.einsum("i->", V > 0, kind="min+"), DTypeError, ["booleans", "'or and'"]),
    (
        "truth in floats",
        lambda: lx.einsum("i->", V, kind="or and", compute_type="f4"),
        DTypeError,
        ["'or and'", "truth"],
    ),
    ("strategy", lambda: lx.einsum(*CHAIN, optimize="best"), ArgumentError, ["'best'", "'greedy'"]),
    ("optimize", lambda: lx.einsum(*CHAIN, optimize=7), ArgumentError, ["optimize=7"]),
    ("limit", lambda: lx.einsum(*CHAIN, optimize=("greedy", -1)), ArgumentError, ["limit", "-1"]),
    (
        "short path",
        lambda: lx.einsum(*CHAIN, optimize=["einsum_path", (0, 1)]),
        PathError,
        ["leaves 2 of 3", "'auto'"],
    ),
    (
        "wild path",
        lambda: lx.einsum(*CHAIN, optimize=["einsum_path", (0, 3)]),
        PathError,
        ["step 0", "from 0 to 2"],
    ),
    (
        "no path",
        lambda: lx.einsum(*CHAIN, optimize=["einsum_path", 1]),
        PathError,
        ["1 is not a step"],
    ),
]


@pytest.mark.parametrize(
    ("call", "error", "fragments"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_message(
    call: Callable[[], Any], error: type[LinalgExtError], fragments: list[str]
) -> None:
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    message = str(raised.value)
    assert [part for part in fragments if part not in message] == [], message


def test_an_unknown_keyword_is_named() -> None:
    with pytest.raises(TypeError, match="subscript"):
        lx.einsum("i", V, subscripts="i")  # type: ignore[call-arg]


def test_out_keeps_its_content_where_the_call_is_refused() -> None:
    out = np.full(3, 7)
    with pytest.raises(DTypeError):
        lx.einsum("i,i->i", V / 2, V, out=out, optimize="greedy")
    assert out.tolist() == [7, 7, 7]
