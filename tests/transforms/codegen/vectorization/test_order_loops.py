"""The order of the loops of structured ops on buffers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kernels import run
from linalg_ext.bindings import ir
from linalg_ext.transforms.codegen.vectorization.order_loops import SHORT, SHORTEST, order_loops


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with ir.Context(), ir.Location.unknown():
        yield


def generic(maps: str, iterators: str, operands: str, body: str) -> str:
    """A function of buffers around one `linalg.generic`."""
    names, types = zip(*(operand.split(": ") for operand in operands.split("; ")), strict=True)
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
    block = ", ".join(f"%{letter}: f32" for letter in "xyz"[: len(names)])
    inputs = len(names) - 1
    return f"""
    func.func @f({arguments}) {{
      linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
        ins({", ".join(names[:inputs])} : {", ".join(types[:inputs])})
        outs({names[-1]} : {types[-1]}) {{
      ^bb0({block}):
        {body}
        linalg.yield %r : f32
      }}
      return
    }}"""


def ordered(text: str) -> tuple[list[str], list[str], bool]:
    """The maps and the iterators after the pass, and whether it changed anything."""
    module = ir.Module.parse(text)
    report = order_loops.apply(module.operation)
    assert module.operation.verify()
    body = module.body.operations[0].regions[0].blocks[0]
    op = next(op for op in body.operations if op.operation.name == "linalg.generic")
    maps = [
        str(ir.AffineMapAttr(one).value) for one in ir.ArrayAttr(op.attributes["indexing_maps"])
    ]
    kinds = [str(one) for one in ir.ArrayAttr(op.attributes["iterator_types"])]
    return maps, [kind.partition("<")[2].rstrip(">") for kind in kinds], bool(report)


MATMUL = (
    "affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, "
    "affine_map<(m, n, k) -> (m, n)>",
    '"parallel", "parallel", "reduction"',
)
MULTIPLY_ADD = "%p = arith.mulf %x, %y : f32\n%r = arith.addf %z, %p : f32"


def test_open_sizes_are_taken_for_long() -> None:
    operands = "%a: memref<?x?xf32>; %b: memref<?x?xf32>; %c: memref<?x?xf32>"
    assert ordered(generic(*MATMUL, operands, MULTIPLY_ADD))[2]


def test_short_rows_are_better_than_steps_across_them() -> None:
    operands = "%a: memref<8x9xf32>; %b: memref<9xNxf32>; %c: memref<8xNxf32>"
    for size in (SHORTEST, SHORT - 1):
        maps, kinds, is_changed = ordered(
            generic(*MATMUL, operands.replace("N", str(size)), MULTIPLY_ADD)
        )
        assert is_changed
        assert kinds == ["parallel", "reduction", "parallel"]
        assert maps[-1] == "(d0, d1, d2) -> (d0, d2)"


@pytest.mark.parametrize(
    ("why", "text"),
    [
        (
            "the reduction is what is contiguous",
            generic(
                *MATMUL,
                "%a: memref<8x9xf32>; %b: memref<9x7xf32, strided<[1, 9]>>; %c: memref<8x7xf32>",
                MULTIPLY_ADD,
            ).replace("memref<8x7xf32>", "memref<8x7xf32, strided<[1, 8]>>"),
        ),
        (
            "the loop is too short",
            generic(
                *MATMUL,
                "%a: memref<8x9xf32>; %b: memref<9xNxf32>; %c: memref<8xNxf32>".replace(
                    "N", str(SHORTEST - 1)
                ),
                MULTIPLY_ADD,
            ),
        ),
        (
            "several rounds write one element",
            generic(
                "affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j)>",
                '"parallel", "parallel"',
                "%a: memref<8x9xf32>; %c: memref<8xf32>",
                "%r = arith.negf %x : f32",
            ),
        ),
        (
            "the body writes elsewhere",
            generic(
                *MATMUL,
                "%a: memref<8x9xf32>; %b: memref<9x7xf32>; %c: memref<8x7xf32>",
                f"%i = arith.constant 0 : index\nmemref.store %x, %a[%i, %i] : memref<8x9xf32>\n"
                f"{MULTIPLY_ADD}",
            ),
        ),
    ],
)
def test_the_order_stays_where(why: str, text: str) -> None:
    before = ir.Module.parse(text)
    after = ir.Module.parse(text)
    assert not order_loops.apply(after.operation), why
    assert str(after) == str(before)


def test_the_order_stays_where_the_output_is_read_elsewhere() -> None:
    text = """
    func.func @f(%c: memref<8x8xf32>) {
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j, i)>,
                                       affine_map<(i, j) -> (i, j)>],
                      iterator_types = ["parallel", "parallel"]}
        ins(%c, %c : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>) {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %r = arith.addf %x, %y : f32
        linalg.yield %r : f32
      }
      return
    }"""
    assert not ordered(text)[2]


def integers(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 7 - 3


def test_products_keep_their_order() -> None:
    """Products round at every step: another order of the same numbers shows. Sums go in blocks."""
    random = np.random.default_rng(0)
    a = random.uniform(0.9, 1.1, (5, 300)).astype(np.float32)
    b = random.uniform(0.9, 1.1, (300, 6)).astype(np.float32)
    result = run(
        """func.func @f(%a: tensor<5x300xf32>, %b: tensor<300x6xf32>) -> tensor<5x6xf32> {
          %z = arith.constant dense<1.0> : tensor<5x6xf32>
          %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                                affine_map<(m, n, k) -> (k, n)>,
                                                affine_map<(m, n, k) -> (m, n)>],
                               iterator_types = ["parallel", "parallel", "reduction"]}
            ins(%a, %b : tensor<5x300xf32>, tensor<300x6xf32>) outs(%z : tensor<5x6xf32>) {
          ^bb0(%x: f32, %y: f32, %o: f32):
            %p = arith.mulf %x, %y : f32
            %q = math.absf %p : f32
            %s = arith.mulf %o, %q : f32
            linalg.yield %s : f32
          } -> tensor<5x6xf32>
          return %0 : tensor<5x6xf32>
        }""",
        a,
        b,
    )
    expected = np.ones((5, 6), np.float32)
    for k in range(300):
        expected *= np.abs(a[:, k : k + 1] * b[k : k + 1])
    np.testing.assert_array_equal(result, expected)


def test_convolution_walks_along_rows() -> None:
    image, kernel = integers(1, 3, 8, 9), integers(4, 3, 2, 2)
    result = run(
        """func.func @f(%i: tensor<1x3x8x9xf32>, %k: tensor<4x3x2x2xf32>) -> tensor<1x4x7x8xf32> {
          %z = arith.constant dense<0.0> : tensor<1x4x7x8xf32>
          %0 = linalg.conv_2d_nchw_fchw
                 ins(%i, %k : tensor<1x3x8x9xf32>, tensor<4x3x2x2xf32>)
                 outs(%z : tensor<1x4x7x8xf32>) -> tensor<1x4x7x8xf32>
          return %0 : tensor<1x4x7x8xf32>
        }""",
        image,
        kernel,
    )
    windows = np.lib.stride_tricks.sliding_window_view(image, (2, 2), axis=(2, 3))
    np.testing.assert_array_equal(result, np.einsum("nchwyx,fcyx->nfhw", windows, kernel))


def test_indices_follow_their_loops() -> None:
    """`linalg.index` names a dimension by its number, which changes."""
    a = integers(5, 6)
    result = run(
        """func.func @f(%a: tensor<5x6xf32>) -> tensor<6x5xf32> {
          %e = tensor.empty() : tensor<6x5xf32>
          %0 = linalg.generic {
              indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
              iterator_types = ["parallel", "parallel"]}
            ins(%a : tensor<5x6xf32>) outs(%e : tensor<6x5xf32>) {
          ^bb0(%x: f32, %o: f32):
            %i = linalg.index 0 : index
            %n = arith.index_cast %i : index to i32
            %v = arith.sitofp %n : i32 to f32
            %s = arith.addf %x, %v : f32
            linalg.yield %s : f32
          } -> tensor<6x5xf32>
          %1 = linalg.generic {
              indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j, i)>],
              iterator_types = ["parallel", "parallel"]}
            ins(%0 : tensor<6x5xf32>) outs(%e : tensor<6x5xf32>) {
          ^bb0(%x: f32, %o: f32):
            %i = linalg.index 1 : index
            %j = linalg.index 0 : index
            %d = arith.subi %i, %j : index
            %n = arith.index_cast %d : index to i32
            %v = arith.sitofp %n : i32 to f32
            %s = arith.addf %x, %v : f32
            linalg.yield %s : f32
          } -> tensor<6x5xf32>
          return %1 : tensor<6x5xf32>
        }""",
        a,
    )
    rows, columns = np.indices((6, 5))
    np.testing.assert_array_equal(result, a.T + rows + rows - columns)
