"""Loops over subsets that cannot be are refused at their line, with the reason."""

from __future__ import annotations

import re
from typing import Any

import pytest

import linalg_ext as lx
from linalg_ext.bindings import arith, ir
from linalg_ext.dialects import gml_st
from linalg_ext.errors import DTypeError, VerificationError
from subset_modules import add, row_sum_loop, subset_module

SUMS = str(subset_module(["tensor<80x60xf32>", "tensor<80xf32>"], row_sum_loop))


def _for(x: ir.Value, y: ir.Value) -> Any:
    with gml_st.for_([0], [8], [4], outs=[y]) as loop:
        tile = gml_st.tile(x, list(loop.ivs), [4])
        gml_st.set_yield([gml_st.materialize(x, tile)], into=loop.outs, at=[tile])
    return loop.results[0]


FOR = str(subset_module(["tensor<8xf32>", "tensor<8xf32>"], _for))


def _points(x: ir.Value, y: ir.Value) -> Any:
    with gml_st.parallel([0], [8], [1]) as loop:
        value = gml_st.materialize(x, gml_st.point(x, list(loop.ivs)))
        gml_st.set_yield([value], into=[y], at=[gml_st.point(y, [])], accumulate=add)
    return loop.results[0]


POINTS = str(subset_module(["tensor<8xf32>", "tensor<f32>"], _points))


def _tiles(x: ir.Value, y: ir.Value) -> Any:
    with gml_st.parallel([0], [8], [4], distribution=["thread"]) as loop:
        tile = gml_st.tile(x, list(loop.ivs), [4])
        gml_st.set_yield([gml_st.materialize(x, tile)], into=[y], at=[tile])
    return loop.results[0]


TILES = str(subset_module(["tensor<8xf32>", "tensor<8xf32>"], _tiles))


def _views(x: ir.Value, y: ir.Value) -> None:
    with gml_st.loop([0, 0], [8, 8], [4, 4], ins=[x], outs=[y]):
        gml_st.yield_()


VIEWS = str(subset_module(["memref<8xf32>", "memref<8xf32>"], _views))

LOOP, ITERATORS = '"gml_st.loop"', 'iterator_types = ["parallel", "reduction"]'
YIELD, SET_YIELD = '"gml_st.yield"', '"gml_st.set_yield"'


@pytest.mark.parametrize(
    ("text", "old", "new", "message", "at"),
    [
        # Iterators.
        (SUMS, ITERATORS, 'iterator_types = ["parallel"]', "size = 1 to match the number of", LOOP),
        (
            SUMS,
            ITERATORS,
            'iterator_types = ["parallel", "window"]',
            "'window' is not an iterator type",
            LOOP,
        ),
        (SUMS, ITERATORS, "iterator_types = 3", "iterator_types = 3 : i64", LOOP),
        (SUMS, ITERATORS, "other = 3", "iterator_types is missing", LOOP),
        (SUMS, ITERATORS, f'{ITERATORS}, distribution = ["thread"]', "1 name for 2 it", LOOP),
        (TILES, '["thread"]', '["thread", "block"]', "2 names for 1 iterator", "parallel"),
        (TILES, '["thread"]', '"thread"', 'expected texts, as in ["parallel"]', "parallel"),
        # Bounds, steps, operands.
        (SUMS, "constant 4 :", "constant 0 :", "the step of iterator 0 is 0", LOOP),
        (SUMS, "constant 4 :", "constant -4 :", "the step of iterator 0 is -4", LOOP),
        (FOR, "constant 4 :", "constant 0 :", "the step of iterator 0 is 0", '"gml_st.for"'),
        (POINTS, "constant 1 :", "constant -1 :", "iterator 0 is -1", '"gml_st.parallel"'),
        (SUMS, "i32: 2, 2, 2, 1, 0,", "i32: 3, 2, 1, 1, 0,", "3 lower bounds, 2 upper", LOOP),
        (SUMS, "i32: 2, 2, 2, 1, 0,", "i32: 2, 2, 2, 0, 1,", "expected ones, then zeros", LOOP),
        (SUMS, "i32: 2, 2, 2, 1, 0,", "i32: 2, 2, 2, 0, 0,", "not count the 8 operands", LOOP),
        (SUMS, "i32: 2, 2, 2, 1, 0,", "i64: 2, 2, 2, 1, 0,", "not count the 8 operands", LOOP),
        # Arguments of the body and results.
        (VIEWS, "%arg3: index", "%arg3: i32", "region arg 1 is of type i32 expected index", LOOP),
        (
            VIEWS,
            "%arg4: memref<8xf32>",
            "%arg4: memref<9xf32>",
            "expected input arg 0 with type = 'memref<8xf32>' to match region arg 2 type",
            LOOP,
        ),
        (
            VIEWS,
            "%arg5: memref<8xf32>",
            "%arg5: memref<9xf32>",
            "expected output arg 0 with type = 'memref<8xf32>' to match region arg 3 type",
            LOOP,
        ),
        (VIEWS, "%arg5: memref", "%z: f32, %arg5: memref", "the body has 5 arguments", LOOP),
        # What ends the body.
        (FOR, SET_YIELD, '"gml_st.yield"', "the body ends in gml_st.yield", '"gml_st.for"'),
        (SUMS, YIELD, '"gml_st.set_yield"', "the body ends in gml_st.set_yield", LOOP),
        # What is yielded to where.
        (FOR, "(%2, %arg3, %1)", "(%2, %arg1, %1)", "expected output block argument 0", SET_YIELD),
        (
            SUMS,
            '"gml_st.tile"(%arg5,',
            '"gml_st.tile"(%arg1,',
            "expected a subset of that argument of the body",
            YIELD,
        ),
        (
            TILES,
            "(%2, %arg1, %1)",
            "(%2, %3, %1)",
            "is made inside the loop",
            SET_YIELD,
        ),
        # Overlapping writes of parallel iterations.
        (
            POINTS.replace("accumulator_flags = array<i1: true>", "accumulator_flags = array<i1>"),
            "array<i1>",
            "array<i1: false>",
            "no value is accumulated",
            SET_YIELD,
        ),
        (TILES, "constant 4 :", "constant 2 :", "longer than the step 2", SET_YIELD),
        (
            SUMS,
            ITERATORS,
            'iterator_types = ["parallel", "parallel"]',
            "set 0 is the same in all 15 iterations of the parallel iterator 1",
            YIELD,
        ),
        (
            TILES,
            "static_strides = array<i64: 1>",
            "static_strides = array<i64: 0>",
            "set 0 has a stride of 0",
            SET_YIELD,
        ),
        # Accumulators.
        (
            POINTS,
            "(%arg3: f32, %arg4: f32)",
            "(%arg3: f64, %arg4: f32)",
            "expected accumulator region to have 2 arguments of type 'f32'",
            SET_YIELD,
        ),
        (POINTS, "array<i1: true>", "array<i1: true, true>", "2 flags for 1 value", SET_YIELD),
        (POINTS, "array<i1: true>", "true", "accumulator_flags = true", SET_YIELD),
    ],
)
def test_a_loop_that_cannot_be_is_refused(
    text: str, old: str, new: str, message: str, at: str
) -> None:
    assert old in text
    mended = text.replace(old, new, 1)
    if "%3, %1)" in new:
        mended = mended.replace(
            SET_YIELD, f"%3 = tensor.empty() : tensor<8xf32>\n      {SET_YIELD}", 1
        )
    if "f64" in new:
        mended = re.sub(r"%(\d) = arith.addf .*", r"%\1 = arith.constant 0.0 : f32", mended)
    with pytest.raises(VerificationError) as caught:
        lx.Module.parse(mended, trusted=True)
    said = str(caught.value)
    assert message in re.sub(r"\s+", " ", said)
    assert at in said


def test_two_values_of_one_accumulator_are_too_many() -> None:
    operands = "(%4) ({\n        }) {operandSegmentSizes = array<i32: 1, 0,"
    assert operands in POINTS
    text = POINTS.replace(operands, operands.replace("(%4)", "(%4, %4)").replace("1, 0,", "1, 1,"))
    text = text.replace(") : (f32) -> ()", ") : (f32, f32) -> ()").replace(
        "} : (f32) -> ()", "} : (f32, f32) -> ()"
    )
    with pytest.raises(VerificationError, match="a single argument for the terminator"):
        lx.Module.parse(text, trusted=True)


def test_parallel_writes_without_an_accumulator_race() -> None:
    start, end = POINTS.index('"gml_st.set_yield"'), POINTS.index("{accumulator_flags")
    text = (
        POINTS[:start]
        + POINTS[start : POINTS.index("({", start)]
        + "({}) "
        + POINTS[end:].replace("accumulator_flags = array<i1: true>, ", "", 1)
    )
    with pytest.raises(VerificationError, match="same in all 8 iterations") as caught:
        lx.Module.parse(text, trusted=True)
    assert "accumulate the values they write" in str(caught.value)


@pytest.mark.parametrize("op", ["yield", "set_yield"])
def test_what_ends_a_loop_ends_nothing_else(op: str) -> None:
    slots = ", ".join(["0"] * (24 if op == "set_yield" else 16))
    text = (
        f'func.func @f() {{ "gml_st.{op}"() ({{}}) '
        f"{{operandSegmentSizes = array<i32: {slots}>}} : () -> () }}"
    )
    with pytest.raises(VerificationError, match=r"the terminator ends a region of func\.func"):
        lx.Module.parse(text, trusted=True)


def test_every_output_gets_a_value() -> None:
    start = SUMS.index("({", SUMS.index(YIELD))
    end = SUMS.index("-> ()", start)
    slots = ", ".join(["0"] * 16)
    text = (
        SUMS[: SUMS.index(YIELD)]
        + f"{YIELD}() ({{}}) {{operandSegmentSizes = array<i32: {slots}>}} : () "
        + SUMS[end:]
    )
    message = "number of tensor output args = 1 to match the number of yield operands = 0"
    with pytest.raises(VerificationError, match=message):
        lx.Module.parse(text, trusted=True)


def test_whole_outputs_have_their_types() -> None:
    def body(x: ir.Value, y: ir.Value) -> Any:
        with gml_st.loop([0], [8], [4], outs=[y]):
            gml_st.yield_([x])

    message = "yield operand 0 with type = 'tensor<4xf32>' to match output arg type = 'tensor<8xf"
    with pytest.raises(DTypeError, match=message):
        subset_module(["tensor<4xf32>", "tensor<8xf32>"], body)


def test_each_result_is_an_output() -> None:
    text = FOR.replace(
        "index, tensor<8xf32>) -> tensor<8xf32>", "index, tensor<8xf32>) -> tensor<9xf32>"
    )
    text = text.replace("return %0", "return %arg0")
    with pytest.raises(VerificationError, match=r"the results are \(tensor<9xf32>\)"):
        lx.Module.parse(text, trusted=True)


def test_a_loop_without_a_body_is_refused() -> None:
    text = SUMS[: SUMS.index("({") + 2] + SUMS[SUMS.index("}) {iterator_types") :]
    with pytest.raises(VerificationError, match="the body is empty"):
        lx.Module.parse(text, trusted=True)


def test_a_body_without_an_end_is_refused() -> None:
    start = SUMS.index('      "gml_st.yield"')
    text = SUMS[:start] + SUMS[SUMS.index("}) {iterator_types") :]
    with pytest.raises(VerificationError, match=r"the body ends in linalg\.reduce"):
        lx.Module.parse(text, trusted=True)


def test_iterations_that_happen_once_may_write_to_one_place() -> None:
    def body(x: ir.Value, y: ir.Value) -> Any:
        with gml_st.parallel([0], [4], [4]) as loop:
            element = arith.ConstantOp(ir.F32Type.get(), 1.0).result
            gml_st.set_yield([element], into=[y], at=[gml_st.point(y, [])])
        return loop.results[0]

    assert subset_module(["tensor<8xf32>", "tensor<f32>"], body)
