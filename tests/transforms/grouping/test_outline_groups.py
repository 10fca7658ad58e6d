"""Groups on the way down: nothing is fused across them; what they ask for is had or reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import examples
from groupings import AROUND
from linalg_ext.transforms.fusion import inline_outlined
from linalg_ext.transforms.grouping import Insert, Plan, outline_groups

SQUARE = "tensor<64x64xf32>"
CHAIN = f"""
func.func @main(%x: {SQUARE}) -> {SQUARE} {{
  %e = tensor.empty() : {SQUARE}
  %a = linalg.exp ins(%x : {SQUARE}) outs(%e : {SQUARE}) -> {SQUARE}
  %b = linalg.tanh ins(%a : {SQUARE}) outs(%e : {SQUARE}) -> {SQUARE}
  %r = linalg.softmax dimension(1) ins(%b : {SQUARE}) outs(%e : {SQUARE}) -> {SQUARE}
  return %r : {SQUARE}
}}"""
PRODUCT = f"""
func.func @main(%x: {SQUARE}) -> {SQUARE} {{
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : {SQUARE}
  %z = linalg.fill ins(%c : f32) outs(%e : {SQUARE}) -> {SQUARE}
  %a = linalg.matmul ins(%x, %x : {SQUARE}, {SQUARE}) outs(%z : {SQUARE}) -> {SQUARE}
  %r = linalg.tanh ins(%a : {SQUARE}) outs(%e : {SQUARE}) -> {SQUARE}
  return %r : {SQUARE}
}}"""
X = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)


def compiled(text: str, *groups: Insert) -> lx.Kernel:
    """A kernel whose ops are grouped; its numbers are those of the ops without groups."""
    module = lx.parse(text)
    wanted = lx.compile(module)(X)
    Plan(groups).realize(module)
    kernel = lx.compile(module)
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-5, atol=1e-5)
    with lx.threads.using(2):
        np.testing.assert_allclose(kernel(X), wanted, rtol=1e-5, atol=1e-5)
    return kernel


def rows(kernel: lx.Kernel, name: str) -> list[str]:
    """The rows of that name in all decisions of a kernel."""
    return [text for each in kernel.explain().decisions for row, text in each.rows() if row == name]


def passes(kernel: lx.Kernel) -> int:
    """How many loops over vectors a kernel has."""
    return sum(each.title.startswith("loops") for each in kernel.explain().decisions)


def test_the_examples() -> None:
    before, after = examples(outline_groups)[0]
    outlined, inlined = examples(inline_outlined)[1]
    function = outlined[outlined.index("func.func private") :]
    module = lx.parse(AROUND.replace("{}", before))
    assert lx.transforms.outline_groups(module)
    assert str(module) == str(lx.parse(AROUND.replace("{}", after) + function))
    assert str(module) == str(lx.parse(outlined))
    assert lx.transforms.inline_outlined(module)
    assert str(module) == str(lx.parse(inlined))


@pytest.mark.parametrize(
    ("groups", "expected"),
    [([], 1), ([(1, 2, 3)], 1), ([(1,), (2, 3)], 2), ([(1,), (2,), (3,)], 3), ([(2,)], 3)],
)
def test_nothing_is_fused_across_groups(groups: Sequence[Any], expected: int) -> None:
    assert passes(compiled(CHAIN, *map(Insert, groups))) == expected


def test_a_product_has_an_epilogue_in_its_own_group_alone() -> None:
    assert len(rows(compiled(PRODUCT, Insert((2, 3, 4))), "epilogue")) == 1
    assert rows(compiled(PRODUCT, Insert((2, 3)), Insert((4,))), "epilogue") == []


def test_a_group_gets_the_tiles_that_it_asks_for() -> None:
    kernel = compiled(CHAIN, Insert((1, 2, 3), {"tiling": (16,)}))
    assert rows(kernel, "loops") == ["16 x 64"]
    assert rows(kernel, "asks") == ["tiling = [16]"]
    assert rows(kernel, "not") == []


def test_what_a_group_cannot_have_is_said() -> None:
    wrong = Insert((1, 2, 3), {"label": "rows", "tiling": (16, 1, 1)})
    kernel = compiled(CHAIN, wrong)
    (said,) = rows(kernel, "not")
    assert said == "tiling = [16, 1, 1]: linalg.softmax: 3 sizes are given for 2 dimensions"
    module = lx.parse(CHAIN)
    Plan([wrong]).realize(module)
    report = lx.transforms.outline_groups(module)
    assert report.left == {"group rows @linalg_ext_group_0": {said}}


@pytest.mark.parametrize(("notes", "expected"), [({}, 1), ({"preserve": True}, 2)])
def test_a_group_inside_another_is_kept_together_where_it_says_so(
    notes: dict[str, Any], expected: int
) -> None:
    kernel = compiled(CHAIN, Insert((2, 3), notes), Insert((1, 4)))
    assert passes(kernel) == expected


def test_a_name_that_is_taken_is_left_alone() -> None:
    taken = "\nfunc.func private @linalg_ext_group_0() { return }"
    module = lx.parse(CHAIN + taken)
    Plan([Insert((1,))]).realize(module, "main")
    assert lx.transforms.outline_groups(module)
    assert "call @linalg_ext_group_0_(" in str(module)


SLICED = f"""
func.func @main(%x: {SQUARE}) -> {SQUARE} {{
  %e = tensor.empty() : {SQUARE}
  %h = tensor.extract_slice %x[0, 0] [32, 64] [1, 1] : {SQUARE} to tensor<32x64xf32>
  %y = tensor.insert_slice %h into %x[32, 0] [32, 64] [1, 1] : tensor<32x64xf32> into {SQUARE}
  %s = linalg.softmax dimension(1) ins(%y : {SQUARE}) outs(%e : {SQUARE}) -> {SQUARE}
  %r = linalg.tanh ins(%s : {SQUARE}) outs(%e : {SQUARE}) -> {SQUARE}
  return %r : {SQUARE}
}}"""


@pytest.mark.parametrize(("notes", "expected"), [({}, 2), ({"preserve": True}, 3)])
def test_copies_of_slices_join_no_group_that_is_preserved(
    notes: dict[str, Any], expected: int
) -> None:
    """The copies, the softmax and what follows it: copies bear no mark of any group."""
    assert passes(compiled(SLICED, Insert((3,), notes))) == expected


IDIOM = f"""linalg_ext.group "idiom" preserve ins(%u = %b: {SQUARE}) outs(%v = %e: {SQUARE}) {{
    %m = linalg.exp ins(%u : {SQUARE}) outs(%v : {SQUARE}) -> {SQUARE}
    %n = linalg.abs ins(%m : {SQUARE}) outs(%v : {SQUARE}) -> {SQUARE}
    linalg_ext.group_yield %n : {SQUARE}
  }}"""
AROUND_IT = f"""
  %e = tensor.empty() : {SQUARE}
  %b = linalg.tanh ins(%a : {SQUARE}) outs(%e : {SQUARE}) -> {SQUARE}
  %s = {IDIOM}
  %c = linalg.square ins(%s : {SQUARE}) outs(%e : {SQUARE}) -> {SQUARE}"""
PLACES = {
    "a function": f"func.func @main(%a: {SQUARE}) -> {SQUARE} {{ IT return %c : {SQUARE} }}",
    "a function that is called": f"""
func.func private @inner(%a: {SQUARE}) -> {SQUARE} {{ IT return %c : {SQUARE} }}
func.func @main(%x: {SQUARE}) -> {SQUARE} {{
  %r = func.call @inner(%x) : ({SQUARE}) -> {SQUARE}
  return %r : {SQUARE}
}}""",
    "a loop": f"""
func.func @main(%x: {SQUARE}) -> {SQUARE} {{
  %begin = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 2 : index
  %r = scf.for %i = %begin to %end step %one iter_args(%a = %x) -> {SQUARE} {{
    IT scf.yield %c : {SQUARE}
  }}
  return %r : {SQUARE}
}}""",
    "a branch": f"""
func.func @main(%a: {SQUARE}) -> {SQUARE} {{
  %i = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %first = tensor.extract %a[%i, %i] : {SQUARE}
  %is = arith.cmpf ogt, %first, %zero : f32
  %r = scf.if %is -> {SQUARE} {{ IT scf.yield %c : {SQUARE} }} else {{ scf.yield %a : {SQUARE} }}
  return %r : {SQUARE}
}}""",
    "another group": f"""
func.func @main(%x: {SQUARE}) -> {SQUARE} {{
  %o = tensor.empty() : {SQUARE}
  %r = linalg_ext.group ins(%a = %x: {SQUARE}) outs(%p = %o: {SQUARE}) {{
    IT linalg_ext.group_yield %c : {SQUARE}
  }}
  return %r : {SQUARE}
}}""",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_preserved_group_stays_together_wherever_it_stands(place: str) -> None:
    """Its two ops are one pass over memory; what is before and after it are passes of their own."""
    text = PLACES[place].replace("IT", AROUND_IT.strip() + "\n")
    free = text.replace(" preserve ", " ")
    joined = {"another group": 1}.get(place, 3)
    for source, expected in ((text, 3), (free, joined)):
        kernel = lx.compile(source)
        assert passes(kernel) == expected
        np.testing.assert_allclose(kernel(X), lx.compile(free)(X), rtol=1e-6)
