"""Modules printed with sugar are read back as the same modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext.definition.operand_maps import Sugar

SIZES = (2, 3, 4)
BINARY = ("add", "sub", "mul", "max_signed", "min_signed", "div")


@st.composite
def sugars(draw: st.DrawFn, rank: int) -> Sugar:
    broadcast = draw(st.sets(st.integers(0, rank - 1), max_size=rank))
    left = rank - len(broadcast)
    permutation = tuple(draw(st.permutations(range(left))))
    return Sugar(() if permutation == tuple(range(left)) else permutation, tuple(sorted(broadcast)))


def given_as(array: np.ndarray[Any, Any], sugar: Sugar) -> np.ndarray[Any, Any]:
    """What has to be given for an operand that the op reads as `array`: NumPy's own way."""
    index = tuple(0 if axis in sugar.broadcast else slice(None) for axis in range(array.ndim))
    narrow = array[index]
    # Not ascontiguousarray: that has no rank 0.
    return (narrow.transpose(np.argsort(sugar.permutation)) if sugar.permutation else narrow).copy()


def tensor(array: np.ndarray[Any, Any]) -> str:
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}f32>"


def words(letter: str, sugar: Sugar) -> list[str]:
    said = [f"permutation_{letter} = {list(sugar.permutation)}"] * bool(sugar.permutation)
    return said + [f"broadcast_{letter} = {list(sugar.broadcast)}"] * bool(sugar.broadcast)


def check(text: str, *arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Print and read a module; what it computes."""
    module = lx.parse(text, trusted=True)
    sugared = module.to_text(sugar=True)
    again = lx.parse(sugared, trusted=True)
    assert str(again) == str(module)
    assert again.to_text(sugar=True) == sugared
    result: np.ndarray[Any, Any] = lx.compile(again, trusted=True)(*arrays)
    return result


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_elementwise_ops(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    kind = data.draw(st.sampled_from(BINARY))
    ours = data.draw(st.booleans())
    rng = np.random.default_rng(0)
    read = rng.uniform(1, 2, (2, *SIZES[:rank])).astype("f4")
    said = [data.draw(sugars(rank)) for _ in range(2)]
    x, y = (given_as(array, sugar) for array, sugar in zip(read, said, strict=True))
    out = np.zeros(SIZES[:rank], "f4")
    named = kind.removesuffix("_signed")
    op = f"linalg_ext.elementwise kind = {kind}" if ours else f"linalg.{named}"
    clauses = ", ".join([*words("a", said[0]), *words("b", said[1])])
    arrow = "->" if ours else ":"
    text = f"""func.func @f(%x: {tensor(x)}, %y: {tensor(y)}, %o: {tensor(out)}) -> {tensor(out)} {{
      %r = {op} ins(%x : {tensor(x)}, %y : {tensor(y)}) outs(%o : {tensor(out)}) {clauses} {arrow}
        {tensor(out)}
      return %r : {tensor(out)} }}"""
    broadcast = [
        np.broadcast_to(np.expand_dims(a[_first(s, rank)], s.broadcast), a.shape)
        for a, s in zip(read, said, strict=True)
    ]
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    function |= {"max_signed": np.maximum, "min_signed": np.minimum}
    np.testing.assert_allclose(check(text, x, y, out), function[kind](*broadcast), rtol=1e-6)


def _first(sugar: Sugar, rank: int) -> tuple[Any, ...]:
    return tuple(0 if axis in sugar.broadcast else slice(None) for axis in range(rank))


@settings(max_examples=15, deadline=None)
@given(st.booleans(), st.booleans(), st.booleans(), st.sampled_from(["f32", "f64", None]))
def test_matrix_products(a: bool, b: bool, c: bool, compute_type: str | None) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 3)).astype("f4"), rng.random((3, 4)).astype("f4")
    out = np.zeros((4, 2) if c else (2, 4), "f4")
    x, y = (np.ascontiguousarray(m.T) if t else m for m, t in ((x, a), (y, b)))
    clauses = [f"permute_{n} = [1, 0]" for n, t in (("A", a), ("b", b), ("c", c)) if t]
    if compute_type:
        clauses.append(f"compute_type = {compute_type}")
    text = f"""func.func @f(%x: {tensor(x)}, %y: {tensor(y)}, %o: {tensor(out)}) -> {tensor(out)} {{
      %r = linalg.matmul ins(%x, %y : {tensor(x)}, {tensor(y)}) outs(%o : {tensor(out)})
        {" ".join(clauses)} : {tensor(out)}
      return %r : {tensor(out)} }}"""
    module = lx.parse(text, trusted=True)
    assert str(lx.parse(module.to_text(sugar=True), trusted=True)) == str(module)
    assert ("linalg_ext.compute_type" in str(module)) == (compute_type is not None)
    if compute_type is None:
        product = (x.T if a else x) @ (y.T if b else y)
        np.testing.assert_allclose(check(text, x, y, out), product.T if c else product, rtol=1e-5)


TEXTS = {
    "compute type of a convolution": """
      %r = linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, my.note = "a {b}",
          strides = dense<2> : tensor<1xi64>}
        ins(%x, %k : tensor<1x9x2xf32>, tensor<3x2x4xf32>) outs(%o : tensor<1x4x4xf32>)
        compute_type = f64 : tensor<1x4x4xf32>""",
    "contract": """
      %r = linalg.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>,
          affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]}
        ins(%a, %a : tensor<4x5xf32>, tensor<4x5xf32>) outs(%c : tensor<4x4xf32>)
        compute_type = f64 : tensor<4x4xf32>""",
    "contract of ours": """
      %r = linalg_ext.contract {"my note" = unit, my.flag} ins(%a : tensor<4x5xf32>)
        outs(%v : tensor<4xf32>)
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], kind = "max+",
        overwrite -> tensor<4xf32>""",
    "elementwise with a compute type": """
      %r = linalg.elementwise <mul> ins(%a, %a : tensor<4x5xf32>, tensor<4x5xf32>)
        outs(%a : tensor<4x5xf32>) compute_type = f64 : tensor<4x5xf32>""",
    "unsigned": """
      %r = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%i, %i : tensor<5x5xi8>,
        tensor<5x5xi8>) outs(%j : tensor<5x5xi32>) transpose_b : tensor<5x5xi32>""",
    "on memrefs, in a region": """
      scf.if %p {
        linalg.sub ins(%m : memref<5xf32>, %n : memref<4x5xf32>) outs(%n : memref<4x5xf32>)
          broadcast_a = [0]
      }""",
    "of dynamic sizes": """
      %r = linalg.sub ins(%d : tensor<?xf32>, %t : tensor<?x?xf32>) outs(%t : tensor<?x?xf32>)
        broadcast_lhs = [1], permutation_rhs = [1, 0] : tensor<?x?xf32>""",
    "ternary": """
      %r = linalg.select ins(%q : tensor<4xi1>, %a : tensor<4x5xf32>, %b : tensor<5x4xf32>)
        outs(%a : tensor<4x5xf32>) broadcast_a = [1], permutation_c = [1, 0] : tensor<4x5xf32>""",
    "two ops of one line": """
      %s = linalg.exp ins(%b : tensor<5x4xf32>) outs(%a : tensor<4x5xf32>) transpose_a
        : tensor<4x5xf32> %r = linalg.exp ins(%s : tensor<4x5xf32>) outs(%b : tensor<5x4xf32>)
        transpose_a : tensor<5x4xf32>""",
}

ARGUMENTS = (
    "%x: tensor<1x9x2xf32>, %k: tensor<3x2x4xf32>, %o: tensor<1x4x4xf32>, %a: tensor<4x5xf32>, "
    "%c: tensor<4x4xf32>, %v: tensor<4xf32>, %i: tensor<5x5xi8>, %j: tensor<5x5xi32>, %p: i1, "
    "%m: memref<5xf32>, %n: memref<4x5xf32>, %d: tensor<?xf32>, %t: tensor<?x?xf32>, "
    "%q: tensor<4xi1>, %b: tensor<5x4xf32>"
)


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    module = lx.parse(f"func.func @f({ARGUMENTS}) {{{TEXTS[name]}\n  return\n}}")
    sugared = module.to_text(sugar=True)
    assert "ins(%arg" in sugared
    assert sugared != str(module)
    assert "linalg_ext.spelled" not in sugared
    assert str(lx.parse(sugared)) == str(module)


def test_a_module_without_sugar_is_printed_as_mlir_prints_it() -> None:
    module = lx.parse("""func.func @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = linalg.matmul ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>)
        -> tensor<4x4xf32>
      return %0 : tensor<4x4xf32> }""")
    assert module.to_text(sugar=True) == module.to_text() == str(module)
    before = str(module)
    assert str(module) == before


def test_a_destination_without_a_dimension_is_summed_over_it() -> None:
    rng = np.random.default_rng(0)
    x, y, out = (rng.random(shape).astype("f4") for shape in ((2, 3), (3, 4), (2,)))
    text = """func.func @f(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>, %o: tensor<2xf32>)
        -> tensor<2xf32> {
      %r = linalg.matmul ins(%x : tensor<2x3xf32>, %y : tensor<3x4xf32>) outs(%o : tensor<2xf32>)
        broadcast_c = [1] : tensor<2xf32>
      return %r : tensor<2xf32> }"""
    assert "linalg_ext.contract" in str(lx.parse(text))
    np.testing.assert_allclose(check(text, x, y, out), (x @ y).sum(1) + out, rtol=1e-5)
    on_memrefs = text.replace("tensor", "memref").replace("%r = linalg", "linalg")
    on_memrefs = on_memrefs.replace(" : memref<2xf32>\n", "\n").replace("return %r", "return %o")
    assert on_memrefs.count("outs(%o : memref<2xf32>)") == 1
    assert 'iterator_types = ["parallel", "reduction", "reduction"]' in str(lx.parse(on_memrefs))
