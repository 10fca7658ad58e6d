"""Ops of gml_st that are written wrongly: what the error says, and its place in the user's text."""

from __future__ import annotations

import re

import pytest

import linalg_ext as lx
from linalg_ext import errors

HEAD = (
    "func.func @f(%x: tensor<80x60xf32>, %o: tensor<80xf32>, %k: tensor<3x2xindex>, "
    "%s: !gml_st.tile<4x4>, %m: memref<8x8xf32, strided<[16, 1]>>) {\n"
    "  %c0 = arith.constant 0 : index %c4 = arith.constant 4 : index\n"
)
TILE = "gml_st.tile %x[0, 0] [4, 4] [1, 1] : tensor<80x60xf32> to !gml_st.subset<4x4xf32>"
LOOP = """gml_st.loop (%i) = (%c0) to (%c4) step (%c4) outs (%o_ = %o: tensor<80xf32>) {
    %t = gml_st.tile %o_[%i] [4] [1] : tensor<80xf32> to !gml_st.subset<4xf32>
    %v = gml_st.materialize %t : !gml_st.subset<4xf32> to tensor<4xf32>
    gml_st.yield %v to %t : tensor<4xf32> to !gml_st.subset<4xf32>
  }"""
YIELD = "gml_st.yield %v to %t : tensor<4xf32> to !gml_st.subset<4xf32>"
ACC = YIELD.replace(" :", " acc (%n, %p: tensor<4xf32>) { gml_st.yield %n : tensor<4xf32> } :")


def yielding(text: str) -> str:
    return LOOP.replace(YIELD, text)


WRONG = {
    "a word for a number": (TILE.replace("[0, 0]", "[0, a]"), "offsets of gml_st.tile cannot", "a"),
    "too few lists": (TILE.replace(" [1, 1]", ""), "the strides of gml_st.tile cannot have", ":"),
    "a stride too few": (TILE.replace("[1, 1]", "[1]"), "expected 2 stride values", "gml_st.tile"),
    "out of bounds": (TILE.replace("[0, 0]", "[0, 80]"), "offset = 80 is out of", "gml_st.tile"),
    "no 64 bits": (TILE.replace("[0, 0]", f"[0, {10**30}]"), "is too large", "10000"),
    "the gap's own number": (TILE.replace("[0, 0]", f"[0, {-(2**63)}]"), "is too large", "-9223"),
    "another result": (TILE.replace("4x4xf32", "4x5xf32"), "4x5xf32", "gml_st.tile"),
    "an unknown type": ("gml_st.full %q", "does not say its types, and that of %q", "gml_st.full"),
    "no op": (
        "gml_st.tyle %x[0, 0] [4, 4] [1, 1]",
        "gml_st.tyle is not an op of gml_st",
        "gml_st.tyle",
    ),
    "an older name": (
        "gml_st.collapse_tile %s, [1]",
        "is not an op of gml_st",
        "gml_st.collapse_tile",
    ),
    "no type": (TILE.replace("subset", "box"), "!gml_st.box is not a type", "!gml_st.box"),
    "a type without a shape": (TILE.replace("<4x4xf32>", ""), "has no shape", "!gml_st.subset"),
    "a type with commas": (TILE.replace("4x4x", "4,4x"), "is not written as a subset", "!gml_st"),
    "a type that ends in x": (TILE.replace("4x4xf32", "4x4x"), "is not written as", "!gml_st"),
    "a leading zero": (TILE.replace("4x4xf32", "04x4xf32"), "04 in .* is not a size", "!gml_st"),
    "a tile with elements": (TILE.replace("subset", "tile"), "a tile has not", "!gml_st.tile"),
    "a point with a shape": (TILE.replace("subset", "point"), "has no shape", "<"),
    "a set of no source": (
        "gml_st.materialize %s : !gml_st.tile<4x4> to tensor<4x4xf32>",
        "does not name the tensor or memref that it reads, and %s is not made of one",
        "%s",
    ),
    "a set of another type": (
        "gml_st.materialize %x[%s] : tensor<80x60xf32>[!gml_st.tile<4x5>] to tensor<4x5xf32>",
        "%s is a !gml_st.tile<4x4>, and here it is said to be a !gml_st.tile<4x5>",
        "!gml_st.tile<4x5>",
    ),
    "a layout and no result": (
        "gml_st.materialize %m[%s] : memref<8x8xf32, strided<[16, 1]>>[!gml_st.tile<4x4>]",
        "does not say its result, and .* has a layout",
        "gml_st.materialize",
    ),
    "a dimension too many": (
        "gml_st.drop_dims %s, [2]",
        "dimension 2 of a set of rank 2",
        "gml_st",
    ),
    "a value for a number": ("gml_st.drop_dims %s, [%c0]", "cannot have %c0 here", "%c0"),
    "a number for a value": ("gml_st.offset %s[0] : !gml_st.tile<4x4>", "cannot have `0`", "0"),
    "indices without a type": ("gml_st.filter %x[%k] : tensor<80x60xf32>", "types of", "return"),
    "bounds": (LOOP.replace("(%c0)", "(%c0, %c0)"), "2 lower bounds for 1 induction", "(%c0, %c0)"),
    "no parentheses": (LOOP.replace("step (%c4)", "step %c4"), "steps of gml_st.loop", "%c4"),
    "an output without a value": (LOOP.replace("%o_ = %o:", "%o_:"), "outs of gml_st.loop", ":"),
    "iterators": (
        LOOP.replace("f32>) {", 'f32>) iterators["parallel", "parallel"] {'),
        "has 2 entries for 1 induction",
        '["parallel"',
    ),
    "an iterator of no kind": (
        LOOP.replace("f32>) {", 'f32>) iterators["paralel"] {'),
        "'paralel' is not an iterator type",
        "gml_st.loop",
    ),
    "an iterator that is not text": (
        LOOP.replace("f32>) {", "f32>) iterators[parallel] {"),
        "cannot have `parallel` here",
        "parallel",
    ),
    "no body": (LOOP.partition("{")[0], "gml_st.loop cannot have `return` here", "return"),
    "no end": (yielding(""), "does not end with gml_st.yield", "}"),
    "a yield without types": (yielding(YIELD.partition(" :")[0]), "not say the type of %v", "%v"),
    "a yield of half a type": (yielding(YIELD.rpartition(" to")[0]), "types of gml_st.yield", "}"),
    "a type too many": (yielding(YIELD + ", f32"), "gml_st.yield cannot have `f32`", "f32"),
    "some with a subset": (
        yielding("gml_st.yield %v to %t, %v : tensor<4xf32> to !gml_st.subset<4xf32>, f32"),
        "a subset of some of its values and none of %v",
        "%v :",
    ),
    "too many": (
        yielding(YIELD + f", {YIELD[13:]}" * 8),
        "gml_st.yield has 9 values",
        "gml_st.yield",
    ),
    "an empty acc": (
        yielding(ACC.replace("gml_st.yield %n : tensor<4xf32> }", "}")),
        "a body of acc of gml_st.yield does not end",
        "}",
    ),
    "an acc without a body": (
        yielding(re.sub(r" \{.*\}", "", ACC)),
        "acc of gml_st.yield has no body",
        ":",
    ),
    "an acc of another type": (
        yielding(re.sub(r"(%[np] ?: tensor<)4", r"\g<1>5", ACC)),
        "expected accumulator region to have 2 arguments of type",
        "gml_st.yield",
    ),
    "two values of an acc": (
        yielding(
            f"{ACC}, {ACC.replace('yield %n : tensor<4xf32>', 'yield %n, %p : f32, f32')[13:]}"
        ),
        "a body of acc ends with 2 value",
        "gml_st.yield",
    ),
}
"""The op; what is wrong with it, as a pattern; how the marked part of the text begins."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_op_is_an_error_at_its_place(name: str) -> None:
    op, what, marked = WRONG[name]
    text = f"{HEAD}  // gml_st.tile, before it\n  %r = {op}\n  return\n}}\n"
    with pytest.raises(errors.IRError) as caught:
        lx.parse(text)
    error = caught.value
    assert re.search(what, error.what), error.what
    place, shown, caret = str(error.where).splitlines()
    line = re.search(r"line (\d+), column|-:(\d+):", place)
    assert line is not None
    assert shown.strip() in text.splitlines()[int(line[1] or line[2]) - 1].strip()
    assert shown[caret.index("^") :].startswith(marked)


def test_a_mistake_of_syntax_says_how_the_op_is_written() -> None:
    with pytest.raises(errors.ParseError) as caught:
        lx.parse(f"{HEAD}  %r = gml_st.filter %x(%k)\n  return\n}}\n")
    assert "write gml_st.filter %x[%indices] : T[I] to S" in str(caught.value)


def test_a_mistake_in_a_body_is_shown_where_it_stands() -> None:
    text = f"{HEAD}  %r = {LOOP}\n  return\n}}\n".replace(
        "    gml_st.yield", "    foo.bar %v\n  gml_st.yield"
    )
    with pytest.raises(errors.ParseError) as caught:
        lx.parse(text)
    place, shown, caret = str(caught.value.where).splitlines()
    assert place.startswith("-:6:")
    assert shown[caret.index("^") :].startswith("foo.bar")
