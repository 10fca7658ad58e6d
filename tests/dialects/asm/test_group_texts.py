"""Groups as people write them: read, printed, read again; and what is said of mistakes."""

from __future__ import annotations

import random

import numpy as np
import pytest

import linalg_ext as lx
from groupings import random_module, random_moves
from linalg_ext.dialects.asm.groups import pretty
from linalg_ext.errors import ParseError
from linalg_ext.transforms.grouping import State, read_graph, realize

X = "tensor<4x4xf32>"
TEXT = f"""
func.func @main(%x: {X}, %n: f32) -> {X} {{
  %e = tensor.empty() : {X}
  // linalg_ext.group in a comment
  %r = linalg_ext.group "soft\\22max" tiling [2, 0] preserve attributes {{weight = 3 : i64, fast}}
         ins(%a = %x: {X}, %s = %n: f32) outs(%o = %e: {X}) {{
    %p = linalg.softmax dimension(1) ins(%a : {X}) outs(%o : {X}) -> {X}
    %q = linalg_ext.isolated_group ins(%b = %p: {X}) outs(%d = %o: {X}) {{
      %z = linalg.mul ins(%b, %b : {X}, {X}) outs(%d : {X}) permutation_a = [1, 0] : {X}
      linalg_ext.group_yield %z : {X}
    }} : {X}
    linalg_ext.group_yield %q : {X}
  }}
  return %r : {X}
}}"""


def test_a_group_is_read_and_means_what_it_says() -> None:
    module = lx.parse(TEXT)
    (outer,) = (number for number, label in _labels(module).items() if label == 'soft"max')
    said = State(read_graph(module)).data(outer).annotations
    assert said == {
        "fast": True,
        "label": 'soft"max',
        "preserve": True,
        "tiling": (2, 0),
        "weight": 3,
    }
    x = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    soft = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(lx.compile(module)(x, 0.0), soft.T * soft, rtol=1e-5)


def _labels(module: lx.Module) -> dict[int, str]:
    state = State(read_graph(module))
    return {group: state.data(group).label for group in state.groups}


def test_what_is_printed_is_read_back() -> None:
    module = lx.parse(TEXT)
    printed = module.to_text(sugar=True)
    head = '%1 = linalg_ext.group "soft\\22max" tiling [2, 0] preserve attributes {fast, weight = 3'
    assert head in printed
    assert f"outs(%arg4 = %0: {X}) {{" in printed
    assert "SegmentSizes" not in printed
    assert "linalg_ext.isolated_group\n" in printed
    assert str(lx.parse(printed)) == str(module)
    assert lx.parse(printed).to_text(sugar=True) == printed


@pytest.mark.parametrize("seed", range(8))
def test_groups_of_all_kinds_are_read_back(seed: int) -> None:
    rng = random.Random(seed)
    module = lx.parse(random_module(rng, 12))
    state = State(read_graph(module))
    for _ in random_moves(state, rng, 25):
        pass
    realize(module, state)
    printed = module.to_text(sugar=True)
    assert '"linalg_ext.' not in printed
    assert str(lx.parse(printed)) == str(module)


def test_what_gives_nothing_or_several() -> None:
    text = f"""
func.func @main(%x: {X}) -> ({X}, {X}) {{
  %e = tensor.empty() : {X}
  linalg_ext.group {{ linalg_ext.group_yield }}
  %r:2 = linalg_ext.group ins(%a = %x: {X}) outs(%o = %e: {X}, %p = %e: {X}) {{
    linalg_ext.group_yield %a, %o : {X}, {X}
  }}
  return %r#0, %r#1 : {X}, {X}
}}"""
    module = lx.parse(text)
    assert str(lx.parse(module.to_text(sugar=True))) == str(module)
    assert str(module).count('"linalg_ext.group"') == 2


def test_subsets_inside_a_group() -> None:
    """Types of `gml_st` in the head of a group are changed once, and only once."""
    text = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c4 = arith.constant 4 : index
  %r = linalg_ext.group "loop" outs(%o = %x: tensor<8xf32>) {
    %s = gml_st.loop (%i) = (%c0) to (%c8) step (%c4) outs (%y = %o: tensor<8xf32>) {
      %t = gml_st.tile %y[%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
      %k = linalg_ext.group ins(%set = %t: !gml_st.subset<4xf32>) {
        linalg_ext.group_yield
      }
      %m = gml_st.materialize %t : !gml_st.subset<4xf32> to tensor<4xf32>
      gml_st.yield %m to %t : tensor<4xf32> to !gml_st.subset<4xf32>
    }
    linalg_ext.group_yield %s : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}""".replace("%k = ", "")
    module = lx.parse(text)
    assert str(lx.parse(module.to_text(sugar=True))) == str(module)


def test_what_is_not_laid_out_so_stays_as_it_is() -> None:
    for text in (
        '"linalg_ext.group"() ({}) : () -> ()',
        '// "linalg_ext.group"(%x',
        '"linalg_ext.',
    ):
        assert pretty(text) == text


MISTAKES = {
    "a size that is none": ("[2, 0]", "[two]", "tiling of linalg_ext.group cannot have `two`"),
    "a label without quotes": ('"soft\\22max"', "softmax", "cannot have `softmax` here"),
    "a word that is none": (" preserve ", " preserved ", "`preserved` here(?s:.)*preserve"),
    "no argument": ("%b = %p:", "%p:", r"ins of linalg_ext.isolated_group cannot have `:`"),
    "no destination": ("%d = %o", "%d = ", "cannot have `:` here(?s:.)*a value"),
    "another result": (f"}} : {X}\n    l", "} : f32\n    l", "gives f32(?s:.)*type of its dest"),
    "two results": (f"}} : {X}\n    l", f"}} : {X}, {X}\n    l", "2 result"),
    "no types": (f"group_yield %z : {X}", "group_yield %z", "group_yield cannot have `}` here"),
    "no terminator": (f"linalg_ext.group_yield %q : {X}", "", "does not end with linalg_ext.group"),
    "attributes of no kind": ("{weight = 3 : i64, fast}", "fast", "cannot have `fast` here"),
    "no body": ("{\n      %z = linalg.mul", "%z = linalg.mul", "the body of the group"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_pointed_at(mistake: str) -> None:
    old, new, said = MISTAKES[mistake]
    assert old in TEXT
    with pytest.raises(ParseError, match=said) as caught:
        lx.parse(TEXT.replace(old, new, 1))
    assert "line " in (caught.value.where or "")
