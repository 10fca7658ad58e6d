"""Generics made named ops, in whatever way they are written; those of no name left alone."""

from __future__ import annotations

import pytest

import linalg_ext as lx
from contraction_texts import contraction_text
from generic_texts import generic, tensor
from rewrite_texts import assert_same_results, function, parsed

specialize = lx.transforms.specialize


MOVED = {
    "linalg.copy": generic(
        {"a": (tensor(3, 4), "j, i"), "o": (tensor(3, 4), "j, i")},
        "linalg.yield %a_ : f32",
        dims="ij",
    ),
    "linalg.copy ins(%arg0 : tensor<3x4xf16>)": generic(
        {"a": (tensor(3, 4, element="f16"), "i, j"), "o": (tensor(3, 4), "i, j")},
        "%c = arith.extf %a_ : f16 to f32\nlinalg.yield %c : f32",
        dims="ij",
    ),
    "permutation = [2, 0, 1]": generic(
        {"a": (tensor(3, 4, 5), "i, j, k"), "o": (tensor(5, 3, 4), "k, i, j")},
        "linalg.yield %a_ : f32",
        dims="ijk",
    ),
    "dimensions = [0, 2]": generic(
        {"a": (tensor(4), "j"), "o": (tensor(3, 4, 5), "i, j, k")},
        "linalg.yield %a_ : f32",
        dims="jik",
    ),
    "dimensions = [0, 1]": generic(
        {"a": (tensor(), ""), "o": (tensor(3, 4), "i, j")}, "linalg.yield %a_ : f32", dims="ij"
    ),
    "linalg.fill {test.kept} ins(%arg0 : f32)": generic(
        {"a": ("f32", ""), "o": (tensor(3, 4), "i, j")}, "linalg.yield %a_ : f32", dims="ij"
    ),
    "linalg.fill {test.kept} ins(%cst : f32)": generic(
        {"o": (tensor("?", 4), "i, j")},
        "%two = arith.constant 2.0 : f32\nlinalg.yield %two : f32",
        dims="ij",
    ),
    "dimensions = [1]": generic(
        {"a": (tensor(3, 4, 5), "i, j, k"), "o": (tensor(3, 5), "i, k")},
        "%s = arith.addf %a_, %o_ : f32\nlinalg.yield %s : f32",
        dims="jik",
        reduced="j",
    ),
    "linalg.reduce": generic(
        {"a": (tensor(3, 4, kind="memref"), "i, j"), "o": (tensor(4, kind="memref"), "j")},
        "%e = math.absf %a_ : f32\n%s = arith.maximumf %e, %o_ : f32\nlinalg.yield %s : f32",
        dims="ij",
        reduced="i",
    ),
}
"""Generics that move elements or fold them, by what their named op says."""

OTHER_ORDERS = {
    "linalg.sub {test.kept} ins(%arg1, %arg0": generic(
        {
            "a": (tensor(3, 4), "i, j"),
            "b": (tensor(3, 4), "i, j"),
            "o": (tensor(3, 4), "i, j"),
        },
        "%d = arith.subf %b_, %a_ : f32\nlinalg.yield %d : f32",
        dims="ij",
    ),
    "linalg.matvec {test.kept} ins(%arg1, %arg0": generic(
        {"a": (tensor(4), "j"), "b": (tensor(3, 4), "i, j"), "o": (tensor(3), "i")},
        "%p = arith.mulf %a_, %b_ : f32\n%s = arith.addf %p, %o_ : f32\nlinalg.yield %s : f32",
        dims="ji",
        reduced="j",
    ),
    "linalg.exp": generic(
        {"a": (tensor(2, 3, 4, 5), "l, k, j, i"), "o": (tensor(2, 3, 4, 5), "l, k, j, i")},
        "%e = math.exp %a_ : f32\nlinalg.yield %e : f32",
        dims="ijkl",
    ),
    "dilations = dense<3> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>": generic(
        {
            "a": (tensor(2, 11, 3), "n, o * 2 + k * 3, c"),
            "b": (tensor(3, 3, 4), "k, c, f"),
            "o": (tensor(2, 3, 4), "n, o, f"),
        },
        "%p = arith.mulf %a_, %b_ : f32\n%s = arith.addf %o_, %p : f32\nlinalg.yield %s : f32",
        dims="fkcno",
        reduced="kc",
    ),
    "linalg.pooling_nwc_max": generic(
        {
            "a": (tensor(2, 7, 3), "n, o * 2 + k, c"),
            "b": (tensor(3), "k"),
            "o": (tensor(2, 3, 3), "n, o, c"),
        },
        "%m = arith.maximumf %a_, %o_ : f32\nlinalg.yield %m : f32",
        dims="nock",
        reduced="k",
    ),
}
"""Generics with the inputs or the iteration space in another order than the named op's."""

NAMELESS = {
    "another constant": generic(
        {"a": (tensor(3), "i"), "o": (tensor(3), "i")},
        "%c = arith.constant 1.5 : f32\n%d = arith.divf %c, %a_ : f32\nlinalg.yield %d : f32",
        dims="i",
    ),
    "a transpose and a broadcast": generic(
        {"a": (tensor(3, 4), "i, j"), "o": (tensor(4, 5, 3), "j, k, i")},
        "linalg.yield %a_ : f32",
        dims="ijk",
    ),
    "a diagonal": generic(
        {"a": (tensor(3, 3), "i, i"), "o": (tensor(3), "i")}, "linalg.yield %a_ : f32", dims="i"
    ),
    "a flip": generic(
        {"a": (tensor(3), "2 - i"), "o": (tensor(3), "i")}, "linalg.yield %a_ : f32", dims="i"
    ),
    "an unsigned minimum where a signed one folds": generic(
        {
            "a": (tensor(2, 7, 3, element="i8"), "n, o * 2 + k, c"),
            "b": (tensor(3, element="i8"), "k"),
            "o": (tensor(2, 3, 3, element="i8"), "n, o, c"),
        },
        "%m = arith.minui %a_, %o_ : i8\n%x = arith.minsi %m, %b_ : i8\nlinalg.yield %x : i8",
        dims="nock",
        reduced="k",
    ),
    "strides that differ between dimensions of one": generic(
        {
            "a": (tensor(9), "o * 2 + k"),
            "b": (tensor(3), "k"),
            "o": (tensor(4), "o"),
        },
        "%p = arith.mulf %a_, %b_ : f32\n%s = arith.addf %o_, %p : f32\nlinalg.yield %s : f32",
        dims="ok",
        reduced="k",
    ),
    "a reduction of transposed elements": generic(
        {"a": (tensor(3, 4, 5), "i, j, k"), "o": (tensor(5, 3), "k, i")},
        "%s = arith.addf %a_, %o_ : f32\nlinalg.yield %s : f32",
        dims="ijk",
        reduced="j",
    ),
    "positions": generic(
        {"a": (tensor(3, 4), "i, j"), "o": (tensor(3, element="i64"), "i")},
        "%p = linalg.index 1 : index\n%q = arith.index_cast %p : index to i64\n"
        "%m = arith.maxsi %q, %o_ : i64\nlinalg.yield %m : i64",
        dims="ij",
        reduced="j",
    ),
    "a sum over what is said to be parallel": generic(
        {"a": (tensor(3, 4), "i, j"), "o": (tensor(3), "i")},
        "%s = arith.addf %a_, %o_ : f32\nlinalg.yield %s : f32",
        dims="ij",
    ),
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
    "two functions": generic(
        {"a": (tensor(3), "i"), "o": (tensor(3), "i")},
        "%e = math.exp %a_ : f32\n%f = math.exp %e : f32\nlinalg.yield %f : f32",
        dims="i",
    ),
    "an output that is read": generic(
        {"a": (tensor(3), "i"), "o": (tensor(3), "i")},
        "%e = arith.addf %a_, %o_ : f32\nlinalg.yield %e : f32",
        dims="i",
    ),
    "another cast": generic(
        {
            "a": (tensor(3, 4, element="i8"), "i, j"),
            "b": (tensor(4, element="i8"), "j"),
            "o": (tensor(3, element="i32"), "i"),
        },
        "%x = arith.extui %a_ : i8 to i32\n%y = arith.extsi %b_ : i8 to i32\n"
        "%p = arith.muli %x, %y : i32\n%s = arith.addi %o_, %p : i32\nlinalg.yield %s : i32",
        dims="ij",
        reduced="j",
    ),
}
"""Generics that are nearly a named op."""


@pytest.mark.parametrize("said", [*MOVED, *OTHER_ORDERS])
def test_the_named_op_is_found(said: str) -> None:
    text = {**MOVED, **OTHER_ORDERS}[said]
    module = parsed(text)
    assert specialize(module).changed == {"linalg.generic": 1}
    assert said in str(module).replace("linalg.copy {test.kept}", "linalg.copy")
    assert "linalg.generic" not in str(module)
    assert "test.kept" in str(module)
    assert_same_results(parsed(text), module)


@pytest.mark.parametrize("what", NAMELESS)
def test_nearly_a_named_op_is_left(what: str) -> None:
    module = parsed(NAMELESS[what])
    before = str(module)
    report = specialize(module)
    assert not report
    assert report.left["linalg.generic"]
    assert str(module) == before


@pytest.mark.parametrize(
    ("operands", "op"),
    [
        (("mk", "nk", "mn"), "matmul indexing_maps"),
        (("bkm", "bkn", "bmn"), "batch_matmul indexing_maps"),
        (("mk", "kn", "mn"), "matmul {"),
        (("kn", "mk", "mn"), "matmul {"),
        (("bmk", "bkn", "mn"), "batch_reduce_matmul {"),
    ],
)
def test_products_of_matrices(operands: tuple[str, str, str], op: str) -> None:
    text = contraction_text("generic", *operands)
    module = parsed(text)
    assert specialize(module)
    assert f"linalg.{op}" in str(module)
    assert_same_results(parsed(text), module)


def test_a_library_call_is_left() -> None:
    text = contraction_text("generic", "mk", "kn", "mn")
    named = text.replace("linalg.generic {", 'linalg.generic {library_call = "gemm", ')
    assert not specialize(parsed(named))


def test_a_captured_scalar_is_an_operand() -> None:
    text = function(
        "%s: f32, %o: tensor<3xf32>",
        "%r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], "
        'iterator_types = ["parallel"]} outs(%o : tensor<3xf32>) {\n^bb0(%x: f32):\n'
        "linalg.yield %s : f32\n} -> tensor<3xf32>",
        "tensor<3xf32>",
    )
    module = parsed(text)
    assert specialize(module)
    assert "linalg.fill ins(%arg0 : f32)" in str(module)
    assert_same_results(parsed(text), module)


def test_a_reduction_of_two_results() -> None:
    text = function(
        "%a: memref<3x4xf32>, %b: memref<3x4xf32>, %s: memref<3xf32>, %t: memref<3xf32>",
        "linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, "
        "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], "
        'iterator_types = ["parallel", "reduction"]} ins(%a, %b : memref<3x4xf32>, '
        "memref<3x4xf32>) outs(%s, %t : memref<3xf32>, memref<3xf32>) {\n"
        "^bb0(%x: f32, %y: f32, %p: f32, %q: f32):\n%m = arith.addf %x, %p : f32\n"
        "%n = arith.maximumf %y, %q : f32\nlinalg.yield %m, %n : f32, f32\n}",
        None,
    )
    module = parsed(text)
    assert specialize(module)
    assert "linalg.reduce" in str(module)
    assert_same_results(parsed(text), module)


@pytest.mark.parametrize("steps", ["specialize", "categorize", "specialize generalize"])
def test_an_op_keeps_its_place_in_the_source(steps: str) -> None:
    text = contraction_text("generic", "mk", "kn", "mn")
    head, arrow, tail = text.rpartition("} -> tensor<3x4xf32>")
    module = parsed(f'{head}{arrow} loc("model.py":7:3){tail}')
    for step in steps.split():
        getattr(lx.transforms, step)(module)
    (op,) = [
        op.operation
        for op in module.ir.body.operations[0].regions[0].blocks[0].operations
        if op.operation.name.startswith("linalg.")
    ]
    assert "model.py" in str(op.location)
