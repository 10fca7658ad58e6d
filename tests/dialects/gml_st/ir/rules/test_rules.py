"""Rules beside brute force: which elements a part reads, and what the op on the part gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir, tensor
from linalg_ext.dialects.gml_st.rules import Rule, Unserved, rule_of
from linalg_ext.module import Module
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.structured.operands import producer
from linalg_ext.structured.sizes import extract_slice
from linalg_ext.symbolic.affine import AffineDim
from linalg_ext.symbolic.index_sets import Point, Tile, indices
from linalg_ext.symbolic.integers import Symbol
from tiled_modules import Array

RNG = np.random.default_rng(3)
A, B = "tensor<8x6xf32>", "tensor<3x2xf32>"


@contextmanager
def last_op(module: Module) -> Iterator[tuple[ir.Operation, Any]]:
    """The op that gives the result of a function, and the return, before which ops are built."""
    block = module.ir.body.operations[0].regions[0].blocks[0]
    done = list(block.operations)[-1].operation
    with module.ir.context, ir.Location.unknown(), ir.InsertionPoint(done):
        op = producer(done.operands[0])
        assert op is not None
        yield op, done


def on_part(text: str, part: Tile, *arrays: Array, element: bool = False) -> tuple[Array, Tile]:
    """What the op on a part of its domain gives, and which part of the result that is."""
    module = Module.parse(text)
    with last_op(module) as (op, done):
        rule = rule_of(op)
        values = _built(rule, op, part, element=element)
        done.operands[0] = values[0]
        main = module.ir.body.operations[0]
        kinds = [argument.type for argument in main.regions[0].blocks[0].arguments]
        signature = ir.FunctionType.get(kinds, [values[0].type])
        main.attributes["function_type"] = ir.TypeAttr.get(signature)
        place = rule.part_of_result(part)
    return lx.compile(module, opt_level=0)(*arrays), place


def _built(rule: Rule, op: ir.Operation, part: Tile, *, element: bool) -> list[ir.Value]:
    if not element:
        return rule.build(part, lambda at, tile: extract_slice(op.operands[at], tile))

    def take(at: int, point: Point) -> ir.Value:
        places = [integer_constant(ir.IndexType.get(), int(str(i))) for i in point.indices]
        value: ir.Value = tensor.ExtractOp(op.operands[at], places).result
        return value

    values = rule.build_element(Point(part.offsets), take)
    assert values is not None
    return values


def program(body: str, result: str, **arguments: str) -> str:
    given = ", ".join(f"%{name}: {type_}" for name, type_ in arguments.items())
    return f"func.func @f({given}) -> {result} {{ {body} return %r : {result} }}"


ZERO = "%z = arith.constant 7.0 : f32 "
PAD = "low[2, 1] high[1, 3] { ^bb0(%i: index, %j: index): tensor.yield %z : f32 }"
SUM = "%k = arith.addi %i, %j : index %v = arith.index_cast %k : index to i32"

CASES: dict[str, tuple[str, list[Tile]]] = {
    "pad": (
        program(f"{ZERO} %r = tensor.pad %a {PAD} : {A} to tensor<11x10xf32>",
                "tensor<11x10xf32>", a=A),
        [Tile((1, 0), (5, 9)), Tile((0, 0), (2, 10)), Tile((10, 7), (1, 3)), Tile((3, 2), (2, 2))],
    ),
    "extract_slice": (
        program(f"%r = tensor.extract_slice %a[1, 2][5, 1][1, 1] : {A} to tensor<5xf32>",
                "tensor<5xf32>", a=A),
        [Tile((1,), (3,)), Tile((0,), (2,), (3,))],
    ),
    "insert_slice": (
        program(f"%r = tensor.insert_slice %b into %a[3, 2][3, 2][1, 1] : {B} into {A}", A,
                a=A, b=B),
        [Tile((1, 1), (4, 2)), Tile((0, 0), (2, 2)), Tile((4, 3), (1, 1)), Tile((0, 0), (8, 6))],
    ),
    "expand_shape": (
        program(f"%r = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 4, 6] : {A} into "
                "tensor<2x4x6xf32>", "tensor<2x4x6xf32>", a=A),
        [Tile((1, 1, 2), (1, 2, 3)), Tile((0, 0, 0), (2, 4, 1))],
    ),
    "collapse_shape": (
        program(f"%r = tensor.collapse_shape %a [[0, 1]] : {A} into tensor<48xf32>",
                "tensor<48xf32>", a=A),
        [Tile((12,), (18,)), Tile((13,), (4,)), Tile((0,), (48,))],
    ),
    "softmax": (
        program(f"%r = linalg.softmax dimension(1) ins(%a : {A}) outs(%a : {A}) -> {A}", A, a=A),
        [Tile((2, 0), (4, 6))],
    ),
    "concat": (
        program(f"%r = tensor.concat dim(1) %a, %c, %a : ({A}, tensor<8x2xf32>, {A}) -> "
                "tensor<8x14xf32>", "tensor<8x14xf32>", a=A, c="tensor<8x2xf32>"),
        [Tile((1, 4), (3, 7)), Tile((0, 6), (8, 2)), Tile((0, 9), (2, 5)), Tile((0, 0), (1, 14))],
    ),
    "gather": (
        program("%i = arith.constant dense<[[1], [3], [7], [0]]> : tensor<4x1xindex> "
                f"%r = tensor.gather %a[%i] gather_dims([0]) : ({A}, tensor<4x1xindex>) -> "
                "tensor<4x6xf32>", "tensor<4x6xf32>", a=A),
        [Tile((1, 1), (2, 3))],
    ),
    "generate": (
        program(f"%r = tensor.generate {{ ^bb0(%i: index, %j: index): {SUM} tensor.yield %v : i32 "
                "} : tensor<4x6xi32>", "tensor<4x6xi32>"),
        [Tile((1, 2), (2, 3)), Tile((1, 0), (2, 3), (2, 2))],
    ),
    "a constant": (
        program("%r = arith.constant dense<3.0> : tensor<4x6xf32>", "tensor<4x6xf32>"),
        [Tile((1, 2), (2, 3))],
    ),
    "splat": (
        program(f"{ZERO} %r = tensor.splat %z : tensor<4x6xf32>", "tensor<4x6xf32>"),
        [Tile((1, 2), (2, 3))],
    ),
}  # fmt: skip


def arrays_of(text: str) -> list[Array]:
    shapes = {"%a": (8, 6), "%b": (3, 2), "%c": (8, 2)}
    head = text.partition("->")[0]
    return [RNG.random(shape).astype(np.float32) for name, shape in shapes.items() if name in head]


@pytest.mark.parametrize("name", CASES)
def test_the_op_on_a_part_gives_that_part(name: str) -> None:
    text, parts = CASES[name]
    arrays = arrays_of(text)
    whole = lx.compile(Module.parse(text), opt_level=0)(*arrays)
    for part in parts:
        got, place = on_part(text, part, *arrays)
        wanted = np.array([whole[index] for index in indices(place)]).reshape(got.shape)
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["extract_slice", "a constant", "splat"])
def test_the_op_at_a_point_gives_that_element(name: str) -> None:
    text, parts = CASES[name]
    arrays = arrays_of(text)
    whole = lx.compile(Module.parse(text), opt_level=0)(*arrays)
    part = Tile(parts[0].offsets, (1,) * parts[0].rank)
    got, place = on_part(text, part, *arrays, element=True)
    assert got == whole[next(indices(place))]


GENERIC = """
func.func @f(%a: tensor<{shape}>, %o: tensor<6x5xf32>) -> tensor<6x5xf32> {{
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> ({index})>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%a : tensor<{shape}>)
      outs(%o : tensor<6x5xf32>) {{
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
  }} -> tensor<6x5xf32>
  return %r : tensor<6x5xf32>
}}"""

INDICES = {
    "j, i": "5x6xf32",
    "i * 2 + j": "15xf32",
    "i * 2, j": "11x5xf32",
    "5 - i, 4 - j": "6x5xf32",
    "i floordiv 2, j": "3x5xf32",
    "i, (j + 1) mod 3": "6x3xf32",
    "0, j": "1x5xf32",
    "i + 3": "9xf32",
    "j": "5xf32",
}


@pytest.mark.parametrize("index", INDICES)
def test_a_part_reads_what_its_maps_reach(index: str) -> None:
    """The op on the part is right, and what it reads begins and ends where the maps do."""
    text = GENERIC.format(index=index, shape=INDICES[index])
    shape = tuple(int(size) for size in INDICES[index].split("x")[:-1])
    array, held = RNG.random(shape).astype(np.float32), np.zeros((6, 5), np.float32)
    whole = lx.compile(Module.parse(text), opt_level=0)(array, held)
    for part in (Tile((2, 2), (4, 3)), Tile((0, 3), (2, 1)), Tile((0, 0), (3, 2), (2, 3))):
        module = Module.parse(text)
        with last_op(module) as (op, _):
            map_ = indexing_maps(op)[0]
            try:
                read = rule_of(op).operand_parts(part)[0]
            except Unserved:
                assert "mod" in index or "floordiv" in index
                continue
        assert read is not None
        reached = set(_reached(map_, part))
        held_in = set(indices(read))
        assert reached <= held_in
        for axis in range(read.rank):
            if "mod" in index:
                continue  # what wraps around is read from its beginning
            ends = {each[axis] for each in reached}
            got = {each[axis] for each in held_in}
            assert min(ends) == min(got)
            assert max(ends) == max(got)
        got, _ = on_part(text, part, array, held)
        rows = [whole[at] for at in indices(part)]
        np.testing.assert_array_equal(got, np.array(rows).reshape(got.shape))


def _reached(map_: Any, part: Tile) -> Iterator[tuple[int, ...]]:
    for point in indices(part):
        values = {AffineDim(name): at for name, at in zip(map_.dims, point, strict=True)}
        yield tuple(int(expr.evaluate(values)) for expr in map_.results)


Wrong = tuple[str, Callable[[Rule], object], str]
WRONG: dict[str, Wrong] = {
    "a row of a softmax": (
        CASES["softmax"][0],
        lambda rule: rule.operand_parts(Tile((0, 1), (4, 3))),
        r"dimension 1 of linalg\.softmax cannot be cut",
    ),
    "a pad with gaps": (
        CASES["pad"][0],
        lambda rule: rule.operand_parts(Tile((0, 0), (3, 3), (2, 1))),
        r"tensor\.pad has no rule for parts with strides",
    ),
    "a run over two rows": (
        CASES["collapse_shape"][0],
        lambda rule: rule.operand_parts(Tile((3,), (6,))),
        "a part of the dimensions 0, 1 of tensor.collapse_shape is not a run of elements",
    ),
    "a remainder": (
        GENERIC.format(index="i floordiv 2, j", shape="3x5xf32"),
        lambda rule: rule.build(_open_part(), lambda at, tile: rule.op.operands[at]),
        "does not begin at a multiple of 2",
    ),
}


def _open_part() -> Tile:
    return Tile((Symbol("i", 0, 5), 0), (2, 5))


@pytest.mark.parametrize("name", WRONG)
def test_what_has_no_exact_answer_is_refused_with_the_reason(name: str) -> None:
    text, ask, reason = WRONG[name]
    module = Module.parse(text)
    with last_op(module) as (op, _), pytest.raises(Unserved, match=reason):
        ask(rule_of(op))


def test_an_op_without_a_rule_is_named() -> None:
    text = program("%r = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>", "tensor<2xf32>")
    with last_op(Module.parse(text)) as (op, _), pytest.raises(Unserved, match="where it lies"):
        rule_of(op)


def test_all_points_of_a_domain_are_those_of_its_parts() -> None:
    """A part of a result and the part of the domain for it are each other's image."""
    text = GENERIC.format(index="j, i", shape="5x6xf32")
    with last_op(Module.parse(text)) as (op, _):
        rule = rule_of(op)
        for offsets in itertools.product((0, 2), (0, 1, 3)):
            part = Tile(offsets, (3, 2))
            assert rule.part_for_result(rule.part_of_result(part)) == part
