"""The dialect `gml_st`: built, printed, read again, and refused where it is built wrongly."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

import linalg_ext as lx
from linalg_ext.bindings import arith, ir, memref, passmanager
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.op_views import LoopView, MaterializeView, TileView
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, LinalgExtError, ShapeError
from linalg_ext.ir.context import new_context
from linalg_ext.structured.operands import producer
from subset_modules import add, row_sum_loop, subset_module

TYPES = ["tensor<8x?xf32>", "tensor<8xf32>", "memref<8x6xf32>", "index"]


NOT_A_VALUE: Any = 3
HALF: Any = 0.5


def made_by(value: ir.Value) -> ir.Operation:
    op = producer(value)
    assert op is not None
    return op


def every_op(x: ir.Value, y: ir.Value, m: ir.Value, i: ir.Value) -> Any:
    space = gml_st.space([8, i])
    tile = gml_st.tile(gml_st.full(x), [i, 0], [2, i], [1, i])
    inner = gml_st.tile(tile, [0, 0], [1, 1])
    indices = arith.ConstantOp.create_index(1)
    rows: Any = ir.Attribute.parse("dense<[[0, 1], [2, 3]]> : tensor<2x2xindex>")
    where = arith.ConstantOp(rows.type, rows).result
    some = gml_st.materialize(x, gml_st.filter(x, where))
    view = gml_st.materialize(m, gml_st.tile(m, [1, 2], [3, 2], [2, 1]))
    assert str(view.type) == "memref<3x2xf32, strided<[12, 1], offset: ?>>"
    column = gml_st.drop_dims(gml_st.transpose_dims(tile, [1, 0]), [1])
    questions = [
        *(ask(inner, 0) for ask in (gml_st.offset, gml_st.size, gml_st.stride)),
        gml_st.offset(inner, indices),
    ]
    boxes = [gml_st.intersection(tile, inner), gml_st.convex_union(tile, inner)]
    boxes += gml_st.difference(tile, space)
    answers = [gml_st.contains(tile, gml_st.point(x, [i, 0])), gml_st.is_empty(boxes[0])]
    part = gml_st.materialize(y, column)
    with gml_st.loop([0], [8], [1], ins=[x], outs=[y, m], distribution=["thread"]) as loop:
        here = gml_st.point(loop.outs[0], list(loop.ivs))
        element = gml_st.materialize(loop.outs[0], here)
        gml_st.yield_([element], to=[here], accumulate=add)
    with gml_st.for_([0], [8], [2], outs=loop.results) as second:
        rest = gml_st.tile(second.outs[0], list(second.ivs), [2])
        gml_st.set_yield([gml_st.materialize(second.outs[0], rest)], into=second.outs, at=[rest])
    with gml_st.parallel([0, 0], [8, i], [1, 1]) as third:
        there = gml_st.point(x, list(third.ivs))
        value = gml_st.materialize(x, there)
        gml_st.set_yield(
            [value, value],
            into=[x, second.results[0]],
            at=[there, gml_st.point(y, [third.ivs[0]])],
            accumulate=[None, add],
        )
    return (some, part, *questions, *answers, *third.results)


def test_every_op_reads_back_byte_for_byte() -> None:
    module = subset_module(TYPES, every_op)
    text = str(module)
    built = set(re.findall(r'"gml_st\.(\w+)"', text))
    dialect: Any = gml_st.GmlSt
    classes = {op.OPERATION_NAME.partition(".")[2] for op in dialect.operations}
    assert built == classes
    again = lx.parse(text)
    assert str(again) == text
    assert str(again.successor(again.bytecode())) == text


def test_sets_that_nobody_uses_are_dropped_and_equal_ones_are_one() -> None:
    def body(x: ir.Value, i: ir.Value) -> Any:
        gml_st.space([i])
        tiles = [gml_st.tile(x, [i], [2]) for _ in range(2)]
        return [gml_st.materialize(x, tile) for tile in tiles]

    module = subset_module(["tensor<8xf32>", "index"], body)
    passmanager.PassManager.parse("builtin.module(canonicalize,cse)", module.context).run(
        module.ir.operation
    )
    text = str(module)
    assert "gml_st.space" not in text
    assert text.count('"gml_st.tile"') == text.count('"gml_st.materialize"') == 1


def test_memory_is_read_after_what_was_written_to_it() -> None:
    def body(m: ir.Value) -> Any:
        point = gml_st.point(m, [0])
        before = gml_st.materialize(m, point)
        memref.StoreOp(add(before, before), m, [arith.ConstantOp.create_index(0).result])
        return before, gml_st.materialize(m, point)

    module = subset_module(["memref<8xf32>"], body)
    passmanager.PassManager.parse("builtin.module(cse)", module.context).run(module.ir.operation)
    assert str(module).count('"gml_st.materialize"') == 2


def test_views_name_what_ops_hold() -> None:
    module = subset_module(["tensor<80x60xf32>", "tensor<80xf32>"], row_sum_loop)
    (entry,) = module.ir.body.operations
    ops = [op.operation for op in entry.operation.regions[0].blocks[0].operations]
    loop = LoopView.of(next(op for op in ops if op.name == "gml_st.loop"))
    arguments = list(entry.operation.regions[0].blocks[0].arguments)
    assert list(loop.ins) == arguments[:1]
    assert list(loop.outs) == arguments[1:]
    assert loop.iterator_types == ("parallel", "reduction")
    assert [str(value.type) for value in loop.region_ins] == ["tensor<80x60xf32>"]
    (value,), (subset,) = loop.terminator.sources, loop.terminator.sets
    assert made_by(value).name == "linalg.reduce"
    tile = TileView.of(made_by(subset))
    assert tile.superset == loop.region_outs[0]
    assert (tile.offsets, tile.sizes, tile.strides) == ((loop.ivs[0],), (4,), (1,))
    assert loop.terminator.accumulators == (None,)


def test_views_tell_what_is_accumulated() -> None:
    module = subset_module(TYPES, every_op)
    (entry,) = module.ir.body.operations
    ops = [op.operation for op in entry.operation.regions[0].blocks[0].operations]
    by_name = {op.name: op for op in ops}
    (accumulator,) = LoopView.of(by_name["gml_st.loop"]).terminator.accumulators
    assert accumulator is not None
    assert made_by(accumulator.combined).operands[0] == accumulator.new
    assert LoopView.of(by_name["gml_st.for"]).terminator.accumulated == (False,)
    parallel = LoopView.of(by_name["gml_st.parallel"])
    assert parallel.terminator.accumulated == (False, True)
    first, second = parallel.terminator.accumulators
    assert first is None
    assert second is not None
    assert MaterializeView.of(made_by(parallel.terminator.sources[0])).source.type == (
        parallel.terminator.destinations[0].type
    )


def _loop(**given: Any) -> Any:
    with gml_st.loop([0], [8], [1], **given) as loop:
        gml_st.yield_(loop.outs)


def _parallel(x: ir.Value, y: ir.Value) -> Any:
    with gml_st.parallel([0], [8], [1]):
        gml_st.set_yield([x], into=[y], at=[gml_st.full(y)])


def _for_into_what_is_outside(x: ir.Value, y: ir.Value) -> Any:
    with gml_st.for_([0], [8], [1], outs=[y]):
        gml_st.set_yield([y], into=[y], at=[gml_st.full(y)])


def _at_no_set(x: ir.Value, y: ir.Value) -> Any:
    with gml_st.parallel([0], [8], [1]):
        gml_st.set_yield([y], into=[y], at=[])


def _combined_by_no_function(x: ir.Value, y: ir.Value) -> Any:
    with gml_st.parallel([0], [8], [1]):
        gml_st.set_yield([y], into=[y], at=[gml_st.full(y)], accumulate=NOT_A_VALUE)


def _empty(x: ir.Value, y: ir.Value) -> Any:
    with gml_st.parallel([0], [8], [1]):
        pass


def _behind_the_end(x: ir.Value, y: ir.Value) -> Any:
    with gml_st.parallel([0], [8], [1]):
        gml_st.set_yield([y], into=[y], at=[gml_st.full(y)])
        gml_st.full(x)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda x, y: gml_st.tile(x, [0], [4, 4]), ArityError, r"gml_st\.tile: expected 2 offset"),
        (lambda x, y: gml_st.tile(x, NOT_A_VALUE, [4, 4]), LinalgExtError, "tile: 3 is not a list"),
        (lambda x, y: gml_st.tile(x, [0, 0], [4, HALF]), LinalgExtError, "number 1 is 0.5"),
        (lambda x, y: gml_st.tile(x, [0, y], [4, 4]), LinalgExtError, "number 1 is of type tensor"),
        (lambda x, y: gml_st.tile(x, [0, 0], [9, 4]), ArgumentError, "out of bounds"),
        (lambda x, y: gml_st.tile(NOT_A_VALUE, [0], [1]), DTypeError, "tile: operand 0 is 3"),
        (lambda x, y: gml_st.tile(x, [0, 1 << 63], [4, 4]), ArgumentError, "number of 64 bits"),
        (
            lambda x, y: gml_st.drop_dims(x, NOT_A_VALUE),
            LinalgExtError,
            "drop_dims: 3 is not a list",
        ),
        (lambda x, y: gml_st.point(x, [8, 0]), ArgumentError, "between 0 and 7"),
        (lambda x, y: gml_st.space([-1]), ArgumentError, "size = -1 to be non-negative"),
        (lambda x, y: gml_st.drop_dims(gml_st.full(x), [2]), ArgumentError, "outside of range"),
        (lambda x, y: gml_st.transpose_dims(gml_st.full(x), [1]), ArgumentError, "permutation"),
        (lambda x, y: gml_st.offset(gml_st.full(x), 2), ArgumentError, "dimension 2"),
        (
            lambda x, y: gml_st.intersection(gml_st.full(x), gml_st.full(y)),
            ShapeError,
            "of rank 2 and 1",
        ),
        (lambda x, y: gml_st.materialize(y, gml_st.full(x)), ShapeError, "the set is of rank 2"),
        (lambda x, y: gml_st.filter(x, y), DTypeError, "expected a tensor of indices"),
        (
            lambda x, y: _loop(outs=[y], iterators=["window"]),
            ArgumentError,
            "'window' is not an iterator type",
        ),
        (
            lambda x, y: _loop(outs=[y], iterators="parallel"),
            LinalgExtError,
            "is not a list of texts",
        ),
        (lambda x, y: _loop(outs=y), LinalgExtError, "is not a list"),
        (lambda x, y: _loop(outs=[y] * 9), ArityError, "9 values\n  expected 8 at most"),
        (lambda x, y: _loop(ins=[x] * 17), ArityError, "17 values\n  expected 16 at most"),
        (_parallel, DTypeError, r"gml_st\.set_yield: value 0 is of type tensor<8x\?xf32>"),
        (_for_into_what_is_outside, ArgumentError, "expected output block argument 0"),
        (_empty, ArgumentError, "the body is empty"),
        (_behind_the_end, ArgumentError, "an op is built behind the yield that ends its body"),
        (_at_no_set, ArityError, r"gml_st\.set_yield: 1 source.* at 0 set"),
        (_combined_by_no_function, LinalgExtError, "accumulate: 3 is not a function"),
    ],
)
def test_a_builder_refuses_and_leaves_nothing(
    wrong: Callable[..., Any], error: type[Exception], message: str
) -> None:
    def body(x: ir.Value, y: ir.Value) -> None:
        with pytest.raises(error, match=message):
            wrong(x, y)

    text = str(subset_module(["tensor<8x?xf32>", "tensor<8xf32>"], body))
    assert set(re.findall(r'"gml_st\.\w+"', text)) <= {'"gml_st.full"'}


def test_texts_with_mistakes_end_in_errors_of_ours() -> None:
    text = str(subset_module(TYPES, every_op))
    words = re.split(r"(\W+)", text)
    choose = random.Random(5)
    context = new_context()
    said: list[str] = []
    for _ in range(150):
        changed = list(words)
        for _ in range(choose.randint(1, 2)):
            at = choose.randrange(len(words))
            changed[at] = choose.choice(["", choose.choice(words), "0", "-1", "tensor<?xf32>"])
        try:
            lx.Module.parse("".join(changed), trusted=True, context=context)
        except LinalgExtError as error:
            said.append(str(error))
    assert len(said) > 100
    # So is a text refused for which a verifier raised what it must not.
    assert not [each for each in said if "MLIR's parser rejects the text" in each]
