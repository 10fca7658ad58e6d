"""Ops that are spelled wrongly: what the error says, and the place in the user's own text."""

from __future__ import annotations

import re

import pytest

import linalg_ext as lx
from linalg_ext import errors

ARGUMENTS = (
    "%x: tensor<16xf32>, %y: tensor<16x64xf32>, %z: tensor<64x16xf32>, %s: tensor<16x16xf32>, "
    "%c: tensor<8x16x4xf32>, %e: tensor<16x64xi8>, %o: tensor<16x64xf32>, %v: tensor<4xf32>"
)

ADD = "linalg.add ins(%x : tensor<16xf32>, %y : tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)"
SUM = "linalg.add ins(%z : tensor<64x16xf32>, %y : tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)"
PRODUCT = (
    "linalg.matmul ins(%x : tensor<16xf32>, %y : tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)"
)
CONTRACT = (
    "linalg_ext.contract ins(%y : tensor<16x64xf32>, %z : tensor<64x16xf32>) "
    "outs(%s : tensor<16x16xf32>)"
)
BROADCAST = (
    "linalg.broadcast ins(%x : tensor<16xf32>) inits(%o : tensor<16x64xf32>) dimensions = [1]"
)
ELEMENTWISE = ADD.replace("linalg.add", "linalg_ext.elementwise")
END = " : tensor<16x64xf32>"

WRONG = {
    "out of range": (
        ADD + " broadcast_a = [2]" + END,
        r"broadcast = \[2\] adds dimension 2",
        "broadcast_a",
    ),
    "negative": (
        ADD + " broadcast_a = [-1]" + END,
        r"broadcast = \[-1\] adds dimension -1",
        "broadcast_a",
    ),
    "twice in a list": (
        ADD + " broadcast_a = [1, 1]" + END,
        "adds a dimension twice",
        "broadcast_a",
    ),
    "no permutation": (
        SUM + " permutation_a = [1, 1]" + END,
        "is not a permutation of its 2",
        "permutation_a",
    ),
    "too long": (
        SUM + " permutation_a = [1, 0, 2]" + END,
        "is not a permutation of its 2",
        "permutation_a",
    ),
    "wrong rank": (ADD + " broadcast_a = [0, 1]" + END, "a is of rank 1", "broadcast_a"),
    "no operand": (ADD + " broadcast_q = [1]" + END, "add has no operand 'q'", "broadcast_q"),
    "said twice": (
        ADD + " broadcast_a = [1] broadcast_a = [1]" + END,
        "broadcast_a is given twice",
        "broadcast_a",
    ),
    "by two names": (
        ADD + " broadcast_a = [1] broadcast_lhs = [1]" + END,
        "the broadcast of lhs is given twice",
        "",
    ),
    "map and sugar": (
        ADD + " broadcast_a = [1] map_a = { (d0, d1) -> (d0) }" + END,
        "both the map and the broadcast",
        "",
    ),
    "map of another space": (
        ADD + " map_a = { (d0) -> (d0) }" + END,
        "b is of rank 2: tensor<16x64xf32>",
        "%y",
    ),
    "map with a foreign index": (
        ADD + " map_a = { (d0, d1) -> (d0 + d1) }" + END,
        "has the index d0 \\+ d1",
        "",
    ),
    "map with a diagonal": (
        ADD + " map_a = { (d0, d1) -> (d0, d0) }" + END,
        "has one index twice",
        "",
    ),
    "map of undeclared names": (
        ADD + " map_a = { (d0, d1) -> (q) }" + END,
        "undeclared identifier",
        "q",
    ),
    "map of no kind": (ADD + " map_a = [1]" + END, r"map_a = \[1\]", "map_a"),
    "list of words": (ADD + ' broadcast_a = "x"' + END, 'broadcast_a = "x"', "broadcast_a"),
    "list of floats": (ADD + " broadcast_a = [1.0]" + END, "broadcast_a = \\[1", "broadcast_a"),
    "transpose of a vector": (ADD + " transpose_a" + END, "a is of rank 1", "transpose_a"),
    "transpose with a value": (
        SUM + " transpose_a = [1]" + END,
        r"transpose_a = \[1\]",
        "transpose_a",
    ),
    "maps do not cover": (
        "linalg.matmul ins(%x : tensor<16xf32>, %v : tensor<4xf32>) outs(%o : tensor<16x64xf32>) "
        "broadcast_a = [1] broadcast_b = [0] broadcast_c = [1]" + END,
        "no operand is indexed by dimension k",
        "linalg.matmul",
    ),
    "compute type of no kind": (
        SUM + " transpose_a compute_type = 3" + END,
        "compute_type = 3",
        "compute_type",
    ),
    "compute type of a tensor": (
        SUM + " transpose_a compute_type = tensor<4xf32>" + END,
        "compute_type = tensor",
        "compute_type",
    ),
    "unknown word": (
        ADD + " brodcast_a = [1]" + END,
        "brodcast_a is not a clause of ops",
        "brodcast_a",
    ),
    "no value": (ADD + " broadcast_a =" + END, "has no value", ":"),
    "never closed": (ADD + " broadcast_a = [1" + END, "is not closed before", "["),
    "types and operands": (
        ADD.replace("%y : tensor<16x64xf32>", "%y") + " broadcast_a = [1]" + END,
        "2 operands and 1 type",
        "(%x",
    ),
    "result of another type": (
        ADD + " broadcast_a = [1] : tensor<16xf32>",
        "add gives tensor<16xf32>",
        "",
    ),
    "broadcast's own": (BROADCAST + " : tensor<16xf32>", "gives tensor<16xf32>", "tensor<16xf32>"),
    "sugar on a broadcast": (
        BROADCAST + " broadcast_a = [1]",
        "takes no broadcast_a",
        "broadcast_a",
    ),
    "broadcast of no list": (
        BROADCAST.replace("[1]", "unit"),
        "takes no dimensions = unit",
        "dimensions",
    ),
    "an empty permutation": (
        SUM + " permutation_a = []" + END,
        "is not a permutation of its 2",
        "permutation_a",
    ),
    "a destination that nothing is reduced to": (
        "linalg.add ins(%y : tensor<16x64xf32>, %y : tensor<16x64xf32>) outs(%x : tensor<16xf32>) "
        "broadcast_c = [1] : tensor<16xf32>",
        "c is not indexed by dimension d1, and nothing combines the values",
        "broadcast_c",
    ),
    "the same of ours": (
        "linalg_ext.elementwise ins(%y : tensor<16x64xf32>) outs(%x : tensor<16xf32>) "
        "kind = exp broadcast_b = [1] -> tensor<16xf32>",
        "combines no values along it",
        "linalg_ext.elementwise",
    ),
    "mixed types": (
        SUM.replace("%y : tensor<16x64xf32>", "%e : tensor<16x64xi8>") + " transpose_a" + END,
        "b is of i8",
        "%e",
    ),
    "no such kind": (
        "linalg.elementwise <plus> ins(%y : tensor<16x64xf32>) outs(%o : tensor<16x64xf32>)" + END,
        "kind = plus is not an element-wise function",
        "",
    ),
    "contract without maps": (
        CONTRACT + " -> tensor<16x16xf32>",
        "indexing_maps is missing",
        "linalg_ext.contract",
    ),
    "contract of no kind": (
        CONTRACT + " indexing_maps = [affine_map<(i, j, k) -> (i, k)>, "
        "affine_map<(i, j, k) -> (k, j)>, "
        'affine_map<(i, j, k) -> (i, j)>] kind = "nope" -> tensor<16x16xf32>',
        "no kind 'nope'",
        "kind",
    ),
    "elementwise of no kind": (
        ELEMENTWISE + " kind = plus broadcast_a = [1] -> tensor<16x64xf32>",
        "plus",
        "kind",
    ),
    "unequal elementwise": (
        ELEMENTWISE + " kind = add -> tensor<16x64xf32>",
        "A is of rank 1",
        "%x",
    ),
    "exp of integers": (
        "linalg_ext.elementwise ins(%e : tensor<16x64xi8>) outs(%e : tensor<16x64xi8>) kind = exp "
        "-> tensor<16x64xi8>",
        "exp has no meaning for i8",
        "",
    ),
    "no op": (
        "linalg.nothing ins(%x : tensor<16xf32>) outs(%x : tensor<16xf32>) : tensor<16xf32>",
        "linalg.nothing is not a structured op of linalg",
        "linalg.nothing",
    ),
    "an op of ours alone": (
        "linalg.gelu ins(%x : tensor<16xf32>) outs(%x : tensor<16xf32>) : tensor<16xf32>",
        "linalg.gelu is not a structured op of linalg",
        "linalg.gelu",
    ),
}
"""The op; what is wrong with it, as a pattern; how the marked part of the text begins."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_op_is_an_error_at_its_place(name: str) -> None:
    op, what, marked = WRONG[name]
    text = f"func.func @f({ARGUMENTS}) {{\n  // a line before\n  %r = {op}\n  return\n}}\n"
    with pytest.raises(errors.IRError) as caught:
        lx.parse(text)
    error = caught.value
    assert re.search(what, error.what), error.what
    place = str(error.where).splitlines()
    assert re.search(r"line 3, column|-:3:", place[0])
    assert place[1].strip()[:20] in text
    caret = place[2].index("^")
    assert place[1][caret:].startswith(marked or "")


def test_a_mistake_behind_a_spelled_op_is_shown_where_it_stands() -> None:
    text = (
        f"func.func @f({ARGUMENTS}) {{\n  %r = {SUM}\n     transpose_a\n     {END} %q = foo.bar\n"
        "  return\n}\n"
    )
    with pytest.raises(errors.ParseError) as caught:
        lx.parse(text)
    line, shown, caret = str(caught.value.where).splitlines()
    assert line.startswith("-:4:")
    assert shown[caret.index("^") :].startswith("foo.bar")


def test_a_mistake_in_a_type_of_a_spelled_op_is_shown_where_it_stands() -> None:
    wrong = SUM.replace("xf32>, %y", "xq32>, %y")
    text = f"func.func @f({ARGUMENTS}) {{\n  %r = {wrong} transpose_a{END}\n return\n}}"
    with pytest.raises(errors.ParseError) as caught:
        lx.parse(text)
    line, shown, caret = str(caught.value.where).splitlines()
    assert line.startswith("-:2:")
    assert "q32" in shown[caret.index("^") - 8 : caret.index("^") + 8]


def test_a_placeholder_is_no_op_of_the_language() -> None:
    text = f"""func.func @f({ARGUMENTS}) {{
      "linalg_ext.spelled"(%o) {{number = 7, operandSegmentSizes = array<i32: {"0, " * 25}1>}}
        : (tensor<16x64xf32>) -> ()
      return }}"""
    with pytest.raises(errors.VerificationError, match="is not one itself"):
        lx.parse(text)


def test_bytecode_and_text_without_ops_of_linalg_are_untouched() -> None:
    module = lx.parse("func.func @f() { return }")
    assert str(lx.parse(module.bytecode())) == str(module)
