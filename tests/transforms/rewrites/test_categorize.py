"""Category ops for named ops and generics, and names for category ops."""

from __future__ import annotations

import pytest

import linalg_ext as lx
from contraction_texts import contraction_text
from generic_texts import generic, tensor
from rewrite_texts import assert_same_results, parsed

categorize, name_categories = lx.transforms.categorize, lx.transforms.name_categories

ALIKE = {"a": (tensor(3, 4), "i, j"), "b": (tensor(3, 4), "i, j"), "o": (tensor(3, 4), "i, j")}
SUM = "%s = arith.addf %a_, %b_ : f32\nlinalg.yield %s : f32"

ELEMENTWISE = {
    "<add> {test.kept} ins(%arg0, %arg1": generic(ALIKE, SUM, dims="ij"),
    "<sub> {test.kept} ins(%arg1, %arg0": generic(
        ALIKE, "%s = arith.subf %b_, %a_ : f32\nlinalg.yield %s : f32", dims="ij"
    ),
    "<add> indexing_maps = [#map, #map1, #map2]": generic(
        {"a": (tensor(4, 3), "j, i"), "b": (tensor(4), "j"), "o": (tensor(3, 4), "i, j")},
        SUM,
        dims="ij",
    ),
    "ins(%arg0, %arg1 : f32, tensor<3x?xf32>)": generic(
        {"a": ("f32", ""), "b": (tensor(3, "?"), "i, j"), "o": (tensor(3, "?"), "i, j")},
        SUM,
        dims="ij",
    ),
    "<mul> {test.kept} ins(%arg0, %arg0 : tensor<3xi32>, tensor<3xi32>)": generic(
        {"a": (tensor(3, element="i32"), "i"), "o": (tensor(3, element="i32"), "i")},
        "%s = arith.muli %a_, %a_ : i32\nlinalg.yield %s : i32",
        dims="i",
    ),
    "<select> indexing_maps": generic(
        {
            "c": (tensor(3, element="i1"), "i"),
            "a": (tensor(3, 4), "i, j"),
            "b": (tensor(4), "j"),
            "o": (tensor(3, 4), "i, j"),
        },
        "%s = arith.select %c_, %a_, %b_ : f32\nlinalg.yield %s : f32",
        dims="ij",
    ),
    "<max_unsigned> {test.kept}": generic(
        {name: (tensor(3, element="i8", kind="memref"), "i") for name in ("a", "b", "o")},
        "%s = arith.maxui %a_, %b_ : i8\nlinalg.yield %s : i8",
        dims="i",
    ),
    "<sin> {test.kept}": generic(  # which has no named op
        {"a": (tensor(3, 4), "i, j"), "o": (tensor(3, 4), "i, j")},
        "%s = math.sin %a_ : f32\nlinalg.yield %s : f32",
        dims="ij",
    ),
    "-> (d1, d0)>": generic(
        {"a": (tensor(3, 4), "i, j"), "b": (tensor(3, 4), "i, j"), "o": (tensor(4, 3), "j, i")},
        SUM,
        dims="ij",
    ),
}
"""Generics, by what the `linalg.elementwise` says that they become."""


def unary(op: str, element: str) -> str:
    return generic(
        {"a": (tensor(3, element=element), "i"), "o": (tensor(3, element=element), "i")},
        f"%s = {op} %a_ : {element}\nlinalg.yield %s : {element}",
        dims="i",
    )


NO_CATEGORY = {
    # Upstream's parser ends the process on these kinds.
    "an integer absolute value": unary("math.absi", "i32"),
    "a complex exponential": unary("complex.exp", "complex<f32>"),
    "a function without a kind": unary("math.cbrt", "f32"),
    "a choice by a number": generic(
        {"c": (tensor(3), "i"), "a": (tensor(3), "i"), "o": (tensor(3), "i")},
        "%z = arith.constant 0.0 : f32\n%t = arith.cmpf une, %c_, %z : f32\n"
        "%s = arith.select %t, %c_, %a_ : f32\nlinalg.yield %s : f32",
        dims="i",
    ),
    "a difference of booleans": generic(
        {name: (tensor(3, element="i1"), "i") for name in ("a", "b", "o")},
        "%s = arith.xori %a_, %b_ : i1\nlinalg.yield %s : i1",
        dims="i",
    ),
    "a cast": generic(
        {"a": (tensor(3, element="f16"), "i"), "b": (tensor(3), "i"), "o": (tensor(3), "i")},
        "%x = arith.extf %a_ : f16 to f32\n%s = arith.addf %x, %b_ : f32\nlinalg.yield %s : f32",
        dims="i",
    ),
    "an unread input": generic(ALIKE, "%s = math.exp %a_ : f32\nlinalg.yield %s : f32", dims="ij"),
    "a sum of itself": generic(
        {"a": (tensor(3), "i"), "o": (tensor(3), "i")},
        "%s = arith.addf %a_, %o_ : f32\nlinalg.yield %s : f32",
        dims="i",
    ),
    "a diagonal": generic(
        {"a": (tensor(3, 3), "i, i"), "b": (tensor(3), "i"), "o": (tensor(3), "i")},
        SUM,
        dims="i",
    ),
    # Upstream's builder ends the process on it.
    "a product of positions": generic(
        {
            "a": (tensor(2, 3, element="index"), "i, k"),
            "b": (tensor(3, 2, element="index"), "k, j"),
            "o": (tensor(2, 2, element="index"), "i, j"),
        },
        "%p = arith.muli %a_, %b_ : index\n%s = arith.addi %o_, %p : index\n"
        "linalg.yield %s : index",
        dims="ijk",
        reduced="k",
    ),
    "an outer product": generic(
        {"a": (tensor(3), "i"), "b": (tensor(4), "j"), "o": (tensor(3, 4), "i, j")},
        "%p = arith.mulf %a_, %b_ : f32\n%s = arith.addf %o_, %p : f32\nlinalg.yield %s : f32",
        dims="ij",
    ),
    "a dimension of one operand alone": generic(
        {"a": (tensor(3, 5), "i, k"), "b": (tensor(4), "j"), "o": (tensor(3, 4), "i, j")},
        "%p = arith.mulf %a_, %b_ : f32\n%s = arith.addf %o_, %p : f32\nlinalg.yield %s : f32",
        dims="ijk",
        reduced="k",
    ),
}


@pytest.mark.parametrize("said", ELEMENTWISE)
def test_elementwise(said: str) -> None:
    module = parsed(ELEMENTWISE[said])
    assert categorize(module).changed == {"linalg.generic": 1}
    text = str(module)
    assert "linalg.elementwise" in text
    assert "linalg.generic" not in text
    assert "test.kept" in text
    assert said in text
    assert_same_results(parsed(ELEMENTWISE[said]), module)


@pytest.mark.parametrize("kind", ["tensor", "memref"])
@pytest.mark.parametrize(
    "operands", [("km", "kn", "nm"), ("bmk", "kn", "mbn"), ("mkl", "lkn", "mn")], ids=",".join
)
def test_contract(operands: tuple[str, str, str], kind: str) -> None:
    text = contraction_text("generic", *operands, types=("i8", "i32"), unsigned=True, kind=kind)
    module = parsed(text)
    assert categorize(module)
    assert "linalg.contract" in str(module)
    assert "cast_unsigned" in str(module)
    assert "test.kept" in str(module)
    assert_same_results(parsed(text), module)


@pytest.mark.parametrize("what", NO_CATEGORY)
def test_what_has_no_category_is_left(what: str) -> None:
    module = parsed(NO_CATEGORY[what])
    before = str(module)
    report = categorize(module)
    assert not report
    assert report.left["linalg.generic"]
    assert str(module) == before


@pytest.mark.parametrize("said", ["<add> indexing_maps = [#map, #map1, #map2]", "-> (d1, d0)>"])
def test_a_category_op_that_has_no_name_is_left(said: str) -> None:
    module = parsed(ELEMENTWISE[said])
    categorize(module)
    before = str(module)
    report = name_categories(module)
    assert report.left == {"linalg.elementwise": {"the op has no named equivalent"}}
    assert str(module) == before


def test_a_contraction_with_maps_gets_the_name_of_a_matrix_product() -> None:
    module = parsed(contraction_text("contract", "km", "kn", "mn"))
    assert name_categories(module)
    assert "linalg.matmul indexing_maps" in str(module)


def test_a_category_op_is_no_candidate() -> None:
    module = parsed(contraction_text("contract", "km", "kn", "mn"))
    assert not categorize(module).matched
