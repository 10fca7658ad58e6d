"""Ops in the spellings of other versions of MLIR, run."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext import errors
from linalg_ext.dialects.asm.translation import is_linalg_op, translate, translated
from linalg_ext.opdsl_defs import add

RNG = np.random.default_rng(0)


def given(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RNG.random(shape).astype("f4") for shape in shapes]


@pytest.mark.parametrize(
    ("name", "shapes", "subscripts"),
    [
        ("matmul_transpose_a", ((3, 2), (3, 4), (2, 4)), "km,kn->mn"),
        ("matmul_transpose_b", ((2, 3), (4, 3), (2, 4)), "mk,nk->mn"),
        ("batch_matmul_transpose_a", ((5, 3, 2), (5, 3, 4), (5, 2, 4)), "bkm,bkn->bmn"),
        ("batch_matmul_transpose_b", ((5, 2, 3), (5, 4, 3), (5, 2, 4)), "bmk,bnk->bmn"),
    ],
)
def test_transposed_variants_become_one_op_with_maps(name, shapes, subscripts) -> None:
    a, b, c = given(*shapes)
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes]
    text = f"""func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) -> {types[2]} {{
      %r = linalg.{name} ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]}) -> {types[2]}
      return %r : {types[2]} }}"""
    module = lx.parse(text)
    assert f"linalg.{name.partition('_transpose')[0]} indexing_maps" in str(module)
    result = lx.compile(module)(a, b, c)
    np.testing.assert_allclose(result, np.einsum(subscripts, a, b) + c, rtol=1e-5)
    assert "permutation_" in module.to_text(sugar=True)


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("elemwise_binary {fun = #linalg.binary_fn<sub>} ins(%a, %b : T, T)", np.subtract),
        ("elemwise_unary {fun = #linalg.unary_fn<exp>} ins(%a : T)", lambda a, b: np.exp(a)),
        ("elemwise_binary ins(%a, %b : T, T)", np.add),
        ("elementwise <mul> ins(%a, %b : T, T)", np.multiply),
        ("elementwise <max_signed> {my.note = 1} ins(%a, %b : T, T)", np.maximum),
        ("elementwise kind = add ins(%a, %b : T, T)", np.add),
    ],
)
def test_elementwise_ops(op, function) -> None:
    a, b = given((2, 3), (2, 3))
    op = op.replace("T", "tensor<2x3xf32>")
    module = lx.parse(f"""func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>)
      -> tensor<2x3xf32> {{
      %r = linalg.{op} outs(%a : tensor<2x3xf32>) -> tensor<2x3xf32>
      return %r : tensor<2x3xf32> }}""")
    assert "linalg.elementwise kind=" in str(module)
    assert ("my.note" in str(module)) == ("my.note" in op)
    np.testing.assert_allclose(lx.compile(module)(a, b), function(a, b), rtol=1e-6)


def test_a_named_op_that_a_build_lacks_is_read_by_its_definition() -> None:
    text = """func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
      %r = linalg.add ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>)
        -> tensor<4xf32>
      return %r : tensor<4xf32> }"""
    assert translated(text, "-").text is text  # this build has it
    lacking = translate(text, unknown=("linalg.add",))
    assert [op.name for op in lacking.ops] == ["linalg.add"]
    assert add.definition.name == "add"


def test_which_ops_were_ever_ops_of_linalg() -> None:
    context = lx.parse("").context
    assert is_linalg_op("linalg.matmul_transpose_a", context)
    assert is_linalg_op("linalg.matmul", context)
    assert not is_linalg_op("linalg.gelu", context)


CUSTOM = """
  linalg.indexed_generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%a : memref<2x3xindex>) outs(%o : memref<2x3xindex>) {
    ^bb0(%i: index, %j: index, // the position
         %x: index, %y: index):
      %s = arith.muli %i, %x : index
      %t = arith.addi %s, %j : index
      linalg.yield %t : index
  }
"""

GENERIC = """
  "linalg.indexed_generic"(%a, %o) ({
    ^bb0(%i: index, %j: index, %x: index, %y: index):
      %s = "arith.muli"(%i, %x) : (index, index) -> index
      %t = "arith.addi"(%s, %j) : (index, index) -> index
      "linalg.yield"(%t) : (index) -> ()
  }) {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"],
      operand_segment_sizes = dense<[1, 1]> : vector<2xi32>}
    : (memref<2x3xindex>, memref<2x3xindex>) -> ()
"""

ALIAS = CUSTOM.replace(
    CUSTOM[CUSTOM.index("{indexing_maps") : CUSTOM.index("    ins")], "#trait\n\n"
)
TRAIT = """#trait = {indexing_maps = [affine_map<(i, j) -> (i, j)>,
  affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
"""


@pytest.mark.parametrize(
    ("body", "before"),
    [(CUSTOM, ""), (GENERIC, ""), (ALIAS, TRAIT)],
    ids=["custom", "generic", "alias"],
)
def test_indexed_generic(body: str, before: str) -> None:
    text = (
        f"{before}func.func @f(%a: memref<2x3xindex>, %o: memref<2x3xindex>) {{{body}  return\n}}"
    )
    module = lx.parse(text)
    assert str(module).count("linalg.index ") == 2
    assert translated(text, "-").text.count("\n") == text.count("\n")
    a = np.arange(6).reshape(2, 3)
    out = np.zeros((2, 3), np.intp)
    lx.compile(module)(a, out)
    i, j = np.indices((2, 3))
    np.testing.assert_array_equal(out, i * a + j)


def test_indexed_generic_without_a_body_or_with_too_few_arguments() -> None:
    head = "func.func @f(%a: memref<2x3xindex>, %o: memref<2x3xindex>) {"
    short = CUSTOM.replace("%i: index, %j: index, // the position\n         %x: index, %y", "%i")
    with pytest.raises(errors.ParseError, match="has 1 argument"):
        lx.parse(head + short + "return }")
    with pytest.raises(errors.ParseError, match="has no body"):
        lx.parse(head + "linalg.indexed_generic ins(%a : memref<2xf32>)\n return }")
