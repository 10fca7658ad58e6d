"""The boundaries of fusion: each producer that stays, and the reason in the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from kernels import kernel
from linalg_ext.bindings import ir
from linalg_ext.module import Module
from linalg_ext.transforms.fusion.fuse_producers import fuse_producers
from memrefs import integers
from window_kernels import Windows

CHAIN = """
#row = affine_map<(i) -> (i)>
#all = affine_map<(j, i) -> (j, i)>
func.func @f(%x: tensor<9xi32>, %e: tensor<9xi32>, %h: memref<4xi32>, %one: i32) -> tensor<9xi32> {{
  %s = linalg.generic {{indexing_maps = [#row, #row], iterator_types = ["parallel"]}}
      ins(%x : tensor<9xi32>) outs(%e : tensor<9xi32>) {{
  ^bb0(%a: i32, %o: i32):
    {body}
    linalg.yield %v : i32
  }} -> tensor<9xi32>
  %r = linalg.generic {{indexing_maps = [#row, #row], iterator_types = ["parallel"]}}
      ins(%s : tensor<9xi32>) outs(%e : tensor<9xi32>) {{
  ^bb0(%a: i32, %o: i32):
    %t = arith.addi %a, %a : i32
    linalg.yield %t : i32
  }} -> tensor<9xi32>
  {after}
  return %r : tensor<9xi32>
}}"""

DOUBLES = "%v = arith.addi %a, %a : i32"

COUNTS = """%i = arith.index_cast %a : i32 to index
    %v = memref.atomic_rmw addi %one, %h[%i] : (i32, memref<4xi32>) -> i32"""

ASSERTS = """%c = arith.cmpi ne, %a, %one : i32
    cf.assert %c, "one"
    %v = arith.addi %a, %a : i32"""

AGAIN = "%again = tensor.cast %s : tensor<9xi32> to tensor<?xi32>"


@pytest.mark.parametrize(
    ("body", "after", "reason"),
    [
        (DOUBLES, "", None),
        (COUNTS, "", "reaches memory outside"),
        (ASSERTS, "", "asserts"),
        (DOUBLES, AGAIN, "several ops read the result"),
    ],
)
def test_a_producer_stays_where_fusion_would_change_what_it_does(
    body: str, after: str, reason: str | None
) -> None:
    module = Module.parse(CHAIN.format(body=body, after=after))
    report = fuse_producers(module)
    module.verify()
    assert str(module).count("linalg.generic") == (1 if reason is None else 2)
    if reason is not None:
        assert reason in str(report)


def test_ops_of_different_groups_stay_apart() -> None:
    text = CHAIN.format(body=DOUBLES, after="")
    module = Module.parse(text)
    generics = list(module.ir.body.operations[0].regions[0].blocks[0].operations)
    with module.context:
        for number, op in enumerate(generics[:2]):
            op.attributes["linalg_ext.group"] = ir.IntegerAttr.get(
                ir.IntegerType.get_signless(64), number
            )
    report = fuse_producers(module)
    assert "different groups" in str(report)


def test_a_producer_before_a_loop_is_not_computed_in_each_round() -> None:
    text = """
    func.func @f(%x: tensor<9xf32>, %y: tensor<9xf32>, %n: index) -> tensor<9xf32> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %e = tensor.empty() : tensor<9xf32>
      %s = linalg.exp ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
      %r = scf.for %i = %zero to %n step %one iter_args(%o = %y) -> tensor<9xf32> {
        %t = linalg.add ins(%s, %o : tensor<9xf32>, tensor<9xf32>) outs(%e : tensor<9xf32>)
          -> tensor<9xf32>
        scf.yield %t : tensor<9xf32>
      }
      return %r : tensor<9xf32>
    }"""
    x, y = np.linspace(0, 1, 9, dtype=np.float32), np.ones(9, np.float32)
    compiled = lx.compile(text)
    np.testing.assert_allclose(compiled(x, y, 3), 3 * np.exp(x) + y, rtol=1e-6)
    linalg = compiled.as_text("linalg")
    assert linalg.index("math.exp") < linalg.index("scf.for")


LOOKS_UP = "%v = tensor.extract %t[%a] : tensor<9xf32>"
ITSELF = "%q = tensor.cast %r : tensor<9xf32> to tensor<9xf32>"
NEGATED = """%q = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
          ins(%r : tensor<9xf32>) outs(%e : tensor<9xf32>) {
      ^bb0(%a: f32, %o: f32):
        %n = arith.negf %a : f32
        linalg.yield %n : f32
      } -> tensor<9xf32>"""


def reading(body: str, *, reader: str, shape: str = "5x9", between: str = ITSELF) -> str:
    """An op whose body looks something up, or asserts, and one that reads its elements."""
    return f"""
    #row = affine_map<(i) -> (i)>
    #all = affine_map<(j, i) -> (j, i)>
    func.func @f(%x: tensor<9xindex>, %t: tensor<9xf32>, %e: tensor<9xf32>, %y: tensor<{shape}xf32>)
        -> tensor<{shape}xf32> {{
      %zero = arith.constant 0 : index
      %r = linalg.generic {{indexing_maps = [#row, #row], iterator_types = ["parallel"]}}
          ins(%x : tensor<9xindex>) outs(%e : tensor<9xf32>) {{
      ^bb0(%a: index, %o: f32):
        {body}
        linalg.yield %v : f32
      }} -> tensor<9xf32>
      {between}
      %s = linalg.generic {{indexing_maps = [{reader}, #all],
                           iterator_types = ["parallel", "parallel"]}}
          ins(%q : tensor<9xf32>) outs(%y : tensor<{shape}xf32>) {{
      ^bb0(%a: f32, %o: f32):
        %d = arith.addf %a, %a : f32
        linalg.yield %d : f32
      }} -> tensor<{shape}xf32>
      return %s : tensor<{shape}xf32>
    }}"""


@pytest.mark.parametrize("between", [ITSELF, NEGATED])
@pytest.mark.parametrize(
    ("reader", "shape", "is_kept"),
    [
        ("affine_map<(j, i) -> (i)>", "5x9", True),
        ("affine_map<(j, i) -> (i)>", "1x9", False),
        ("affine_map<(j, i) -> (i)>", "?x9", True),
        ("affine_map<(j, i) -> (j)>", "9x5", True),
        ("affine_map<(j, i) -> (j)>", "9x1", False),
    ],
)
def test_what_is_read_several_times_is_looked_up_once(
    between: str, reader: str, shape: str, is_kept: bool
) -> None:
    module = Module.parse(reading(LOOKS_UP, reader=reader, shape=shape, between=between))
    module.run("canonicalize")
    fuse_producers(module)
    assert str(module).count("linalg.generic") == (1 + is_kept)


def test_long_chains_become_several_bodies() -> None:
    count = 3000
    lines = "".join(f"%v{at + 1} = arith.addf %v{at}, %x : tensor<4xf32>\n" for at in range(count))
    kernel = lx.compile(
        f"func.func @f(%x: tensor<4xf32>, %v0: tensor<4xf32>) -> tensor<4xf32> {{ {lines}"
        f" return %v{count} : tensor<4xf32> }}"
    )
    ones = np.ones(4, np.float32)
    np.testing.assert_array_equal(kernel(ones, 0 * ones), count * ones)
    bodies = kernel.as_text("linalg").split("linalg.generic")[1:]
    assert 2 < len(bodies) < 20
    assert max(body.count("arith.addf") for body in bodies) <= 1024


@pytest.mark.parametrize("narrow", ["i1", "i8", "i16"])
@pytest.mark.parametrize("cast", ["extui", "extsi"])
def test_integers_are_widened_as_the_body_says(cast: str, narrow: str) -> None:
    text = """
    #row = affine_map<(m, n, k) -> (m, k)>
    #column = affine_map<(m, n, k) -> (k, n)>
    #both = affine_map<(m, n) -> (m, n)>
    func.func @f(%a: tensor<5x6xNARROW>, %b: tensor<6x7xNARROW>, %c: tensor<5x7xi32>)
        -> tensor<5x7xi32> {
      %e = tensor.empty() : tensor<5x6xNARROW>
      %n = linalg.generic {indexing_maps = [#both, #both, #both],
                           iterator_types = ["parallel", "parallel"]}
          ins(%a, %a : tensor<5x6xNARROW>, tensor<5x6xNARROW>)
          outs(%e : tensor<5x6xNARROW>) {
      ^bb0(%x: NARROW, %y: NARROW, %o: NARROW):
        %z = arith.muli %x, %y : NARROW
        linalg.yield %z : NARROW
      } -> tensor<5x6xNARROW>
      %r = linalg.generic {indexing_maps = [#row, #column, affine_map<(m, n, k) -> (m, n)>],
                           iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%n, %b : tensor<5x6xNARROW>, tensor<6x7xNARROW>) outs(%c : tensor<5x7xi32>) {
      ^bb0(%x: NARROW, %y: NARROW, %o: i32):
        %p = arith.CAST %x : NARROW to i32
        %q = arith.CAST %y : NARROW to i32
        %s = arith.muli %p, %q : i32
        %t = arith.addi %o, %s : i32
        linalg.yield %t : i32
      } -> tensor<5x7xi32>
      return %r : tensor<5x7xi32>
    }"""
    dtype = np.dtype({"i1": "bool", "i8": "int8", "i16": "int16"}[narrow])
    generator = np.random.default_rng(7)
    a, b = (generator.integers(-128, 128, shape).astype(dtype) for shape in ((5, 6), (6, 7)))
    c = integers(5, 7).astype(np.int32)

    def widened(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if narrow == "i1":
            return x.astype(np.int32) * (1 if cast == "extui" else -1)
        return x.view(f"u{dtype}" if cast == "extui" else dtype).astype(np.int32)

    compiled = kernel(text.replace("NARROW", narrow).replace("CAST", cast))
    np.testing.assert_array_equal(compiled(a, b, c), widened(a * a) @ widened(b) + c)


def test_a_transpose_is_still_fused() -> None:
    """It goes into the maps of the contraction, and nothing is moved."""
    text = """
    func.func @f(%a: tensor<40x30xf32>, %b: tensor<40x50xf32>, %c: tensor<30x50xf32>)
        -> tensor<30x50xf32> {
      %e = tensor.empty() : tensor<30x40xf32>
      %t = linalg.transpose ins(%a : tensor<40x30xf32>) outs(%e : tensor<30x40xf32>)
             permutation = [1, 0]
      %r = linalg.matmul ins(%t, %b : tensor<30x40xf32>, tensor<40x50xf32>)
                         outs(%c : tensor<30x50xf32>) -> tensor<30x50xf32>
      return %r : tensor<30x50xf32>
    }"""
    compiled = kernel(text)
    assert "30x40" not in compiled.as_text("buffers")
    a, b, c = integers(40, 30), integers(40, 50), integers(30, 50)
    np.testing.assert_array_equal(compiled(a, b, c), a.T @ b + c)


def test_a_transpose_beside_what_is_computed_is_read_where_it_lies() -> None:
    text = """
    func.func @f(%a: tensor<30x40xf32>, %b: tensor<50x40xf32>, %c: tensor<30x50xf32>)
        -> tensor<30x50xf32> {
      %e = tensor.empty() : tensor<40x50xf32>
      %t = linalg.transpose ins(%b : tensor<50x40xf32>) outs(%e : tensor<40x50xf32>)
             permutation = [1, 0]
      %f = tensor.empty() : tensor<30x40xf32>
      %n = linalg.negf ins(%a : tensor<30x40xf32>) outs(%f : tensor<30x40xf32>)
             -> tensor<30x40xf32>
      %r = linalg.matmul ins(%n, %t : tensor<30x40xf32>, tensor<40x50xf32>)
                         outs(%c : tensor<30x50xf32>) -> tensor<30x50xf32>
      return %r : tensor<30x50xf32>
    }"""
    compiled = kernel(text)
    assert "40x50" not in compiled.as_text("buffers")
    a, b, c = integers(30, 40), integers(50, 40), integers(30, 50)
    np.testing.assert_array_equal(compiled(a, b, c), -a @ b.T + c)


def test_a_batch_that_is_moved_twice_is_read_where_it_lies() -> None:
    text = """
    func.func @f(%a: tensor<3x4x5xf32>, %b: tensor<6x3x5xf32>) -> tensor<3x4x6xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<3x6x5xf32>
      %t = linalg.transpose ins(%b : tensor<6x3x5xf32>) outs(%e : tensor<3x6x5xf32>)
             permutation = [1, 0, 2]
      %g = tensor.empty() : tensor<3x5x6xf32>
      %u = linalg.transpose ins(%t : tensor<3x6x5xf32>) outs(%g : tensor<3x5x6xf32>)
             permutation = [0, 2, 1]
      %f = tensor.empty() : tensor<3x4x5xf32>
      %n = linalg.negf ins(%a : tensor<3x4x5xf32>) outs(%f : tensor<3x4x5xf32>)
             -> tensor<3x4x5xf32>
      %h = tensor.empty() : tensor<3x4x6xf32>
      %c = linalg.fill ins(%zero : f32) outs(%h : tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
      %r = linalg.batch_matmul ins(%n, %u : tensor<3x4x5xf32>, tensor<3x5x6xf32>)
                               outs(%c : tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
      return %r : tensor<3x4x6xf32>
    }"""
    compiled = kernel(text)
    assert "3x6x5" not in compiled.as_text("buffers")
    a, b = integers(3, 4, 5), integers(6, 3, 5)
    np.testing.assert_array_equal(compiled(a, b), np.einsum("bmk,nbk->bmn", -a, b))


def test_a_product_with_a_scalar_is_none() -> None:
    text = """
    func.func @f(%a: tensor<4x5xf32>, %x: f32, %c: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4x5xf32>
      %n = linalg.exp ins(%a : tensor<4x5xf32>) outs(%e : tensor<4x5xf32>) -> tensor<4x5xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> ()>,
             affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]}
             ins(%n, %x : tensor<4x5xf32>, f32) outs(%c : tensor<4xf32>) {
        ^bb0(%i: f32, %s: f32, %o: f32):
          %p = arith.mulf %i, %s : f32
          %q = arith.addf %o, %p : f32
          linalg.yield %q : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    a = integers(4, 5)
    result = kernel(text)(a, np.float32(3), np.zeros(4, np.float32))
    np.testing.assert_allclose(result, 3 * np.exp(a).sum(1), rtol=1e-5)


def test_layers_in_a_row() -> None:
    """Each activation is done once, with the convolution before it."""
    windows = Windows("nhwc", "hwcf", "nhwf")
    x, first, second = integers(1, 12, 13, 5), integers(3, 3, 5, 7), integers(3, 3, 7, 19)
    conv, relu = lx.ops.conv_2d_nhwc_hwcf, lx.ops.relu
    kernel = lx.jit(lambda x, a, b: relu(conv(relu(conv(x, a)), b)))
    between = windows.reference(x, first, np.zeros((1, 10, 11, 7), np.float32))
    expected = windows.reference(
        np.maximum(between, 0), second, np.zeros((1, 8, 9, 19), np.float32)
    )
    compiled = kernel.lower(x, first, second).compile()
    text = compiled.as_text("loops")
    assert text.count("call @linalg_ext_windows") == 2
    assert text.count("memref.alloc(") == 1
    np.testing.assert_array_equal(compiled(x, first, second), np.maximum(expected, 0))


def test_functions_of_what_a_pooling_without_a_name_reads() -> None:
    x, shape = np.linspace(-1, 1, 7 * 9 * 20, dtype=np.float32), np.empty((2, 2), np.float32)
    x = x.reshape(1, 7, 9, 20)
    kernel = lx.jit(lambda x, k: lx.ops.pooling_nhwc_average(lx.ops.exp(x), k))
    views = np.lib.stride_tricks.sliding_window_view(np.exp(x), (2, 2), axis=(1, 2))
    np.testing.assert_allclose(kernel(x, shape), views.mean((-2, -1)), rtol=1e-6)
