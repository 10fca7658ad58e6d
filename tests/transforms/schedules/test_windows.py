"""Windows are vectorized place by place: the numbers stay, by NumPy and by other ways down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import linalg_ext as lx
from linalg_ext.errors import ScheduleError
from linalg_ext.structured import interface
from linalg_ext.transforms.ir_utils.walking import operations
from op_cases import window_case
from rewrite_texts import assert_same_results, function, parsed
from schedule_corpus.subjects import op_of_the_library
from schedule_modules import OPS, TEXTS, module

NAMED = [
    "conv_2d_ngchw_gfchw",
    "conv_3d_ncdhw_fcdhw",
    "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv_3d_ndhwc_dhwc",
    "pooling_nchw_max",
    "pooling_ndhwc_sum",
]
MASKED = [
    "conv_1d_nwc_wcf",
    "conv_2d_nhwc_hwcf",
    "conv_2d_nhwc_fhwc_q",
    "depthwise_conv_1d_ncw_cw",
    "pooling_nhwc_min",
    "pooling_nhwc_max_unsigned",
]


@pytest.mark.parametrize(
    ("name", "more"), [*((name, 0) for name in NAMED), *((name, 1) for name in MASKED)]
)
def test_named_windows_are_what_numpy_makes_of_them(name: str, more: int) -> None:
    """Strided and dilated; masked vectors are longer than the loops."""
    case = window_case(name, "i" if name.endswith(("_q", "_unsigned")) else "f", is_strided=True)
    subject = op_of_the_library(case)
    changed = subject.module()
    op = operations(changed.ir, {f"linalg.{name}", "linalg.generic"})[-1]
    sizes = [(extent or 0) + more for extent in interface(op.operation).static_loop_ranges]
    lx.Schedule(changed).match(position=-1).vectorize(sizes).lower_vectors()
    text = str(changed)
    assert "vector.transfer_read" in text
    assert "linalg.generic" not in text
    assert ("vector.create_mask" in text or "vector.constant_mask" in text) == bool(more)
    result = lx.compile(changed, entry="main")(*(array.copy() for array in subject.inputs))
    np.testing.assert_allclose(result, case.expected[0], rtol=1e-4, atol=1e-5)


def test_a_strided_window_of_floats_of_half_width() -> None:
    """Windows whose places are many, of a dtype that a CPU may lack; the numbers are NumPy's."""
    text = function(
        "%a: tensor<1x13x11x3xf16>, %k: tensor<5x4xf16>, %c: tensor<1x5x4x3xf16>",
        """  %r = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>}
    ins(%a, %k : tensor<1x13x11x3xf16>, tensor<5x4xf16>)
    outs(%c : tensor<1x5x4x3xf16>) -> tensor<1x5x4x3xf16>""",
        "tensor<1x5x4x3xf16>",
    )
    changed = parsed(text)
    lx.Schedule(changed).match("pooling_nhwc_max").vectorize()
    image = np.random.default_rng(0).normal(size=(1, 13, 11, 3)).astype(np.float16)
    before = np.full((1, 5, 4, 3), -9, np.float16)
    found = lx.compile(changed, entry="main")(image, np.zeros((5, 4), np.float16), before)
    windows = sliding_window_view(image, (5, 4), (1, 2))[:, ::2, ::2]
    np.testing.assert_array_equal(found, windows.max((-1, -2)))


CONV = OPS["conv"]
TILED: list[tuple[str, list[int], list[int]]] = [
    ("image", [0, 3, 5], [1, 3, 5, 8, 3, 3, 4]),
    ("channels", [0, 2, 8, 5, 0, 0, 3], [1, 2, 8, 5, 3, 3, 3]),
    ("window", [0, 4, 4, 0, 2, 2], [1, 4, 4, 8, 2, 2, 4]),
    ("larger vectors", [0, 4, 4, 0, 2, 2], [1, 4, 5, 8, 2, 4, 5]),
]


@pytest.mark.parametrize(("tile", "sizes"), [c[1:] for c in TILED], ids=[c[0] for c in TILED])
def test_tiles_at_the_rim_are_masked(tile: list[int], sizes: list[int]) -> None:
    """3 x 3 windows in tiles of 2 x 2: some places are there in the first tiles only."""
    changed = module("conv")
    lx.Schedule(changed).match(CONV).tile(tile).vectorize(sizes)
    assert "linalg." not in str(changed)
    assert ("scf.if" in str(changed)) == (2 in tile[4:])
    assert_same_results(module("conv"), changed)


def test_buffers() -> None:
    changed = module("conv")
    schedule = lx.Schedule(changed).bufferize().match(CONV).tile([0, 3, 8, 0, 2])
    schedule.vectorize([1, 3, 8, 8, 2, 3, 4])
    assert "memref.subview" in str(changed)
    assert "linalg.conv" not in str(changed)
    assert_same_results(module("conv"), changed)


def test_one_place_of_a_result_needs_no_copies() -> None:
    """Then the window itself is a vector."""
    changed = module("conv")
    lx.Schedule(changed).match(CONV).tile([1, 1, 1]).vectorize().lower_vectors()
    once = module("conv")
    lx.Schedule(once).match(CONV).tile([1, 1, 1]).vectorize()
    assert str(once).count("arith.mulf") == 1
    assert_same_results(module("conv"), changed)


def test_sizes_that_only_the_call_knows() -> None:
    text = TEXTS["conv"].replace("1x10x10x4x", "?x?x?x?x").replace("1x8x8x8x", "?x?x?x?x")
    text = text.replace("3x3x4x8x", "?x?x?x?x")
    changed = parsed(text)
    schedule = lx.Schedule(changed).match(CONV).tile([1, 2, 3, 4, 2, 2, 5])
    schedule.vectorize([1, 2, 3, 4, 2, 2, 5])
    rng = np.random.default_rng(0)
    image = rng.integers(-4, 5, (2, 8, 9, 7)).astype(np.float32)
    weights = rng.integers(-4, 5, (3, 1, 7, 5)).astype(np.float32)
    found = lx.compile(changed, entry="main")(image, weights, np.ones((2, 6, 9, 5), np.float32))
    windows = sliding_window_view(image, (3, 1), (1, 2))
    np.testing.assert_array_equal(found, 1 + np.einsum("nyxchw,hwcf->nyxf", windows, weights))


def _generic(
    maps: list[str], kinds: str, shapes: list[str], body: str = "linalg.yield %e0 : f32"
) -> str:
    """A generic of operands %x0, %x1, ..., the last of which is written."""
    names = [f"%x{number}" for number in range(len(shapes))]
    types = [f"tensor<{shape}xf32>" for shape in shapes]
    arguments = ", ".join(map("{}: {}".format, names, types))
    read = f"ins({', '.join(names[:-1])} : {', '.join(types[:-1])})" if names[:-1] else ""
    dims = ", ".join("ijkl"[: len(kinds)])
    listed = ", ".join(f"affine_map<({dims}) -> ({map_})>" for map_ in maps)
    words = {"p": '"parallel"', "r": '"reduction"'}
    return function(
        arguments,
        f"""%r = linalg.generic {{
      indexing_maps = [{listed}], iterator_types = [{", ".join(words[kind] for kind in kinds)}]
    }} {read} outs({names[-1]} : {types[-1]}) {{
    ^bb0({", ".join(f"%e{number}: f32" for number in range(len(names)))}):
      {body}
    }} -> {types[-1]}""",
        types[-1],
    )


_SUM = """%s = arith.addf %e0, %e1 : f32
      linalg.yield %s : f32"""
_WITH_POSITIONS = """%i = linalg.index 0 : index
      %k = linalg.index 2 : index
      %t = arith.muli %i, %k : index
      %u = arith.index_cast %t : index to i32
      %f = arith.sitofp %u : i32 to f32
      %m = arith.mulf %f, %e0 : f32
      %s = arith.addf %m, %e2 : f32
      linalg.yield %s : f32"""

GENERIC = {
    "columns of an image": _generic(["i + k, j", "k", "i, j, k"], "ppp", ["9x5", "3", "7x5x3"]),
    "backwards": _generic(["4 - j", "i, j"], "pp", ["5", "6x5"]),
    "beginning anew": _generic(["i, (j + 2) mod 4", "i, j"], "pp", ["6x4", "6x7"]),
    "each twice": _generic(["i, j floordiv 2", "i, j"], "pp", ["6x4", "6x7"]),
    "diagonal": _generic(["i, i, j", "i, j"], "pp", ["4x4x5", "4x5"]),
    "sum over a diagonal": _generic(["i, j, j", "i"], "pr", ["4x3x3", "4"], _SUM),
    "positions": _generic(["i + j, k", "j", "i, k"], "prp", ["8x5", "3", "6x5"], _WITH_POSITIONS),
}


@pytest.mark.parametrize("text", GENERIC.values(), ids=list(GENERIC))
def test_any_op_that_reads_at_sums_of_its_loops(text: str) -> None:
    for step in (lambda s: s.vectorize(), lambda s: s.unroll_windows()):
        changed = parsed(text)
        step(lx.Schedule(changed).match("generic"))
        assert_same_results(parsed(text), changed)
    assert "tensor.extract_slice" in str(changed)


KEPT = _generic(["i, j, k", "i, 0, k"], "prp", ["?x?x?", "?x1x?"], _SUM)


def test_constants_between_the_dimensions_of_a_masked_result() -> None:
    changed = parsed(KEPT)
    lx.Schedule(changed).match("generic").vectorize([4, 8, 8])
    assert "vector.mask" in str(changed)
    values = np.random.default_rng(0).integers(-9, 9, (3, 5, 7)).astype(np.float32)
    found = lx.compile(changed, entry="main")(values, np.ones((3, 1, 7), np.float32))
    np.testing.assert_array_equal(found, 1 + values.sum(1, keepdims=True))


def test_what_is_left_of_a_window_is_a_product_of_matrices() -> None:
    changed = module("conv")
    schedule = lx.Schedule(changed).match(CONV).unroll_windows()
    assert schedule.taken[-1].report.focus == {"linalg.generic": 9}
    schedule.tile([1, 1]).fold_unit_extents().match("generic").specialize()
    assert set(schedule.taken[-1].report.focus) == {"linalg.matmul"}
    assert_same_results(module("conv"), changed)


def _pool(size: str, result: str = "12x12") -> str:
    image, result = "tensor<1x23x23x2xf32>", f"tensor<1x{result}x2xf32>"
    return function(
        f"%a: {image}, %k: tensor<{size}xf32>, %c: {result}",
        f"""  %r = linalg.pooling_nhwc_sum ins(%a, %k : {image}, tensor<{size}xf32>)
    outs(%c : {result}) -> {result}""",
        result,
    )


_COLUMNS = """func.func @main(%a: memref<8x8xf32, affine_map<(i, j) -> (i * 8 + j mod 4)>>,
    %k: memref<3x3xf32>, %c: memref<6x6xf32>) {
  linalg.conv_2d ins(%a, %k : memref<8x8xf32, affine_map<(i, j) -> (i * 8 + j mod 4)>>,
    memref<3x3xf32>) outs(%c : memref<6x6xf32>)
  return
}"""

REFUSED: list[tuple[str, str, Callable[[lx.Schedule], Any], str]] = [
    (
        "many",
        _pool("12x12"),
        lambda s: s.tile([0, 0, 0, 1]).unroll_windows(),
        r"d1 \+ d4: loop 4 runs 12 times.*at most 128 places.*tile\(",
    ),
    ("unknown", _pool("?x12", "?x12"), lambda s: s.unroll_windows(), r"loop 4 runs \? times"),
    ("none", TEXTS["matmul"], lambda s: s.unroll_windows(), "this linalg.matmul has none"),
    ("layout", _COLUMNS, lambda s: s.vectorize(), "operand 0 is memref.*layout is strides"),
    ("points", TEXTS["conv"], lambda s: s.vectorize(), "18432 iterations at once"),
]


@pytest.mark.parametrize(
    ("text", "step", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_refusals(text: str, step: Callable[[lx.Schedule], Any], message: str) -> None:
    changed = parsed(text)
    with pytest.raises(ScheduleError, match=f"(?s){message}"):
        step(lx.Schedule(changed).match(position=-1))
    assert "vector." not in str(changed)


def test_loops_run_over_more_places_than_are_unrolled() -> None:
    changed = parsed(_pool("12x12"))
    lx.Schedule(changed).match("pooling_nhwc_sum").vectorize()
    assert str(changed).count("scf.for") == 2
    assert str(changed).count("arith.addf") == 1
    assert_same_results(parsed(_pool("12x12")), changed)


_ARGUMENT_OF_MAXIMUM = """%m = arith.cmpf ogt, %e0, %e1 : f32
      %v = arith.select %m, %e0, %e1 : f32
      %k = linalg.index 1 : index
      %l = affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%k)
      %t = arith.index_cast %l : index to i32
      %f = arith.sitofp %t : i32 to f32
      %n = arith.select %m, %f, %e2 : f32
      linalg.yield %v, %n : f32, f32"""


def _first_maxima(shape: str, kept: str) -> str:
    """The maxima of rows, and one more than twice the place where each is first."""
    types = f"tensor<{kept}xf32>, tensor<{kept}xf32>"
    return function(
        f"%a: tensor<{shape}xf32>, %c: tensor<{kept}xf32>, %d: tensor<{kept}xf32>",
        f"""%v, %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]
    }} ins(%a : tensor<{shape}xf32>) outs(%c, %d : {types}) {{
    ^bb0(%e0: f32, %e1: f32, %e2: f32):
      {_ARGUMENT_OF_MAXIMUM}
    }} -> ({types})""",
        f"tensor<{kept}xf32>",
    )


@pytest.mark.parametrize(("shape", "sizes"), [("7x300", []), ("7x300", [8, 300]), ("?x?", [16, 4])])
@pytest.mark.parametrize("on_buffers", [False, True])
def test_reductions_by_more_than_one_op(shape: str, sizes: list[int], on_buffers: bool) -> None:
    """Vectors are along the parallel loops, and the terms are taken one after another."""
    changed = parsed(_first_maxima(shape, shape.partition("x")[0]))
    schedule = lx.Schedule(changed)
    if on_buffers:
        schedule.bufferize()
    schedule.match("generic").vectorize(sizes)
    assert "linalg.generic" not in str(changed)
    values = np.random.default_rng(0).integers(-9, 9, (7, 300)).astype(np.float32)
    start = np.full(7, -99, np.float32)
    found = lx.compile(changed, entry="main")(values, start, start.copy())
    np.testing.assert_array_equal(found, 2 * values.argmax(1) + 1)


def test_a_pooling_by_a_longer_body() -> None:
    """Windows and a reduction that no op is for."""
    body = """%q = arith.mulf %e0, %e2 : f32
      %s = arith.subf %e0, %q : f32
      linalg.yield %s : f32"""
    text = _generic(["2 * i + j, l + k", "j, k", "i, l"], "prrp", ["9x9", "2x3", "4x7"], body)
    changed = parsed(text)
    lx.Schedule(changed).match("generic").vectorize()
    assert str(changed).count("scf.for") == 2
    arguments = [np.random.default_rng(0).normal(size=s) for s in ((9, 9), (2, 3), (4, 7))]
    image, _, result = (each.astype(np.float32) for each in arguments)
    found = lx.compile(changed, entry="main")(image, np.zeros((2, 3), np.float32), result.copy())
    for row in range(2):
        for column in range(3):
            element = image[row : row + 8 : 2, column : column + 7]
            result = element - element * result
    np.testing.assert_allclose(found, result, rtol=1e-5, atol=1e-5)
