"""Ops that upstream crashes on or gets wrong are refused, by their line, and stay as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import linalg_ext as lx
from linalg_ext.errors import ScheduleError
from rewrite_texts import assert_same_results, function, parsed
from schedule_modules import TEXTS

SOFTMAX = function(
    "%a: tensor<4x8xf32>, %c: tensor<4x8xf32>",
    """  %r = linalg.softmax dimension(1) ins(%a : tensor<4x8xf32>) outs(%c : tensor<4x8xf32>)
    -> tensor<4x8xf32>""",
    "tensor<4x8xf32>",
)


def _read_at(index: str, size: int, *, type_: str = "f32", out: str = "i, j") -> str:
    """A generic that copies what it reads at an index of its loops, of 6 and 8 rounds."""
    shape = "6x8" if out == "i, j" else "6"
    kind = "parallel" if out == "i, j" else "reduction"
    return function(
        f"%a: tensor<{size}x{type_}>, %b: tensor<6x8x{type_}>, %c: tensor<{shape}x{type_}>",
        f"""  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> ({index})>, affine_map<(i, j) -> (i, j)>,
                     affine_map<(i, j) -> ({out})>],
    iterator_types = ["parallel", "{kind}"]
  }} ins(%a, %b : tensor<{size}x{type_}>, tensor<6x8x{type_}>) outs(%c : tensor<{shape}x{type_}>) {{
  ^bb0(%x: {type_}, %y: {type_}, %o: {type_}):
    linalg.yield %x : {type_}
  }} -> tensor<{shape}x{type_}>""",
        f"tensor<{shape}x{type_}>",
    )


BACKWARDS = _read_at("7 - j", 8)
TURNED = _read_at("(j + 4) mod 8", 8)
REPEATED = _read_at("j mod 5", 5)
HALVES = _read_at("j floordiv 2", 4)
HALVED_SUM = _read_at("j floordiv 2", 4, out="i")
_NEGATED = """  %n = linalg.negf ins(%a : tensor<4x8xf32>) outs(%c : tensor<4x8xf32>)
    -> tensor<4x8xf32>"""
_NEGATED_SUMS = """%n = linalg.negf ins(%r : tensor<4x1x4xf32>) outs(%c : tensor<4x1x4xf32>)
    -> tensor<4x1x4xf32>"""
EMPTY = TEXTS["generic"].replace("20x", "0x")
OPEN = TEXTS["generic"].replace("20x", "?x")
BITS = _read_at("j", 8, type_="i1")
ASSERTED = _read_at("j", 8).replace(
    "linalg.yield",
    """%t = arith.cmpf une, %x, %y : f32
    cf.assert %t, "equal"
    linalg.yield""",
)

KEPT = function(
    "%a: tensor<?x?x?xf32>, %c: tensor<?x1x?xf32>",
    """  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, 0, k)>],
    iterator_types = ["parallel", "reduction", "parallel"]
  } ins(%a : tensor<?x?x?xf32>) outs(%c : tensor<?x1x?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<?x1x?xf32>""",
    "tensor<?x1x?xf32>",
)
WINDOW_SUM = function(
    "%a: tensor<7xf32>, %w: tensor<4xf32>, %c: tensor<2xf32>",
    """  %r = linalg.generic {
    indexing_maps = [affine_map<(i, k) -> (i * 3 + k)>, affine_map<(i, k) -> (k)>,
                     affine_map<(i, k) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%a, %w : tensor<7xf32>, tensor<4xf32>) outs(%c : tensor<2xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>""",
    "tensor<2xf32>",
)
TRANSPOSED = function(
    "%a: tensor<3x500xf32>, %c: tensor<500x3xf32>",
    """  %r = linalg.transpose ins(%a : tensor<3x500xf32>) outs(%c : tensor<500x3xf32>)
    permutation = [1, 0]""",
    "tensor<500x3xf32>",
)
LARGE = function(
    "%a: tensor<9x500xf32>, %c: tensor<9x500xf32>",
    """  %r = linalg.negf ins(%a : tensor<9x500xf32>) outs(%c : tensor<9x500xf32>)
    -> tensor<9x500xf32>""",
    "tensor<9x500xf32>",
)
SCAN = function(
    "%a: tensor<4x8xf32>, %t: tensor<4xf32>",
    """  %r = linalg_ext.contract
    ins(%a, %a, %a : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
    outs(%t : tensor<4xf32>) indexing_maps = [affine_map<(i, j) -> (i, j)>,
    affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]
    kind = "max+" -> tensor<4xf32>""",
    "tensor<4xf32>",
)

REFUSED: list[tuple[str, str, Callable[[lx.Schedule], Any], str]] = [
    ("softmax", SOFTMAX, lambda s: s.tile([0, 2]), "each sum of this softmax is over all of it"),
    ("softmax", SOFTMAX, lambda s: s.fuse([2, 2]), "each sum of this softmax is over all of it"),
    ("softmax", SOFTMAX, lambda s: s.parallelize(threads=[0, 2]), "over all of it"),
    ("softmax", SOFTMAX, lambda s: s.tile_subsets([0, 2]), "dimension 1 .* cannot be cut"),
    ("backwards", BACKWARDS, lambda s: s.tile([2, 2]), r"operand 0, which is read backwards"),
    ("backwards", BACKWARDS, lambda s: s.tile_evenly(0, 4), "read backwards"),
    ("backwards", BACKWARDS, lambda s: s.pack([0, 2]), "operand 0 is indexed by"),
    ("turned", TURNED, lambda s: s.tile([2]), r"\(d1 \+ 4\) mod 8 begin again within a tile"),
    ("turned", TURNED, lambda s: s.fuse([2]), "begin again"),
    ("turned", TURNED, lambda s: s.parallelize(threads=[2]), "begin again"),
    ("idle", TEXTS["generic"], lambda s: s.parallelize(threads=[12]), "10 of them, with 2 rounds"),
    ("turned", TURNED, lambda s: s.tile_evenly(0, 4), "begin again"),
    ("repeated", REPEATED, lambda s: s.tile([2]), "d1 mod 5 begin again"),
    ("halves", HALVES, lambda s: s.tile_evenly(1, 3), "operand 0 is indexed by d1 floordiv 2"),
    ("halved sum", HALVED_SUM, lambda s: s.split_reduction(2), "indexed by d1 floordiv 2"),
    ("windows", WINDOW_SUM, lambda s: s.split_reduction(2), r"indexed by d0 \* 3 \+ d1"),
    ("empty", EMPTY, lambda s: s.tile([0, 4]), "loop 0 of this op runs 0 times"),
    ("empty", EMPTY, lambda s: s.tile_evenly(1, 4), "runs 0 times"),
    ("empty", EMPTY, lambda s: s.vectorize(), "runs 0 times"),
    ("open", OPEN, lambda s: s.vectorize(), "the trip count of loop 0 is not known"),
    ("bits", BITS, lambda s: s.vectorize(), "load i1 as packed bits"),
    ("long", TRANSPOSED.replace("500", "513"), lambda s: s.vectorize(), "513 rounds of loop 0"),
    ("large", LARGE, lambda s: s.vectorize(), "4500 elements of operand 0"),
    (
        "turned",
        TRANSPOSED.replace("3x", "6x").replace("x3x", "x6x"),
        lambda s: s.vectorize(),
        "3000 turned elements of operand 0.*at most 2048",
    ),
    (
        "asserted",
        ASSERTED,
        lambda s: s.bufferize().match("generic").vectorize(),
        r"cf\.assert in the body of this linalg",
    ),
    ("carried", TEXTS["generic"], lambda s: s.tile([4, 4]).unroll_and_jam(2), "carries values"),
    ("simple", TEXTS["generic"], lambda s: s.decompose(), "no known decomposition"),
    ("softmax", SOFTMAX, lambda s: s.bufferize(), 'decompose-structured-ops"\\) first'),
    ("unrolled", TEXTS["generic"], lambda s: s.tile([4]).unroll(6), "factor is 6.*at most 5"),
    ("not a number", TEXTS["matmul"], lambda s: s.pad([0, 0, 5], float("nan")), "with nan"),
]


@pytest.mark.parametrize(
    ("text", "step", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_upstream_gets_wrong_is_refused(
    text: str, step: Callable[[lx.Schedule], Any], message: str
) -> None:
    module = parsed(text)
    schedule = lx.Schedule(module).match(position=-1)
    with pytest.raises(ScheduleError, match=f"(?s){message}") as caught:
        step(schedule)
    assert "linalg." in str(caught.value.where)
    if len(schedule.taken) == 1:
        assert str(module) == str(parsed(text))


def test_ops_of_this_library_are_lowered_before_buffers() -> None:
    module = parsed(SCAN)
    with pytest.raises(ScheduleError, match=r"linalg_ext\.contract has no form on buffers"):
        lx.Schedule(module).bufferize()
    lx.Schedule(module).run("linalg-ext-stage-linalg").bufferize()
    assert_same_results(parsed(SCAN), module)


def test_of_several_ops_the_one_that_upstream_refuses_is_named() -> None:
    schedule = lx.Schedule(parsed(TEXTS["matmul"])).match()
    with pytest.raises(ScheduleError, match=r"linalg\.fill has no known decomposition"):
        schedule.decompose()
    both = lx.Schedule(parsed(SOFTMAX.replace("return", _NEGATED + "\n  return"))).match()
    with pytest.raises(
        ScheduleError, match=r"linalg\.negf has no known decomposition(?s:.)*linalg\.negf at "
    ):
        both.decompose()


def test_what_upstream_says_of_producers_is_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    text = KEPT.replace("?", "4").replace("return %r", _NEGATED_SUMS + "\n  return %n")
    module = parsed(text)
    lx.Schedule(module).match("negf").fuse([2, 0, 2])
    assert "scf.for" in str(module)
    assert capfd.readouterr().err == ""
    assert_same_results(parsed(text), module)


def test_a_short_name_is_that_of_an_op_of_linalg() -> None:
    text = TEXTS["generic"].replace(
        "return %r", "%n = arith.negf %r : tensor<20x16xf32>\n  return %n"
    )
    schedule = lx.Schedule(parsed(text)).match("negf")
    assert schedule.taken[0].report.matched == {"linalg.negf": 1}
    schedule.match("arith.negf")
    with pytest.raises(ScheduleError, match="convert-elementwise-to-linalg"):
        schedule.vectorize()


def test_what_is_read_backwards_is_cut_by_subsets() -> None:
    module = parsed(BACKWARDS)
    lx.Schedule(module).match("generic").tile_subsets([4, 4]).lower_subsets()
    assert "scf.forall" in str(module)
    assert_same_results(parsed(BACKWARDS), module)


def _behind_two(text: str) -> str:
    """A function whose result is negated, and that once more, its other dimension first."""
    return text.replace(
        "return %r : tensor<6x8xf32>",
        """%n = linalg.negf ins(%r : tensor<6x8xf32>) outs(%c : tensor<6x8xf32>) -> tensor<6x8xf32>
  %e = tensor.empty() : tensor<8x6xf32>
  %t = linalg.transpose ins(%n : tensor<6x8xf32>) outs(%e : tensor<8x6xf32>) permutation = [1, 0]
  return %t : tensor<8x6xf32>""",
    ).replace("-> tensor<6x8xf32> {\n", "-> tensor<8x6xf32> {\n")


@pytest.mark.parametrize("sizes", [[5], [5, 4], [1]])
def test_what_begins_anew_between_tiles_only_is_fused(sizes: list[int]) -> None:
    text = _behind_two(REPEATED)
    module = parsed(text)
    lx.Schedule(module).match("transpose").fuse(sizes)
    assert str(module).index("scf.for") < str(module).index("linalg.generic")
    assert_same_results(parsed(text), module)


@pytest.mark.parametrize("sizes", [[0, 2], [6]])
def test_what_begins_anew_within_a_tile_of_what_is_fused_is_refused(sizes: list[int]) -> None:
    schedule = lx.Schedule(parsed(_behind_two(REPEATED))).match("transpose")
    with pytest.raises(ScheduleError, match=r"operand 0, whose places at d1 mod 5 begin again"):
        schedule.fuse(sizes)


def test_padding_may_be_infinite() -> None:
    module = parsed(TEXTS["maximum"])
    lx.Schedule(module).match("generic").pad([8], float("-inf"))
    assert "0xFF800000" in str(module)
    assert_same_results(parsed(TEXTS["maximum"]), module)


@pytest.mark.parametrize("step", [lambda s: s.pack([2, 2]), lambda s: s.tile_continuously(0, 2)])
def test_steps_that_take_one_op_upstream_take_many(step: Callable[[lx.Schedule], Any]) -> None:
    module = parsed(TEXTS["generic"])
    step(lx.Schedule(module).match())
    assert_same_results(parsed(TEXTS["generic"]), module)


def test_a_loop_that_never_runs_is_not_fused_into() -> None:
    """Peeling a loop of 2 in steps of 3 leaves a whole tile of 3 in one that never runs."""
    text = function(
        "%a: tensor<2x8xf32>, %c: tensor<2x8xf32>",
        """  %r = linalg.exp ins(%a : tensor<2x8xf32>) outs(%c : tensor<2x8xf32>)
    -> tensor<2x8xf32>""",
        "tensor<2x8xf32>",
    )
    module = parsed(text)
    schedule = lx.Schedule(module).match("exp").fuse([3]).peel()
    before = str(module)
    with pytest.raises(ScheduleError, match="out of bounds") as caught:
        schedule.tile_subsets([0, 3])
    assert "linalg.exp" in str(caught.value.where)
    assert str(module) == before
    schedule.simplify().match("exp").tile_subsets([0, 3])
    assert_same_results(parsed(text), module)
