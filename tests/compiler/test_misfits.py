"""Sizes that do not fit are errors that name the op, its sizes and its place, before it runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from isolated_kernels import isolated
from linalg_ext.errors import ExecutionError
from linalg_ext.executable.worker_process import IsolatedKernel

Shape = tuple[int, ...]


def _tensor(rank: int) -> str:
    return f"tensor<{'?x' * rank}f32>"


def _named(op: str, *ranks: int, attributes: str = "") -> str:
    """A named op on tensors of open sizes; the last one is what it writes to."""
    types = [_tensor(rank) for rank in ranks]
    given = ", ".join(f"%a{at}: {type_}" for at, type_ in enumerate(types))
    values = ", ".join(f"%a{at}" for at in range(len(types) - 1))
    return f"""
    func.func @f({given}) -> {types[-1]} {{
      %r = linalg.{op} {attributes} ins({values} : {", ".join(types[:-1])})
        outs(%a{len(types) - 1} : {types[-1]}) -> {types[-1]}
      return %r : {types[-1]}
    }}"""


def _into_empty(head: str, body: str, result: str) -> str:
    return f"func.func @f({head}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"


PACK = _into_empty(
    "%a: tensor<?x?xf32>, %n: index",
    """%e = tensor.empty(%n) : tensor<?x2x2x3xf32>
    %r = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %e
      : tensor<?x?xf32> -> tensor<?x2x2x3xf32>""",
    "tensor<?x2x2x3xf32>",
)
PACK_BY_OPEN_TILES = _into_empty(
    "%a: tensor<?x?xf32>, %n: index",
    """%c2 = arith.constant 2 : index
    %e = tensor.empty(%c2, %n) : tensor<?x2x?x3xf32>
    %r = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [%n, 3] into %e
      : tensor<?x?xf32> -> tensor<?x2x?x3xf32>""",
    "tensor<?x2x?x3xf32>",
)
UNPACK = _into_empty(
    "%p: tensor<?x?x2x3xf32>, %n: index",
    """%e = tensor.empty(%n, %n) : tensor<?x?xf32>
    %r = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %e
      : tensor<?x?x2x3xf32> -> tensor<?x?xf32>""",
    "tensor<?x?xf32>",
)
SOFTMAX = """
func.func @f(%a: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.softmax dimension(1) ins(%a : tensor<?x?xf32>) outs(%o : tensor<?x?xf32>)
    -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}"""
EXPAND = _into_empty(
    "%a: tensor<?xf32>, %n: index, %m: index",
    "%r = tensor.expand_shape %a [[0, 1]] output_shape [%n, %m]"
    " : tensor<?xf32> into tensor<?x?xf32>",
    "tensor<?x?xf32>",
)
EXPAND_BY_FOUR = _into_empty(
    "%a: tensor<?xf32>, %n: index",
    "%r = tensor.expand_shape %a [[0, 1]] output_shape [%n, 4]"
    " : tensor<?xf32> into tensor<?x4xf32>",
    "tensor<?x4xf32>",
)
CONCAT = _into_empty(
    "%a: tensor<?x?xf32>, %b: tensor<?x?xf32>",
    "%r = tensor.concat dim(0) %a, %b : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>",
    "tensor<?x?xf32>",
)
PAD = _into_empty(
    "%a: tensor<?xf32>, %low: index",
    """%x = arith.constant 1.0 : f32
    %r = tensor.pad %a low[%low] high[0] {
    ^bb0(%i: index):
      tensor.yield %x : f32
    } : tensor<?xf32> to tensor<8xf32>""",
    "tensor<8xf32>",
)
ADD = _into_empty(
    "%a: tensor<?x3xf32>, %b: tensor<?x3xf32>",
    "%r = arith.addf %a, %b : tensor<?x3xf32>",
    "tensor<?x3xf32>",
)
EMPTY = _into_empty(
    "%n: index, %m: index",
    """%x = arith.constant 1.0 : f32
    %e = tensor.empty(%n, %m) : tensor<?x?xf32>
    %r = linalg.fill ins(%x : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>""",
    "tensor<?x?xf32>",
)
GENERATE = _into_empty(
    "%n: index",
    """%r = tensor.generate %n {
    ^bb0(%i: index):
      %x = arith.constant 1.0 : f32
      tensor.yield %x : f32
    } : tensor<?xf32>""",
    "tensor<?xf32>",
)
RESHAPE = _into_empty(
    "%a: tensor<?xf32>, %n: index, %m: index",
    """%s = tensor.from_elements %n, %m : tensor<2xindex>
    %r = tensor.reshape %a(%s) : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>""",
    "tensor<?x?xf32>",
)
RESHAPE_TO_FOUR = _into_empty(
    "%a: tensor<?xf32>, %n: index",
    """%s = tensor.from_elements %n : tensor<1xindex>
    %r = tensor.reshape %a(%s) : (tensor<?xf32>, tensor<1xindex>) -> tensor<4xf32>""",
    "tensor<4xf32>",
)
CLONE = """
func.func @f(%a: memref<?xf32>) -> f32 {
  %c3 = arith.constant 3 : index
  %b = bufferization.clone %a : memref<?xf32> to memref<4xf32>
  %r = memref.load %b[%c3] : memref<4xf32>
  return %r : f32
}"""
COPY = """
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>) {
  memref.copy %a, %b : memref<?x?xf32> to memref<?x?xf32>
  return
}"""
SCATTER = _into_empty(
    "%s: tensor<?x1x?xf32>, %a: tensor<?x?xf32>, %i: tensor<?x1xindex>",
    "%r = tensor.scatter %s into %a[%i] scatter_dims([0]) unique"
    " : (tensor<?x1x?xf32>, tensor<?x?xf32>, tensor<?x1xindex>) -> tensor<?x?xf32>",
    "tensor<?x?xf32>",
)
# What makes the slice writes where it is put.
PUT = """
func.func @f(%x: f32, %n: index, %y: tensor<?xf32>) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.fill ins(%x : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = tensor.insert_slice %s into %y[0] [%n] [1] : tensor<?xf32> into tensor<?xf32>
  return %r : tensor<?xf32>
}"""
REMAINDERS = """
func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i mod 4)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}"""
BACKWARDS = REMAINDERS.replace("i mod 4", "-i + 3")

NOT_FITTING: dict[str, tuple[str, Sequence[Sequence[Shape | int]], str]] = {
    "matmul": (
        _named("matmul", 2, 2, 2),
        [((4, 0), (0, 4), (0, 0)), ((2, 7), (2, 0), (2, 7)), ((0, 3), (3, 4), (1, 4))],
        "linalg.matmul: dimension #",
    ),
    "batch_matmul": (
        _named("batch_matmul", 3, 3, 3),
        [((2, 4, 0), (2, 0, 4), (2, 0, 0)), ((0, 2, 7), (3, 7, 2), (0, 2, 2))],
        "linalg.batch_matmul: dimension #",
    ),
    "matvec": (
        _named("matvec", 2, 1, 1),
        [((0, 33), (7,), (33,)), ((33, 0), (0,), (0,))],
        "linalg.matvec: dimension #",
    ),
    "vecmat": (_named("vecmat", 1, 2, 1), [((0,), (0, 4), (5,))], "linalg.vecmat: dimension #"),
    "batch_reduce_matmul": (
        _named("batch_reduce_matmul", 3, 3, 2),
        [((0, 2, 3), (0, 3, 4), (2, 5)), ((2, 0, 3), (1, 3, 0), (0, 0))],
        "linalg.batch_reduce_matmul: dimension #",
    ),
    "mmt4d": (
        _named("mmt4d", 4, 4, 4),
        [((2, 0, 4, 1), (3, 0, 5, 1), (2, 3, 4, 6)), ((2, 2, 4, 1), (3, 0, 5, 1), (2, 3, 4, 5))],
        "linalg.mmt4d: dimension #",
    ),
    "conv_1d": (
        _named("conv_1d", 1, 1, 1),
        [((5,), (3,), (4,)), ((0,), (1,), (1,)), ((2,), (4,), (1,))],
        "linalg.conv_1d: dimension #0 of input/output operand #0",
    ),
    "conv_2d_nhwc_hwcf": (
        _named(
            "conv_2d_nhwc_hwcf",
            *(4, 4, 4),
            attributes="{strides = dense<2> : tensor<2xi64>, dilations = dense<3> : tensor<2xi64>}",
        ),
        [
            ((1, 7, 7, 2), (2, 2, 2, 3), (1, 3, 2, 3)),
            ((0, 7, 7, 2), (2, 2, 2, 3), (1, 2, 2, 3)),
            ((1, 7, 7, 0), (2, 2, 0, 3), (1, 2, 2, 0)),
        ],
        "linalg.conv_2d_nhwc_hwcf: dimension #",
    ),
    "pooling": (
        _named("pooling_nhwc_sum", 4, 2, 4),
        [((1, 8, 8, 1), (3, 8), (1, 1, 1, 0)), ((1, 8, 3, 1), (3, 8), (1, 1, 1, 1))],
        "linalg.pooling_nhwc_sum: dimension #",
    ),
    "remainders": (REMAINDERS, [((3,), (4,)), ((0,), (1,)), ((3,), (9,))], "the index d0 mod 4"),
    "backwards": (BACKWARDS, [((4,), (5,)), ((3,), (4,))], "linalg.generic: dimension #0"),
    "pack": (PACK, [((100, 6), 2), ((8, 6), 2), ((4, 5), 2), ((4, 6), -1)], "linalg.pack|empty"),
    "pack by open tiles": (PACK_BY_OPEN_TILES, [((4, 6), 0), ((4, 6), 3)], "linalg.pack"),
    "unpack": (UNPACK, [((1, 1, 2, 3), 40), ((0, 1, 2, 3), 1)], "linalg.unpack: .*too few tiles"),
    "softmax": (SOFTMAX, [((8, 8), (8, 3)), ((3, 0), (3, 4)), ((3, 4), (3, 0))], "linalg.softmax"),
    "expand": (
        EXPAND,
        [((16,), 100, 1), ((2,), 1, 1), ((8,), -2, -4), ((0,), 1 << 32, 1 << 32)],
        "tensor.expand_shape: ",
    ),
    "expand by four": (EXPAND_BY_FOUR, [((8,), 1), ((8,), 3)], "tensor.expand_shape: "),
    "concat": (
        CONCAT,
        [((33, 16), (33, 5)), ((33, 5), (33, 16)), ((0, 5), (33, 16))],
        "tensor.concat: dimension #1 of operand #1",
    ),
    "pad": (PAD, [((33,), 2), ((2,), 0), ((9,), -1)], "tensor.pad: "),
    "add": (
        ADD,
        [((0, 3), (4, 3)), ((4, 3), (0, 3)), ((1, 3), (4, 3))],
        "arith.addf: dimension #0",
    ),
    "empty": (EMPTY, [(-1, 1), (-2, -3), (1 << 32, 1 << 32)], "size is negative|out of memory"),
    "generate": (GENERATE, [(-1,), (1 << 61,)], "size is negative|out of memory"),
    "reshape": (RESHAPE, [((6,), 2, 4), ((6,), -2, -3), ((0,), 1 << 32, 1 << 32)], "reshape: "),
    "reshape to four": (RESHAPE_TO_FOUR, [((5,), 5), ((4,), 5)], "tensor.reshape: "),
    "clone": (CLONE, [((3,),), ((5,),)], "bufferization.clone: dimension #0"),
    "copy": (COPY, [((3, 4), (3, 5)), ((0, 4), (1, 4))], "memref.copy: dimension #"),
    "scatter": (
        SCATTER,
        [((3, 1, 5), (6, 5), (4, 1)), ((4, 1, 5), (6, 4), (4, 1))],
        "tensor.scatter",
    ),
    "what is made where it is put": (PUT, [(1, 9, (8,)), (1, 1 << 20, (1,))], "out-of-bounds"),
}
FITTING: dict[str, Sequence[Sequence[Shape | int]]] = {
    "matmul": [((4, 0), (0, 4), (4, 4)), ((0, 3), (3, 0), (0, 0))],
    "conv_1d": [((5,), (3,), (3,)), ((9,), (3,), (3,)), ((1,), (3,), (0,)), ((3,), (0,), (2,))],
    "pooling": [((1, 8, 8, 1), (0, 8), (1, 1, 1, 1)), ((0, 8, 8, 1), (2, 2), (0, 7, 7, 1))],
    "remainders": [((4,), (9,)), ((2,), (2,)), ((0,), (0,)), ((9,), (5,))],
    "backwards": [((4,), (4,)), ((4,), (2,)), ((0,), (0,))],
    "pack": [((4, 6), 2)],
    "pack by open tiles": [((4, 6), 2)],
    "unpack": [((20, 14, 2, 3), 40), ((9, 9, 2, 3), 1), ((0, 0, 2, 3), 0)],
    "softmax": [((3, 4), (3, 4)), ((0, 4), (0, 4))],
    "expand": [((16,), 4, 4), ((0,), 0, 5), ((0,), 0, 0)],
    "expand by four": [((8,), 2), ((0,), 0)],
    "concat": [((33, 5), (0, 5)), ((0, 0), (3, 0))],
    "pad": [((8,), 0), ((3,), 5), ((0,), 8)],
    "add": [((0, 3), (0, 3)), ((4, 3), (4, 3))],
    "empty": [(0, 3), (2, 3)],
    "reshape": [((6,), 2, 3), ((0,), 0, 7)],
    "scatter": [((1, 1, 5), (6, 5), (1, 1)), ((0, 1, 5), (6, 5), (0, 1))],
    "what is made where it is put": [(1, 8, (8,)), (1, 0, (0,))],
}


def _called(kernel: IsolatedKernel, given: Sequence[Shape | int]) -> object:
    dtypes = [parameter.type.element.dtype for parameter in kernel.signature.parameters]
    arguments = [
        np.zeros(each, dtype) if isinstance(each, tuple) else each
        for each, dtype in zip(given, dtypes, strict=True)
    ]
    return kernel(*arguments)


@pytest.mark.parametrize("case", NOT_FITTING)
def test_what_does_not_fit_is_an_error_before_it_runs(case: str) -> None:
    text, calls, said = NOT_FITTING[case]
    kernel = isolated(text)
    for given in calls:
        with pytest.raises(ExecutionError, match=said) as error:
            _called(kernel, given)
        assert "out of memory" in str(error.value) or 'loc("-":' in str(error.value), given


@pytest.mark.parametrize("case", FITTING)
def test_what_fits_is_never_refused(case: str) -> None:
    kernel = isolated(NOT_FITTING[case][0])
    for given in FITTING[case]:
        _called(kernel, given)
